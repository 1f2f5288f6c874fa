//! Calls. Some are none: they are loops, or ask whether a field is there.

use super::Problem;
use super::ast::{Expr, Kind, Literal, Loop, LoopKind};
use crate::schema::pattern;

fn call(at: usize, name: String, target: Option<Expr>, args: Vec<Expr>) -> Result<Expr, Problem> {
    let mut regex = None;
    if matches!(name.as_str(), "matches" | "find" | "findAll")
        && let Some(Kind::Literal(Literal::Text(text))) =
            args.get(usize::from(target.is_none())).map(|arg| &arg.kind)
    {
        let place = args.last().map_or(at, |arg| arg.at);
        match pattern::compile(text) {
            Ok(compiled) => regex = Some(compiled),
            Err(_) => return Err(Problem::new(place, "invalid matches argument")),
        }
    }
    Ok(Expr::new(at, Kind::Call { name, target: target.map(Box::new), args, regex }))
}

/// A field. Some types have names that look like fields.
pub(super) fn selected(at: usize, of: Expr, field: String) -> Expr {
    if let ("Timestamp" | "Duration", Kind::Select { of: outer, field: inner, .. }) =
        (field.as_str(), &of.kind)
        && inner == "protobuf"
        && matches!(&outer.kind, Kind::Ident(name) if name == "google")
    {
        return Expr::new(at, Kind::Ident(format!("google.protobuf.{field}")));
    }
    Expr::new(at, Kind::Select { of: Box::new(of), field, optional: false })
}

/// A function of no target. `has` is none: it asks whether a field is there.
pub(super) fn function(at: usize, name: String, mut args: Vec<Expr>) -> Result<Expr, Problem> {
    if name == "has" && args.len() == 1 {
        return match args.pop() {
            Some(Expr { kind: Kind::Select { of, field, optional: false }, .. }) => {
                Ok(Expr::new(at, Kind::Has { of, field }))
            }
            other => {
                let at = other.map_or(at, |other| other.at);
                Err(Problem::new(at, "invalid argument to has() macro"))
            }
        };
    }
    call(at, name, None, args)
}

/// A method. Some are loops.
pub(super) fn method(at: usize, target: Expr, name: String, args: Vec<Expr>) -> Result<Expr, Problem> {
    use LoopKind::{All, Exists, ExistsOne, Filter, Map, OptFlatMap, OptMap, SortBy, TransformMap};
    let (what, variables, filtered) = match (name.as_str(), args.len()) {
        ("all", 2) => (All, 1, false),
        ("all", 3) => (All, 2, false),
        ("exists", 2) => (Exists, 1, false),
        ("exists", 3) => (Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (ExistsOne, 1, false),
        ("existsOne", 3) => (ExistsOne, 2, false),
        ("filter", 2) => (Filter, 1, false),
        ("map", 2) => (Map, 1, false),
        ("map", 3) => (Map, 1, true),
        ("transformList", 3) => (Map, 2, false),
        ("transformList", 4) => (Map, 2, true),
        ("transformMap", 3) => (TransformMap, 2, false),
        ("transformMap", 4) => (TransformMap, 2, true),
        ("sortBy", 2) => (SortBy, 1, false),
        ("optMap", 2) => (OptMap, 1, false),
        ("optFlatMap", 2) => (OptFlatMap, 1, false),
        _ => return call(at, name, Some(target), args),
    };
    let word = match what {
        Map | Filter => "argument is not an identifier",
        _ => "argument must be a simple name",
    };
    let mut args = args.into_iter();
    let mut names = Vec::new();
    for arg in args.by_ref().take(variables) {
        match arg.kind {
            Kind::Ident(name) => names.push(name),
            _ => return Err(Problem::new(arg.at, word)),
        }
    }
    let filter = if filtered { args.next() } else { None };
    let Some(body) = args.next() else { return Err(Problem::new(at, word)) };
    let each = Loop { what, range: target, names, filter, body };
    Ok(Expr::new(at, Kind::Loop(Box::new(each))))
}
