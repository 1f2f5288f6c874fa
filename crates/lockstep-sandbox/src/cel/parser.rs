//! Expressions from words.

use super::Problem;
use super::ast::{Expr, Kind, Literal, Op};
use super::lexer::{self, Token};
use super::macros::{function, method, selected};

/// Deeper than this, an expression is refused rather than read.
const DEEPEST: usize = 100;
/// And so is one with more parts within each other than this.
const TALLEST: u32 = 300;

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

    fn descend(&mut self) -> Result<(), Problem> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > DEEPEST { Err(self.too_deep()) } else { Ok(()) }
    }

    fn too_deep(&self) -> Problem {
        Problem::new(self.place(), format!("expression recursion limit exceeded: {DEEPEST}"))
    }

    /// What was read so far, unless it is too much to be evaluated.
    fn bearable(&self, expr: Expr) -> Result<Expr, Problem> {
        if expr.height() > TALLEST { Err(self.too_deep()) } else { Ok(expr) }
    }

    fn expression(&mut self) -> Result<Expr, Problem> {
        self.descend()?;
        let condition = self.binary(0)?;
        let at = self.place();
        let expr = if self.sign("?") {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            let (condition, then) = (Box::new(condition), Box::new(then));
            Expr::new(at, Kind::Choice { condition, then, otherwise: Box::new(otherwise) })
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
        if let [(sign, op)] = operators {
            return self.logic(left, sign, *op, level);
        }
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
            left = self.bearable(Expr::new(at, Kind::Binary { op: *op, left: Box::new(left), right }))?;
        }
    }

    /// A long row of conditions is read as a flat tree.
    fn logic(&mut self, first: Expr, sign: &str, op: Op, level: usize) -> Result<Expr, Problem> {
        let mut terms = vec![first];
        let mut places = Vec::new();
        loop {
            let at = self.place();
            if !self.sign(sign) {
                return self.bearable(balanced(op, terms, &places));
            }
            places.push(at);
            terms.push(self.binary(level.saturating_add(1))?);
        }
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let at = self.place();
        if self.sign("!") {
            self.descend()?;
            let inner = Box::new(self.unary()?);
            self.depth = self.depth.saturating_sub(1);
            return Ok(Expr::new(at, Kind::Not(inner)));
        }
        if self.sign("-") {
            // The smallest integer has no positive twin.
            if let Token::Int(digits) = self.peek()
                && let Some(number) = integer(&format!("-{digits}"))
            {
                self.at = self.at.saturating_add(1);
                return self.members(Expr::new(at, Kind::Literal(Literal::Int(number))));
            }
            self.descend()?;
            let inner = Box::new(self.unary()?);
            self.depth = self.depth.saturating_sub(1);
            return Ok(Expr::new(at, Kind::Negate(inner)));
        }
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: `.field`, `.method(…)`, `[index]`.
    fn members(&mut self, mut expr: Expr) -> Result<Expr, Problem> {
        loop {
            expr = self.bearable(expr)?;
            let at = self.place();
            if self.sign(".?") {
                let field = self.name()?;
                expr = Expr::new(at, Kind::Select { of: Box::new(expr), field, optional: true });
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
                expr = Expr::new(at, Kind::Index { of: Box::new(expr), index, optional: sign == "[?" });
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
        let literal = |literal: Literal| Ok(Expr::new(at, Kind::Literal(literal)));
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
        Ok(Expr::new(at, kind))
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
        Ok(Expr::new(at, Kind::List(items)))
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
        Ok(Expr::new(at, Kind::Map(pairs)))
    }
}

/// Conditions in a row, as a tree that is as low as can be. Each sign is between two of them.
fn balanced(op: Op, mut terms: Vec<Expr>, places: &[usize]) -> Expr {
    let half = terms.len() / 2;
    let right = terms.split_off(half.max(1));
    if right.is_empty() {
        return terms.pop().unwrap_or_else(|| Expr::new(0, Kind::Literal(Literal::Null)));
    }
    let middle = terms.len();
    let at = places.get(middle.saturating_sub(1)).copied().unwrap_or(0);
    let left = balanced(op, terms, places.get(..middle.saturating_sub(1)).unwrap_or_default());
    let right = balanced(op, right, places.get(middle..).unwrap_or_default());
    Expr::new(at, Kind::Binary { op, left: Box::new(left), right: Box::new(right) })
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

/// Words nobody may use as names.
pub(super) const RESERVED: [&str; 18] = [
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
