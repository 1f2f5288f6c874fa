//! Types of expressions, and what cannot be right about them.

use super::Problem;
use super::ast::{Expr, Kind, Literal, Loop, LoopKind, Op};
use super::eval::{TYPES, namespaced};
use super::typed::escape;
use super::types::Type;
use super::{format, signatures, time};
use crate::schema::go_duration;

/// The type of an expression, or what is wrong with it.
pub(super) fn check(expr: &Expr, variables: &[(&str, Type)]) -> Result<Type, Vec<Problem>> {
    let known = variables.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone())).collect();
    let mut checker = Checker { known, mixed: false, problems: Vec::new() };
    let found = checker.check(expr);
    // They are told in the order of the text.
    checker.problems.sort_by_key(|problem| problem.at);
    if checker.problems.is_empty() { Ok(found) } else { Err(checker.problems) }
}

struct Checker {
    known: Vec<(String, Type)>,
    /// Elements of a literal may be of several types.
    mixed: bool,
    problems: Vec<Problem>,
}

impl Checker {
    /// Tells a problem. What is wrong may be anything, so that it is told once.
    fn wrong(&mut self, at: usize, what: String) -> Type {
        self.problems.push(Problem::new(at, what));
        Type::Dyn
    }

    fn no_overload(&mut self, at: usize, function: &str, target: Option<&Type>, args: &[Type]) -> Type {
        let args: Vec<String> = args.iter().map(Type::to_string).collect();
        let args = format!("({})", args.join(", "));
        let applied = target.map_or(args.clone(), |target| format!("{target}.{args}"));
        self.wrong(at, format!("found no matching overload for '{function}' applied to '{applied}'"))
    }

    fn check(&mut self, expr: &Expr) -> Type {
        match &expr.kind {
            Kind::Literal(literal) => of_literal(literal),
            Kind::Ident(name) => self.ident(expr.at, name),
            Kind::Select { of, field, optional } => {
                let of = self.check(of);
                self.select(expr.at, &of, field, *optional)
            }
            Kind::Has { of, field } => {
                let of = self.check(of);
                self.select(expr.at, &of, field, false);
                Type::Bool
            }
            Kind::Index { of, index, optional } => {
                let (of, index) = (self.check(of), self.check(index));
                let found = self.index(expr.at, &of, &index);
                if *optional || matches!(of, Type::Optional(_)) {
                    Type::Optional(Box::new(found))
                } else {
                    found
                }
            }
            Kind::Call { name, target, args, .. } => self.call(expr.at, name, target.as_deref(), args),
            Kind::List(items) => self.list(items),
            Kind::Map(pairs) => self.map(pairs),
            Kind::Not(inner) => match self.check(inner) {
                Type::Bool | Type::Dyn => Type::Bool,
                other => self.no_overload(expr.at, "!_", None, &[other]),
            },
            Kind::Negate(inner) => match self.check(inner) {
                found @ (Type::Int | Type::Double | Type::Dyn | Type::Duration) => found,
                other => self.no_overload(expr.at, "-_", None, &[other]),
            },
            Kind::Binary { op, left, right } => {
                if matches!(op, Op::And | Op::Or) {
                    self.must_be_bool(left);
                    return self.must_be_bool(right);
                }
                let (left, right) = (self.check(left), self.check(right));
                match operator(*op, &left, &right) {
                    Some(found) => found,
                    None => self.no_overload(expr.at, op.function(), None, &[left, right]),
                }
            }
            Kind::Choice { condition, then, otherwise } => {
                let (condition, then, otherwise) =
                    (self.check(condition), self.check(then), self.check(otherwise));
                if !condition.fits(&Type::Bool) || !then.fits(&otherwise) {
                    return self.no_overload(expr.at, "_?_:_", None, &[condition, then, otherwise]);
                }
                then.join(&otherwise)
            }
            Kind::Loop(each) => self.each(expr.at, each),
        }
    }

    fn ident(&mut self, at: usize, name: &str) -> Type {
        if let Some((_, kind)) = self.known.iter().rev().find(|(known, _)| known == name) {
            return kind.clone();
        }
        if TYPES.contains(&name) {
            return Type::Type;
        }
        self.wrong(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn select(&mut self, at: usize, of: &Type, field: &str, optional: bool) -> Type {
        let found = match of {
            Type::Dyn => Type::Dyn,
            Type::Map(_, values) => values.as_ref().clone(),
            Type::Object(fields) => match fields.get(field).or_else(|| fields.get(&escape(field)?)) {
                Some(kind) => kind.clone(),
                None => return self.wrong(at, format!("undefined field '{field}'")),
            },
            Type::Optional(inner) => {
                let found = self.select(at, inner, field, false);
                return Type::Optional(Box::new(found));
            }
            other => return self.wrong(at, format!("type '{other}' does not support field selection")),
        };
        if optional { Type::Optional(Box::new(found)) } else { found }
    }

    fn index(&mut self, at: usize, of: &Type, index: &Type) -> Type {
        match of {
            Type::Dyn => Type::Dyn,
            Type::List(items) if index.fits(&Type::Int) => items.as_ref().clone(),
            Type::Map(keys, values) if index.fits(keys) => values.as_ref().clone(),
            Type::Optional(inner) => self.index(at, inner, index),
            other => self.no_overload(at, "_[_]", None, &[other.clone(), index.clone()]),
        }
    }

    fn call(&mut self, at: usize, name: &str, target: Option<&Expr>, args: &[Expr]) -> Type {
        let (name, target) = match target.and_then(|target| namespaced(target, name)) {
            Some(whole) => (whole, None),
            None => (name.to_owned(), target),
        };
        if let ("format", Some(text), [Expr { kind: Kind::List(items), .. }]) = (name.as_str(), target, args)
        {
            return self.format(at, text, items);
        }
        if let ("timestamp" | "duration", [Expr { at, kind: Kind::Literal(Literal::Text(text)), .. }]) =
            (name.as_str(), args)
        {
            let fine =
                if name == "timestamp" { time::read(text).is_some() } else { go_duration(text).is_some() };
            if !fine {
                self.wrong(*at, format!("invalid {name} argument"));
            }
        }
        let target = target.map(|target| self.check(target));
        let args: Vec<Type> = args.iter().map(|arg| self.check(arg)).collect();
        match signatures::result(&name, target.as_ref(), &args) {
            Some(found) => found,
            None if !signatures::is_known(&name) => {
                self.wrong(at, format!("undeclared reference to '{name}' (in container '')"))
            }
            None => self.no_overload(at, &name, target.as_ref(), &args),
        }
    }

    /// Values put into a text may be of any types, as long as the text wants them so.
    fn format(&mut self, at: usize, text: &Expr, items: &[(Expr, bool)]) -> Type {
        let target = self.check(text);
        let mixed = std::mem::replace(&mut self.mixed, true);
        let kinds: Vec<Type> = items.iter().map(|(item, _)| self.check(item)).collect();
        self.mixed = mixed;
        if !target.fits(&Type::Text) {
            let list = Type::List(Box::new(Type::Dyn));
            return self.no_overload(at, "format", Some(&target), &[list]);
        }
        if let Kind::Literal(Literal::Text(text)) = &text.kind
            && let Err((place, what)) = format::check(text, &kinds)
        {
            let at = place.and_then(|place| items.get(place)).map_or(at, |(item, _)| item.at);
            self.wrong(at, what);
        }
        Type::Text
    }

    fn list(&mut self, items: &[(Expr, bool)]) -> Type {
        let mut of: Option<Type> = None;
        for (item, optional) in items {
            let found = match (self.check(item), optional) {
                (Type::Optional(inner), true) => *inner,
                (found, _) => found,
            };
            of = Some(self.alike(item.at, of, found));
        }
        Type::List(Box::new(of.unwrap_or(Type::Dyn)))
    }

    fn map(&mut self, pairs: &[(Expr, Expr, bool)]) -> Type {
        let (mut keys, mut values) = (None, None);
        for (key, value, optional) in pairs {
            let found = self.check(key);
            keys = Some(self.alike(key.at, keys, found));
            let found = match (self.check(value), optional) {
                (Type::Optional(inner), true) => *inner,
                (found, _) => found,
            };
            values = Some(self.alike(value.at, values, found));
        }
        Type::Map(Box::new(keys.unwrap_or(Type::Dyn)), Box::new(values.unwrap_or(Type::Dyn)))
    }

    /// All elements are of one type.
    fn alike(&mut self, at: usize, before: Option<Type>, found: Type) -> Type {
        match before {
            None => found,
            Some(before) if found.fits(&before) => before.join(&found),
            Some(_) if self.mixed => Type::Dyn,
            Some(before) => {
                self.wrong(at, format!("expected type '{before}' but found '{found}'"));
                before
            }
        }
    }

    fn each(&mut self, at: usize, each: &Loop) -> Type {
        let range = self.check(&each.range);
        let two = each.names.len() == 2;
        let elements = match &range {
            Type::Dyn => vec![Type::Dyn, Type::Dyn],
            Type::List(items) if two => vec![Type::Int, items.as_ref().clone()],
            Type::List(items) => vec![items.as_ref().clone()],
            Type::Map(keys, values) => vec![keys.as_ref().clone(), values.as_ref().clone()],
            Type::Optional(inner) if matches!(each.what, LoopKind::OptMap | LoopKind::OptFlatMap) => {
                vec![inner.as_ref().clone()]
            }
            other => {
                let what = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.wrong(each.range.at, what);
                vec![Type::Dyn, Type::Dyn]
            }
        };
        let before = self.known.len();
        self.known.extend(each.names.iter().cloned().zip(elements.iter().cloned()));
        if let Some(filter) = &each.filter {
            self.must_be_bool(filter);
        }
        let body = match each.what {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne | LoopKind::Filter => {
                self.must_be_bool(&each.body)
            }
            _ => self.check(&each.body),
        };
        self.known.truncate(before);
        let first = elements.first().cloned().unwrap_or(Type::Dyn);
        match each.what {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Type::Bool,
            LoopKind::Filter | LoopKind::SortBy => Type::List(Box::new(first)),
            LoopKind::Map => Type::List(Box::new(body)),
            LoopKind::TransformMap => Type::Map(Box::new(first), Box::new(body)),
            LoopKind::OptMap => Type::Optional(Box::new(body)),
            LoopKind::OptFlatMap => match body {
                found @ (Type::Optional(_) | Type::Dyn) => found,
                other => self.no_overload(at, "optFlatMap", None, &[other]),
            },
        }
    }

    fn must_be_bool(&mut self, expr: &Expr) -> Type {
        let found = self.check(expr);
        if !found.fits(&Type::Bool) {
            self.wrong(expr.at, format!("expected type 'bool' but found '{found}'"));
        }
        Type::Bool
    }
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

fn operator(op: Op, left: &Type, right: &Type) -> Option<Type> {
    use Type::{Bytes, Double, Duration, Dyn, Int, List, Text, Timestamp, Uint};
    let number = |kind: &Type| matches!(kind, Int | Uint | Double);
    let same = left.fits(right);
    let ordered =
        |kind: &Type| number(kind) || matches!(kind, Type::Bool | Text | Bytes | Timestamp | Duration | Dyn);
    match op {
        Op::And | Op::Or => (left.fits(&Type::Bool) && right.fits(&Type::Bool)).then_some(Type::Bool),
        Op::Equal | Op::Unequal => same.then_some(Type::Bool),
        Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual => {
            let fits = ordered(left) && ordered(right) && (same || (number(left) && number(right)));
            fits.then_some(Type::Bool)
        }
        Op::In => match right {
            Dyn => Some(Type::Bool),
            List(items) | Type::Map(items, _) => left.fits(items).then_some(Type::Bool),
            _ => None,
        },
        _ if *left == Dyn && *right == Dyn => Some(Dyn),
        Op::Add => match (left, right) {
            (Timestamp, Duration) | (Duration, Timestamp) => Some(Timestamp),
            (List(_), List(_)) if same => Some(left.join(right)),
            (known, other) | (other, known) if *other == Dyn => Some(known.clone()),
            (Int | Uint | Double | Text | Bytes | Duration, _) if same => Some(left.clone()),
            _ => None,
        },
        Op::Subtract => match (left, right) {
            (Timestamp, Timestamp) => Some(Duration),
            (Timestamp, Duration) => Some(Timestamp),
            (known, other) | (other, known) if *other == Dyn => Some(known.clone()),
            (Int | Uint | Double | Duration, _) if same => Some(left.clone()),
            _ => None,
        },
        Op::Multiply | Op::Divide | Op::Remainder => {
            let known = if *left == Dyn { right } else { left };
            let fits = same && (number(known) && (op != Op::Remainder || *known != Double));
            fits.then(|| known.clone())
        }
    }
}
