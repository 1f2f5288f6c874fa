//! Expressions, as they were written.

use regex::Regex;

/// An expression, and where in the text it is: by letters, from its operator or its last name.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) kind: Kind,
    height: u32,
}

/// What an expression is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Literal(Literal),
    Ident(String),
    /// `of.field`, `of.?field`.
    Select {
        of: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `has(of.field)`.
    Has {
        of: Box<Expr>,
        field: String,
    },
    /// `of[index]`, `of[?index]`.
    Index {
        of: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// A function, or a method of a target. The pattern of `matches` is read once if it is a literal.
    Call {
        name: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
        regex: Option<Regex>,
    },
    /// Items, each of which may be optional.
    List(Vec<(Expr, bool)>),
    /// Keys and values, each of which may be optional.
    Map(Vec<(Expr, Expr, bool)>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Binary {
        op: Op,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `if ? then : otherwise`.
    Choice {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Loop(Box<Loop>),
}

/// `range.all(name, body)` and its like.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) what: LoopKind,
    pub(super) range: Expr,
    /// One name for items or keys; or two, for keys or places and for values.
    pub(super) names: Vec<String>,
    /// Which elements are looked at, where the loop makes something of them.
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}

/// What a loop is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    TransformMap,
    SortBy,
    OptMap,
    OptFlatMap,
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// An operator between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    And,
    Or,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Op {
    /// Its name among functions.
    pub(super) fn function(self) -> &'static str {
        match self {
            Self::And => "_&&_",
            Self::Or => "_||_",
            Self::Equal => "_==_",
            Self::Unequal => "_!=_",
            Self::Less => "_<_",
            Self::LessOrEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterOrEqual => "_>=_",
            Self::In => "@in",
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Remainder => "_%_",
        }
    }
}

impl Expr {
    pub(super) fn new(at: usize, kind: Kind) -> Self {
        let mut height = 0;
        kind.each(&mut |expr| {
            height = height.max(expr.height);
            false
        });
        Self { at, kind, height: height.saturating_add(1) }
    }

    /// How many expressions lie within each other here.
    pub(super) fn height(&self) -> u32 {
        self.height
    }

    /// Calls something for each expression within this one, itself included, until it is satisfied.
    pub(super) fn any(&self, found: &mut dyn FnMut(&Self) -> bool) -> bool {
        found(self) || self.kind.each(&mut |expr| expr.any(found))
    }
}

impl Kind {
    /// Calls something for each expression that lies right within this one, until it is satisfied.
    fn each(&self, found: &mut dyn FnMut(&Expr) -> bool) -> bool {
        match self {
            Self::Literal(_) | Self::Ident(_) => false,
            Self::Select { of, .. } | Self::Has { of, .. } | Self::Not(of) | Self::Negate(of) => found(of),
            Self::Index { of, index, .. } => found(of) || found(index),
            Self::Call { target, args, .. } => {
                target.as_ref().is_some_and(|target| found(target)) || args.iter().any(found)
            }
            Self::List(items) => items.iter().any(|(item, _)| found(item)),
            Self::Map(pairs) => pairs.iter().any(|(key, value, _)| found(key) || found(value)),
            Self::Binary { left, right, .. } => found(left) || found(right),
            Self::Choice { condition, then, otherwise } => {
                found(condition) || found(then) || found(otherwise)
            }
            Self::Loop(each) => {
                found(&each.range) || each.filter.as_ref().is_some_and(&mut *found) || found(&each.body)
            }
        }
    }
}
