//! What expressions come to.

use std::rc::Rc;

use super::ast::{Expr, Kind, Literal, Loop, LoopKind, Op};
use super::value::{Result, Val, no_overload};
use super::{functions, signatures};

/// The variables an expression may speak of. The innermost is last.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    variables: Vec<(&'a str, Result<Val<'a>>)>,
    steps: std::cell::Cell<u64>,
}

/// More than this and an evaluation is given up, as a real server does.
const STEPS: u64 = 10_000_000;

impl<'a> Scope<'a> {
    pub(super) fn with(mut self, name: &'a str, value: Result<Val<'a>>) -> Self {
        self.variables.push((name, value));
        self
    }

    fn find(&self, name: &str) -> Option<Result<Val<'a>>> {
        self.variables.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn step(&self) -> Result<()> {
        let steps = self.steps.get().saturating_add(1);
        self.steps.set(steps);
        if steps > STEPS {
            return Err("operation cancelled: actual cost limit exceeded".to_owned());
        }
        Ok(())
    }
}

impl Expr {
    pub(super) fn eval<'a>(&'a self, scope: &mut Scope<'a>) -> Result<Val<'a>> {
        scope.step()?;
        match &self.kind {
            Kind::Literal(literal) => Ok(literal.value()),
            Kind::Ident(name) => ident(name, scope),
            Kind::Select { of, field, optional } => select(of.eval(scope)?, field, *optional),
            Kind::Has { of, field } => has(&of.eval(scope)?, field).map(Val::Bool),
            Kind::Index { of, index, optional } => {
                let of = of.eval(scope)?;
                at_index(&of, &index.eval(scope)?, *optional)
            }
            Kind::Call { name, target, args, regex } => {
                // `lists.range` and its like: the target is a part of the name.
                if let Some(whole) = target.as_ref().and_then(|target| namespaced(target, name)) {
                    let args = args.iter().map(|arg| arg.eval(scope)).collect::<Result<Vec<_>>>()?;
                    return functions::call(&whole, None, args, regex.as_ref());
                }
                let target = target.as_ref().map(|target| target.eval(scope)).transpose()?;
                let args = args.iter().map(|arg| arg.eval(scope)).collect::<Result<Vec<_>>>()?;
                functions::call(name, target, args, regex.as_ref())
            }
            Kind::List(items) => list(items, scope),
            Kind::Map(pairs) => map(pairs, scope),
            Kind::Not(inner) => match inner.eval(scope)? {
                Val::Bool(truth) => Ok(Val::Bool(!truth)),
                _ => no_overload(),
            },
            Kind::Negate(inner) => functions::negate(&inner.eval(scope)?),
            Kind::Binary { op: op @ (Op::And | Op::Or), left, right } => logic(*op, left, right, scope),
            Kind::Binary { op, left, right } => {
                let left = left.eval(scope)?;
                functions::binary(*op, left, right.eval(scope)?)
            }
            Kind::Choice { condition, then, otherwise } => match condition.eval(scope)? {
                Val::Bool(true) => then.eval(scope),
                Val::Bool(false) => otherwise.eval(scope),
                _ => no_overload(),
            },
            Kind::Loop(each) => each.eval(scope),
        }
    }
}

/// The whole name of a function that has a dot in it.
pub(super) fn namespaced(target: &Expr, name: &str) -> Option<String> {
    let Kind::Ident(space) = &target.kind else { return None };
    let whole = format!("{space}.{name}");
    signatures::is_known(&whole).then_some(whole)
}

impl Literal {
    fn value(&self) -> Val<'_> {
        match self {
            Self::Null => Val::Null,
            Self::Bool(truth) => Val::Bool(*truth),
            Self::Int(number) => Val::Int(*number),
            Self::Uint(number) => Val::Uint(*number),
            Self::Double(number) => Val::Double(*number),
            Self::Text(text) => Val::Text(text.as_str().into()),
            Self::Bytes(bytes) => Val::Bytes(Rc::from(bytes.as_slice())),
        }
    }
}

/// Types that have names.
pub(super) const TYPES: [&str; 13] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "dyn",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
];

fn ident<'a>(name: &str, scope: &Scope<'a>) -> Result<Val<'a>> {
    if let Some(value) = scope.find(name) {
        return value;
    }
    match TYPES.iter().find(|known| **known == name) {
        Some(known) => Ok(Val::Type((*known).into())),
        None => Err(format!("no such attribute(s): {name}")),
    }
}

/// What a field holds. What has no fields has not this one.
fn field_of<'a>(of: &Val<'a>, field: &str) -> Result<Option<Val<'a>>> {
    match of {
        Val::Object(_) | Val::Map(_) => of.find(&Val::text(field)),
        Val::Array(_) | Val::List(_) => Err("unsupported index type 'string' in list".to_owned()),
        _ => Ok(None),
    }
}

fn select<'a>(of: Val<'a>, field: &str, optional: bool) -> Result<Val<'a>> {
    match of {
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => Ok(Val::Optional(inner.find(&Val::text(field))?.map(Rc::new))),
        of if optional => Ok(Val::Optional(of.find(&Val::text(field))?.map(Rc::new))),
        of => match field_of(&of, field)? {
            Some(value) => Ok(value),
            None => Err(format!("no such key: {field}")),
        },
    }
}

fn has(of: &Val<'_>, field: &str) -> Result<bool> {
    match of {
        Val::Optional(None) => Ok(false),
        Val::Optional(Some(inner)) => has(inner, field),
        of => Ok(field_of(of, field)?.is_some()),
    }
}

fn at_index<'a>(of: &Val<'a>, index: &Val<'a>, optional: bool) -> Result<Val<'a>> {
    if let Val::Optional(inner) = of {
        return match inner {
            Some(inner) => at_index(inner, index, true),
            None => Ok(Val::Optional(None)),
        };
    }
    let place = || match index {
        Val::Int(place) => Ok(*place),
        Val::Uint(place) => Ok(i64::try_from(*place).unwrap_or(i64::MAX)),
        Val::Double(place) if place.fract() == 0.0 => Ok(*place as i64),
        other => Err(format!("unsupported index type '{}' in list", other.type_name())),
    };
    let (found, missing) = match of {
        Val::Array(array) => {
            let place = place()?;
            (array.get(place).transpose()?, format!("index out of bounds: {place}"))
        }
        Val::List(items) => {
            let place = place()?;
            let item = usize::try_from(place).ok().and_then(|place| items.get(place)).cloned();
            (item, format!("index out of bounds: {place}"))
        }
        Val::Object(_) | Val::Map(_) => {
            (of.find(index)?, format!("no such key: {}", functions::shown(index)))
        }
        _ => (None, format!("no such key: {}", functions::shown(index))),
    };
    match (found, optional) {
        (found, true) => Ok(Val::Optional(found.map(Rc::new))),
        (Some(value), false) => Ok(value),
        (None, false) => Err(missing),
    }
}

fn list<'a>(items: &'a [(Expr, bool)], scope: &mut Scope<'a>) -> Result<Val<'a>> {
    let mut made = Vec::with_capacity(items.len());
    for (item, optional) in items {
        match (item.eval(scope)?, optional) {
            (value, false) => made.push(value),
            (Val::Optional(value), true) => made.extend(value.map(Rc::unwrap_or_clone)),
            _ => return no_overload(),
        }
    }
    Ok(Val::list(made))
}

fn map<'a>(pairs: &'a [(Expr, Expr, bool)], scope: &mut Scope<'a>) -> Result<Val<'a>> {
    let mut made: Vec<(Val<'a>, Val<'a>)> = Vec::with_capacity(pairs.len());
    for (key, value, optional) in pairs {
        let key = key.eval(scope)?;
        let value = match (value.eval(scope)?, optional) {
            (value, false) => value,
            (Val::Optional(None), true) => continue,
            (Val::Optional(Some(value)), true) => Rc::unwrap_or_clone(value),
            _ => return no_overload(),
        };
        let mut place = None;
        for (at, (known, _)) in made.iter().enumerate() {
            if known.equals(&key)? {
                place = Some(at);
            }
        }
        // What is said last counts.
        match place.and_then(|at| made.get_mut(at)) {
            Some(known) => known.1 = value,
            None => made.push((key, value)),
        }
    }
    Ok(Val::Map(Rc::new(made)))
}

/// One side can decide alone, even if the other has failed.
fn logic<'a>(op: Op, left: &'a Expr, right: &'a Expr, scope: &mut Scope<'a>) -> Result<Val<'a>> {
    let decides = op == Op::Or;
    let left = left.eval(scope);
    if matches!(left, Ok(Val::Bool(truth)) if truth == decides) {
        return Ok(Val::Bool(decides));
    }
    let right = right.eval(scope);
    match (left, right) {
        (_, Ok(Val::Bool(truth))) if truth == decides => Ok(Val::Bool(decides)),
        (Ok(Val::Bool(_)), Ok(Val::Bool(truth))) => Ok(Val::Bool(truth)),
        (Err(error), _) | (Ok(Val::Bool(_)), Err(error)) => Err(error),
        _ => no_overload(),
    }
}

impl Loop {
    fn eval<'a>(&'a self, scope: &mut Scope<'a>) -> Result<Val<'a>> {
        let range = self.range.eval(scope)?;
        if let (LoopKind::OptMap | LoopKind::OptFlatMap, Val::Optional(inner)) = (self.what, &range) {
            let Some(inner) = inner else { return Ok(Val::Optional(None)) };
            let made = self.with(scope, vec![(**inner).clone()], &self.body)?;
            return Ok(if self.what == LoopKind::OptMap { Val::some(made) } else { made });
        }
        let elements = self.elements(&range)?;
        match self.what {
            LoopKind::All => self.quantified(scope, elements, false),
            LoopKind::Exists => self.quantified(scope, elements, true),
            LoopKind::ExistsOne => {
                let mut fitting: u64 = 0;
                for element in elements {
                    fitting = fitting.saturating_add(u64::from(self.holds(scope, element, &self.body)?));
                }
                Ok(Val::Bool(fitting == 1))
            }
            LoopKind::Filter => {
                let mut kept = Vec::new();
                for element in elements {
                    if self.holds(scope, element.clone(), &self.body)? {
                        kept.extend(element);
                    }
                }
                Ok(Val::list(kept))
            }
            LoopKind::Map => {
                Ok(Val::list(self.made(scope, elements)?.into_iter().map(|(_, value)| value).collect()))
            }
            LoopKind::TransformMap => Ok(Val::Map(Rc::new(self.made(scope, elements)?))),
            LoopKind::SortBy => {
                let mut keyed = self.made(scope, elements)?;
                keyed.sort_by(|a, b| a.1.compare(&b.1).unwrap_or(std::cmp::Ordering::Equal));
                Ok(Val::list(keyed.into_iter().map(|(item, _)| item).collect()))
            }
            LoopKind::OptMap | LoopKind::OptFlatMap => no_overload(),
        }
    }

    /// What the names stand for, element by element.
    fn elements<'a>(&self, range: &Val<'a>) -> Result<Vec<Vec<Val<'a>>>> {
        let two = self.names.len() == 2;
        if let Some(items) = range.items() {
            let items = items?.into_iter().enumerate();
            return Ok(items
                .map(|(place, item)| if two { vec![Val::size(place), item] } else { vec![item] })
                .collect());
        }
        match range.pairs() {
            Some(pairs) => {
                let pairs = pairs?.into_iter();
                Ok(pairs.map(|(key, value)| if two { vec![key, value] } else { vec![key] }).collect())
            }
            None => Err(format!("got '{}', expected iterable type", range.go_type())),
        }
    }

    fn with<'a>(&'a self, scope: &mut Scope<'a>, element: Vec<Val<'a>>, expr: &'a Expr) -> Result<Val<'a>> {
        let before = scope.variables.len();
        let named = self.names.iter().zip(element).map(|(name, value)| (name.as_str(), Ok(value)));
        scope.variables.extend(named);
        let value = expr.eval(scope);
        scope.variables.truncate(before);
        value
    }

    fn holds<'a>(&'a self, scope: &mut Scope<'a>, element: Vec<Val<'a>>, expr: &'a Expr) -> Result<bool> {
        match self.with(scope, element, expr)? {
            Val::Bool(truth) => Ok(truth),
            _ => no_overload(),
        }
    }

    /// One element can decide, even if others have failed.
    fn quantified<'a>(
        &'a self,
        scope: &mut Scope<'a>,
        elements: Vec<Vec<Val<'a>>>,
        decides: bool,
    ) -> Result<Val<'a>> {
        let mut failed = None;
        for element in elements {
            match self.holds(scope, element, &self.body) {
                Ok(truth) if truth == decides => return Ok(Val::Bool(decides)),
                Ok(_) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Val::Bool(!decides)), Err)
    }

    /// What the body makes of elements that pass the filter, each with the first of what it was made of.
    fn made<'a>(
        &'a self,
        scope: &mut Scope<'a>,
        elements: Vec<Vec<Val<'a>>>,
    ) -> Result<Vec<(Val<'a>, Val<'a>)>> {
        let mut made = Vec::with_capacity(elements.len());
        for element in elements {
            if let Some(filter) = &self.filter
                && !self.holds(scope, element.clone(), filter)?
            {
                continue;
            }
            let first = element.first().cloned().unwrap_or(Val::Null);
            made.push((first, self.with(scope, element, &self.body)?));
        }
        Ok(made)
    }
}
