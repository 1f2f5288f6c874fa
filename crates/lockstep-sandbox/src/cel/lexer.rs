//! Words of an expression.

use super::Problem;

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Ident(String),
    Int(String),
    Uint(String),
    Double(String),
    Text(String),
    Bytes(Vec<u8>),
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<=", ">=", "[?", ".?", "{?", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":",
    "(", ")", "[", "]", "{", "}", ",", ".",
];

/// Takes a text apart. Each word comes with its place.
pub(super) fn read(text: &str) -> Result<Vec<(usize, Token)>, Problem> {
    let mut lexer = Lexer { letters: text.chars().collect(), at: 0 };
    let mut found = Vec::new();
    loop {
        lexer.skip();
        let at = lexer.at;
        let token = lexer.next()?;
        let last = token == Token::End;
        found.push((at, token));
        if last {
            return Ok(found);
        }
    }
}

struct Lexer {
    letters: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at.saturating_add(ahead)).copied()
    }

    fn advance(&mut self, by: usize) {
        self.at = self.at.saturating_add(by);
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(letter) = self.peek(0).filter(|letter| fits(*letter)) {
            taken.push(letter);
            self.advance(1);
        }
        taken
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    /// Skips spaces and comments.
    fn skip(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.starts_with("//") {
                return;
            }
            self.take_while(|letter| letter != '\n');
        }
    }

    fn next(&mut self) -> Result<Token, Problem> {
        let Some(first) = self.peek(0) else { return Ok(Token::End) };
        if let Some(text) = self.text()? {
            return Ok(text);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Ok(Token::Ident(
                self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_'),
            ));
        }
        let fraction = first == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit());
        if first.is_ascii_digit() || fraction {
            return Ok(self.number());
        }
        if first == '`' {
            return self.quoted_name();
        }
        // `a ?.b` is no choice, and `[?` and `{?` are only before something optional.
        let sign = SIGNS.iter().find(|sign| self.starts_with(sign)).copied();
        let Some(sign) = sign else {
            return Err(Problem::new(
                self.at,
                format!("Syntax error: token recognition error at: '{first}'"),
            ));
        };
        self.advance(sign.len());
        Ok(Token::Sign(sign))
    }

    fn quoted_name(&mut self) -> Result<Token, Problem> {
        let start = self.at;
        self.advance(1);
        let name = self.take_while(|letter| letter != '`' && letter != '\n');
        if self.peek(0) != Some('`') {
            return Err(Problem::new(start, "Syntax error: token recognition error at: '`'"));
        }
        self.advance(1);
        Ok(Token::Ident(name))
    }

    fn number(&mut self) -> Token {
        if self.starts_with("0x") || self.starts_with("0X") {
            self.advance(2);
            let digits = format!("0x{}", self.take_while(|letter| letter.is_ascii_hexdigit()));
            return self.integer(digits);
        }
        let mut digits = self.take_while(|letter| letter.is_ascii_digit());
        let mut double = false;
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|next| next.is_ascii_digit()) {
            double = true;
            self.advance(1);
            digits.push('.');
            digits.push_str(&self.take_while(|letter| letter.is_ascii_digit()));
        }
        let signed = matches!(self.peek(1), Some('+' | '-'));
        let exponent = self.peek(if signed { 2 } else { 1 }).is_some_and(|next| next.is_ascii_digit());
        if matches!(self.peek(0), Some('e' | 'E')) && exponent {
            double = true;
            self.advance(1);
            digits.push('e');
            digits.push_str(&self.take_while(|letter| letter.is_ascii_digit() || "+-".contains(letter)));
        }
        if double { Token::Double(digits) } else { self.integer(digits) }
    }

    fn integer(&mut self, digits: String) -> Token {
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.advance(1);
            return Token::Uint(digits);
        }
        Token::Int(digits)
    }

    /// A text or bytes, if there are any here.
    fn text(&mut self) -> Result<Option<Token>, Problem> {
        let start = self.at;
        let mut prefix = 0;
        let (mut raw, mut bytes) = (false, false);
        while let Some(letter) = self.peek(prefix).filter(|letter| "rRbB".contains(*letter)) {
            raw |= letter.eq_ignore_ascii_case(&'r');
            bytes |= letter.eq_ignore_ascii_case(&'b');
            prefix = prefix.saturating_add(1);
            if prefix > 2 {
                return Ok(None);
            }
        }
        let Some(quote) = self.peek(prefix).filter(|letter| "'\"".contains(*letter)) else { return Ok(None) };
        self.advance(prefix);
        let thrice: String = std::iter::repeat_n(quote, 3).collect();
        let end = if self.starts_with(&thrice) { thrice } else { quote.to_string() };
        self.advance(end.len());
        let mut out = Vec::new();
        while !self.starts_with(&end) {
            match self.peek(0) {
                None => return Err(unclosed(start, quote)),
                Some('\n' | '\r') if end.len() == 1 => return Err(unclosed(start, quote)),
                Some('\\') if !raw => self.escape(bytes, &mut out)?,
                Some(letter) => {
                    self.advance(1);
                    push(&mut out, letter);
                }
            }
        }
        self.advance(end.len());
        if bytes {
            return Ok(Some(Token::Bytes(out)));
        }
        Ok(Some(Token::Text(String::from_utf8_lossy(&out).into_owned())))
    }

    fn escape(&mut self, bytes: bool, out: &mut Vec<u8>) -> Result<(), Problem> {
        let start = self.at;
        let wrong = || Problem::new(start, "Syntax error: token recognition error");
        self.advance(1);
        let letter = self.peek(0).ok_or_else(wrong)?;
        self.advance(1);
        let plain = match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' | '?' => letter,
            'x' | 'X' => return self.code(2, 16, bytes, out).ok_or_else(wrong),
            'u' => return self.code(4, 16, false, out).ok_or_else(wrong),
            'U' => return self.code(8, 16, false, out).ok_or_else(wrong),
            '0'..='3' => {
                self.at = self.at.saturating_sub(1);
                return self.code(3, 8, bytes, out).ok_or_else(wrong);
            }
            _ => return Err(wrong()),
        };
        push(out, plain);
        Ok(())
    }

    /// A letter by its number; in bytes, the byte itself.
    fn code(&mut self, digits: usize, radix: u32, byte: bool, out: &mut Vec<u8>) -> Option<()> {
        let text: String = self.letters.get(self.at..self.at.saturating_add(digits))?.iter().collect();
        let code = u32::from_str_radix(&text, radix).ok()?;
        self.advance(digits);
        if byte {
            out.push(u8::try_from(code).ok()?);
        } else {
            push(out, char::from_u32(code)?);
        }
        Some(())
    }
}

fn push(out: &mut Vec<u8>, letter: char) {
    out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

fn unclosed(at: usize, quote: char) -> Problem {
    Problem::new(at, format!("Syntax error: token recognition error at: '{quote}'"))
}
