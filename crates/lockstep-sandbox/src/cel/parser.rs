//! Expressions from words.

use super::Problem;
use super::ast::{Expr, Kind, Literal, Loop, LoopKind, Op};
use super::lexer::{self, Token};
use crate::schema::pattern;

/// Deeper than this, an expression is refused rather than read.
const DEEPEST: usize = 250;

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Problem> {
    let mut parser = Parser { tokens: lexer::read(text)?, at: 0, depth: 0 };
    let expr = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(expr),
        other => Err(parser.unexpected(other, "<EOF>")),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(_, token)| token)
    }

    fn place(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0, |(at, _)| *at)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = self.at.saturating_add(1);
        token
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if *found == sign);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Problem> {
        if self.sign(sign) {
            return Ok(());
        }
        Err(self.unexpected(self.peek(), &format!("'{sign}'")))
    }

    fn unexpected(&self, token: &Token, wanted: &str) -> Problem {
        let shown = match token {
            Token::End => "<EOF>".to_owned(),
            Token::Ident(text) | Token::Int(text) | Token::Uint(text) | Token::Double(text) => text.clone(),
            Token::Text(text) => format!("\"{text}\""),
            Token::Bytes(_) => "b\"\"".to_owned(),
            Token::Sign(sign) => (*sign).to_owned(),
        };
        Problem::new(self.place(), format!("Syntax error: mismatched input '{shown}' expecting {wanted}"))
    }

    fn expression(&mut self) -> Result<Expr, Problem> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEEPEST {
            return Err(Problem::new(
                self.place(),
                format!("expression recursion limit exceeded: {DEEPEST}"),
            ));
        }
        let condition = self.binary(0)?;
        let at = self.place();
        let expr = if self.sign("?") {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let (condition, then) = (Box::new(condition), Box::new(then));
            Expr { at, kind: Kind::Choice { condition, then, otherwise: Box::new(otherwise) } }
        } else {
            condition
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(expr)
    }

    /// Operators of one level bind from the left; those of a deeper level bind tighter.
    fn binary(&mut self, level: usize) -> Result<Expr, Problem> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level.saturating_add(1))?;
        loop {
            let at = self.place();
            let found = operators.iter().find(|(sign, _)| match self.peek() {
                Token::Sign(found) => found == sign,
                Token::Ident(name) => name == sign,
                _ => false,
            });
            let Some((_, op)) = found else { return Ok(left) };
            self.at = self.at.saturating_add(1);
            let right = Box::new(self.binary(level.saturating_add(1))?);
            left = Expr { at, kind: Kind::Binary { op: *op, left: Box::new(left), right } };
        }
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let at = self.place();
        if self.sign("!") {
            return Ok(Expr { at, kind: Kind::Not(Box::new(self.unary()?)) });
        }
        if self.sign("-") {
            // The smallest integer has no positive twin.
            if let Token::Int(digits) = self.peek()
                && let Some(number) = integer(&format!("-{digits}"))
            {
                self.at = self.at.saturating_add(1);
                return self.members(Expr { at, kind: Kind::Literal(Literal::Int(number)) });
            }
            return Ok(Expr { at, kind: Kind::Negate(Box::new(self.unary()?)) });
        }
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: `.field`, `.method(…)`, `[index]`.
    fn members(&mut self, mut expr: Expr) -> Result<Expr, Problem> {
        loop {
            let at = self.place();
            if self.sign(".?") {
                let field = self.name()?;
                expr = Expr { at, kind: Kind::Select { of: Box::new(expr), field, optional: true } };
            } else if self.sign(".") {
                let field = self.name()?;
                let open = self.place();
                expr = if self.sign("(") {
                    let args = self.list(")")?;
                    method(open, expr, field, args)?
                } else {
                    selected(at, expr, field)
                };
            } else if let Token::Sign(sign @ ("[" | "[?")) = *self.peek() {
                self.at = self.at.saturating_add(1);
                let index = Box::new(self.expression()?);
                self.expect("]")?;
                expr = Expr { at, kind: Kind::Index { of: Box::new(expr), index, optional: sign == "[?" } };
            } else {
                return Ok(expr);
            }
        }
    }

    fn name(&mut self) -> Result<String, Problem> {
        match self.next() {
            Token::Ident(name) if name != "in" => Ok(name),
            other => {
                self.at = self.at.saturating_sub(1);
                Err(self.unexpected(&other, "IDENTIFIER"))
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        let at = self.place();
        let literal = |literal: Literal| Ok(Expr { at, kind: Kind::Literal(literal) });
        match self.next() {
            Token::Int(digits) => match integer(&digits) {
                Some(number) => literal(Literal::Int(number)),
                None => Err(Problem::new(at, "invalid int literal")),
            },
            Token::Uint(digits) => match unsigned(&digits) {
                Some(number) => literal(Literal::Uint(number)),
                None => Err(Problem::new(at, "invalid uint literal")),
            },
            Token::Double(digits) => match digits.parse() {
                Ok(number) => literal(Literal::Double(number)),
                Err(_) => Err(Problem::new(at, "invalid double literal")),
            },
            Token::Text(text) => literal(Literal::Text(text)),
            Token::Bytes(bytes) => literal(Literal::Bytes(bytes)),
            Token::Ident(name) => self.word(at, name),
            Token::Sign(".") => {
                let name = self.name()?;
                self.word(at, name)
            }
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign("[") => self.list_literal(at),
            Token::Sign("[?") => {
                // The first item is optional.
                self.at = self.at.saturating_sub(1);
                if let Some((_, token)) = self.tokens.get_mut(self.at) {
                    *token = Token::Sign("?");
                }
                self.list_literal(at)
            }
            Token::Sign("{") => self.map_literal(at, false),
            Token::Sign("{?") => self.map_literal(at, true),
            other => {
                self.at = self.at.saturating_sub(1);
                Err(self.unexpected(&other, "an expression"))
            }
        }
    }

    fn word(&mut self, at: usize, name: String) -> Result<Expr, Problem> {
        let kind = match name.as_str() {
            "true" => Kind::Literal(Literal::Bool(true)),
            "false" => Kind::Literal(Literal::Bool(false)),
            "null" => Kind::Literal(Literal::Null),
            reserved if RESERVED.contains(&reserved) => {
                return Err(Problem::new(at, format!("reserved identifier: {name}")));
            }
            _ => {
                let open = self.place();
                if self.sign("(") {
                    let args = self.list(")")?;
                    return function(open, name, args);
                }
                Kind::Ident(name)
            }
        };
        Ok(Expr { at, kind })
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expr>, Problem> {
        let mut items = Vec::new();
        while !self.sign(end) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.expression()?);
        }
        Ok(items)
    }

    fn list_literal(&mut self, at: usize) -> Result<Expr, Problem> {
        let mut items = Vec::new();
        while !self.sign("]") {
            if !items.is_empty() {
                self.expect(",")?;
                if self.sign("]") {
                    break;
                }
            }
            let optional = self.sign("?");
            items.push((self.expression()?, optional));
        }
        Ok(Expr { at, kind: Kind::List(items) })
    }

    fn map_literal(&mut self, at: usize, first_is_optional: bool) -> Result<Expr, Problem> {
        let mut pairs = Vec::new();
        let mut optional = first_is_optional;
        while !self.sign("}") {
            if !pairs.is_empty() {
                self.expect(",")?;
                if self.sign("}") {
                    break;
                }
                optional = self.sign("?");
            }
            let key = self.expression()?;
            self.expect(":")?;
            pairs.push((key, self.expression()?, optional));
        }
        Ok(Expr { at, kind: Kind::Map(pairs) })
    }
}

const LEVELS: [&[(&str, Op)]; 5] = [
    &[("||", Op::Or)],
    &[("&&", Op::And)],
    &[
        ("==", Op::Equal),
        ("!=", Op::Unequal),
        ("<=", Op::LessOrEqual),
        (">=", Op::GreaterOrEqual),
        ("<", Op::Less),
        (">", Op::Greater),
        ("in", Op::In),
    ],
    &[("+", Op::Add), ("-", Op::Subtract)],
    &[("*", Op::Multiply), ("/", Op::Divide), ("%", Op::Remainder)],
];

const RESERVED: [&str; 18] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "in",
];

fn integer(digits: &str) -> Option<i64> {
    match digits.strip_prefix("-0x") {
        Some(hex) => i64::from_str_radix(&format!("-{hex}"), 16).ok(),
        None => match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        },
    }
}

fn unsigned(digits: &str) -> Option<u64> {
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    }
}

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
    Ok(Expr { at, kind: Kind::Call { name, target: target.map(Box::new), args, regex } })
}

/// A field. Some types have names that look like fields.
fn selected(at: usize, of: Expr, field: String) -> Expr {
    if let ("Timestamp" | "Duration", Kind::Select { of: outer, field: inner, .. }) =
        (field.as_str(), &of.kind)
        && inner == "protobuf"
        && matches!(&outer.kind, Kind::Ident(name) if name == "google")
    {
        return Expr { at, kind: Kind::Ident(format!("google.protobuf.{field}")) };
    }
    Expr { at, kind: Kind::Select { of: Box::new(of), field, optional: false } }
}

/// A function of no target. `has` is none: it asks whether a field is there.
fn function(at: usize, name: String, mut args: Vec<Expr>) -> Result<Expr, Problem> {
    if name == "has" && args.len() == 1 {
        return match args.pop() {
            Some(Expr { kind: Kind::Select { of, field, optional: false }, .. }) => {
                Ok(Expr { at, kind: Kind::Has { of, field } })
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
fn method(at: usize, target: Expr, name: String, args: Vec<Expr>) -> Result<Expr, Problem> {
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
    Ok(Expr { at, kind: Kind::Loop(Box::new(each)) })
}
