//! CEL, the language of rules: a reader, a checker of types and an interpreter, with the functions Kubernetes adds.
//!
//! The crates that exist were no fit: what they answer, and the words in which they fail, differ from a real API
//! server's, and rules are judged by both.

mod ast;
mod bytes;
mod check;
mod convert;
mod eval;
mod format;
mod formats;
mod functions;
mod lexer;
mod lists;
mod macros;
mod net;
mod parser;
mod quantity;
mod semver;
mod signatures;
mod strings;
mod time;
mod typed;
mod types;
mod url;
mod value;

use serde_json::{Map, Value, json};

use self::ast::{Expr, Kind};
use self::eval::Scope;
pub use self::typed::{escape, unescape};
pub use self::types::Type;
use self::value::Val;
use crate::schema::Schema;

/// An expression, read once and evaluated often.
#[derive(Debug, Clone)]
pub struct Program {
    expr: Expr,
}

/// Why a text is no expression, or no sound one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
    at: usize,
    text: String,
}

impl Problem {
    fn new(at: usize, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }

    /// As a real server tells it, with the place in the text marked.
    pub fn shown(&self, text: &str) -> String {
        let before: String = text.chars().take(self.at).collect();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count());
        let source = text.split('\n').nth(line).unwrap_or_default();
        let dots = ".".repeat(column);
        let (number, column) = (line.saturating_add(1), column.saturating_add(1));
        format!("ERROR: <input>:{number}:{column}: {}\n | {source}\n | {dots}^", self.text)
    }
}

/// Why an expression is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsound {
    /// It cannot be read, or its types cannot be right.
    Compilation(Vec<Problem>),
    /// A constant in it has no value.
    Instantiation(String),
}

impl Unsound {
    /// As a real server tells it of an expression: `compilation failed: …`.
    pub fn shown(&self, text: &str) -> String {
        match self {
            Self::Compilation(problems) => {
                let all: Vec<String> = problems.iter().map(|problem| problem.shown(text)).collect();
                format!("compilation failed: {}", all.join("\n"))
            }
            Self::Instantiation(error) => format!("program instantiation failed: {error}"),
        }
    }
}

/// What a rule speaks of: a value that a schema describes.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The value.
    pub value: &'a Value,
    /// What describes it.
    pub schema: &'a Schema,
    /// It is a whole object, whose kind and name are always known.
    pub root: bool,
}

impl Program {
    /// Reads an expression.
    pub fn compile(text: &str) -> Result<Self, Problem> {
        parser::parse(text).map(|expr| Self { expr })
    }

    /// Reads an expression and checks its types, given those of its variables.
    pub fn compile_typed(text: &str, variables: &[(&str, Type)]) -> Result<(Self, Type), Unsound> {
        let program = Self::compile(text).map_err(|problem| Unsound::Compilation(vec![problem]))?;
        let found = check::check(&program.expr, variables).map_err(Unsound::Compilation)?;
        match program.failing_constant() {
            Some(error) => Err(Unsound::Instantiation(error)),
            None => Ok((program, found)),
        }
    }

    /// Why a constant cannot be converted, if there is one that cannot.
    fn failing_constant(&self) -> Option<String> {
        const CONVERSIONS: [&str; 6] = ["int", "uint", "double", "bool", "string", "bytes"];
        let mut failed = None;
        self.expr.any(&mut |expr| {
            if let Kind::Call { name, target: None, args, .. } = &expr.kind
                && CONVERSIONS.contains(&name.as_str())
                && matches!(args.as_slice(), [Expr { kind: Kind::Literal(_), .. }])
            {
                failed = expr.eval(&mut Scope::default()).err();
            }
            failed.is_some()
        });
        failed
    }

    /// The expression speaks of a variable.
    pub fn uses(&self, name: &str) -> bool {
        self.expr.any(&mut |expr| matches!(&expr.kind, Kind::Ident(found) if found == name))
    }

    /// Evaluates with variables of plain JSON.
    pub fn eval(&self, variables: &[(&str, &Value)]) -> Result<Value, String> {
        let scope = variables
            .iter()
            .fold(Scope::default(), |scope, (name, value)| scope.with(name, Ok(typed::plain(value))));
        to_json(&self.run(scope)?)
    }

    /// Evaluates a rule. Where it may do without what was before, `old` is an optional value.
    pub fn eval_rule(
        &self,
        new: Subject<'_>,
        old: Option<&Value>,
        optional_old: bool,
    ) -> Result<Value, String> {
        let read = |value| typed::typed(value, new.schema, new.root);
        let mut scope = Scope::default().with("self", read(new.value));
        match (old, optional_old) {
            (Some(old), false) => scope = scope.with("oldSelf", read(old)),
            (Some(old), true) => scope = scope.with("oldSelf", read(old).map(Val::some)),
            (None, true) => scope = scope.with("oldSelf", Ok(Val::Optional(None))),
            (None, false) => {}
        }
        to_json(&self.run(scope)?)
    }

    fn run<'a>(&'a self, mut scope: Scope<'a>) -> Result<Val<'a>, String> {
        self.expr.eval(&mut scope)
    }
}

/// A value as JSON.
fn to_json(value: &Val<'_>) -> Result<Value, String> {
    if let Some(items) = value.items() {
        return items?.iter().map(to_json).collect::<Result<Vec<_>, _>>().map(Value::from);
    }
    if let Some(pairs) = value.pairs() {
        let mut map = Map::new();
        for (key, value) in pairs? {
            map.insert(functions::shown(&key), to_json(&value)?);
        }
        return Ok(Value::Object(map));
    }
    Ok(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(truth) => json!(truth),
        Val::Int(number) => json!(number),
        Val::Uint(number) => json!(number),
        Val::Double(number) => json!(number),
        Val::Optional(Some(inner)) => to_json(inner)?,
        Val::Unknown(value) => (*value).clone(),
        Val::Quantity(amount) => json!(amount.as_float()),
        other => json!(functions::shown(other)),
    })
}

#[cfg(test)]
mod tests;
