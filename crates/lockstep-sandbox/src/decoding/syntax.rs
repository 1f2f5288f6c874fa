//! What is wrong with a text that is no JSON, in Go's words.

use crate::schema::words::quoted;

/// The first thing that is wrong; nothing if the text is JSON after all. It asks for no more stack however deep the
/// text is.
pub fn syntax_error(body: &[u8]) -> Option<String> {
    Scanner { body, at: 0, open: Vec::new() }.scan().err()
}

struct Scanner<'a> {
    body: &'a [u8],
    at: usize,
    /// What has begun and not ended: `{` or `[`.
    open: Vec<u8>,
}

type Scanned<T> = Result<T, String>;

impl Scanner<'_> {
    fn scan(&mut self) -> Scanned<()> {
        loop {
            if !self.begin()? {
                continue;
            }
            // A value has ended.
            loop {
                match (self.open.last().copied(), self.sign()) {
                    (None, None) => return Ok(()),
                    (None, sign) => return wrong(sign, "after top-level value"),
                    (Some(b'{'), Some(b',')) => {
                        self.key()?;
                        break;
                    }
                    (Some(b'['), Some(b',')) => break,
                    (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => drop(self.open.pop()),
                    (Some(b'{'), sign) => return wrong(sign, "after object key:value pair"),
                    (Some(_), sign) => return wrong(sign, "after array element"),
                }
            }
        }
    }

    /// Reads the beginning of a value. Whether it has ended as well.
    fn begin(&mut self) -> Scanned<bool> {
        match self.sign() {
            Some(b'{') if self.ends_with(b'}') => Ok(true),
            Some(b'{') => {
                self.open.push(b'{');
                self.key().map(|()| false)
            }
            Some(b'[') if self.ends_with(b']') => Ok(true),
            Some(b'[') => {
                self.open.push(b'[');
                Ok(false)
            }
            Some(b'"') => self.text().map(|()| true),
            Some(digit @ (b'-' | b'0'..=b'9')) => self.number(digit).map(|()| true),
            Some(b't') => self.literal("true").map(|()| true),
            Some(b'f') => self.literal("false").map(|()| true),
            Some(b'n') => self.literal("null").map(|()| true),
            sign => wrong(sign, "looking for beginning of value"),
        }
    }

    fn ends_with(&mut self, end: u8) -> bool {
        let before = self.at;
        let ended = self.sign() == Some(end);
        if !ended {
            self.at = before;
        }
        ended
    }

    /// A key, and the colon after it.
    fn key(&mut self) -> Scanned<()> {
        match self.sign() {
            Some(b'"') => self.text()?,
            sign => return wrong(sign, "looking for beginning of object key string"),
        }
        match self.sign() {
            Some(b':') => Ok(()),
            sign => wrong(sign, "after object key"),
        }
    }

    /// The rest of a text in quotes.
    fn text(&mut self) -> Scanned<()> {
        loop {
            match self.next() {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape()?,
                sign @ (None | Some(0..=0x1f)) => return wrong(sign, "in string literal"),
                Some(_) => {}
            }
        }
    }

    fn escape(&mut self) -> Scanned<()> {
        match self.next() {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => Ok(()),
            Some(b'u') => (0..4).try_for_each(|_| match self.next() {
                Some(hex) if hex.is_ascii_hexdigit() => Ok(()),
                sign => wrong(sign, "in \\u hexadecimal character escape"),
            }),
            sign => wrong(sign, "in string escape code"),
        }
    }

    fn number(&mut self, first: u8) -> Scanned<()> {
        let mut leading = first;
        if first == b'-' {
            leading = self.digit("in numeric literal")?;
        }
        if leading != b'0' {
            self.digits();
        }
        if self.takes(|sign| sign == b'.') {
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if self.takes(|sign| matches!(sign, b'e' | b'E')) {
            self.takes(|sign| matches!(sign, b'+' | b'-'));
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Scanned<u8> {
        match self.next() {
            Some(digit) if digit.is_ascii_digit() => Ok(digit),
            sign => wrong(sign, place),
        }
    }

    fn digits(&mut self) {
        while self.takes(|sign| sign.is_ascii_digit()) {}
    }

    /// The rest of a word whose first letter is read.
    fn literal(&mut self, word: &str) -> Scanned<()> {
        word.bytes().skip(1).try_for_each(|letter| match self.next() {
            Some(found) if found == letter => Ok(()),
            sign => wrong(sign, &format!("in literal {word} (expecting '{}')", char::from(letter))),
        })
    }

    fn takes(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let taken = self.body.get(self.at).is_some_and(|sign| wanted(*sign));
        self.at = self.at.saturating_add(usize::from(taken));
        taken
    }

    fn next(&mut self) -> Option<u8> {
        let sign = self.body.get(self.at).copied()?;
        self.at = self.at.saturating_add(1);
        Some(sign)
    }

    /// The next one that is no space.
    fn sign(&mut self) -> Option<u8> {
        while self.takes(|sign| matches!(sign, b' ' | b'\t' | b'\n' | b'\r')) {}
        self.next()
    }
}

/// Bytes are shown as if each was a letter.
fn wrong<T>(sign: Option<u8>, place: &str) -> Scanned<T> {
    let Some(sign) = sign else { return Err("unexpected end of JSON input".to_owned()) };
    let shown = match sign {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        other => quoted(&char::from(other).to_string()).trim_matches('"').to_owned(),
    };
    Err(format!("invalid character '{shown}' {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_words_of_go() {
        let cases = [
            (r#" {"a": [1, -2.5e+7, "x\u00e4\n", true, null, {}]} "#, ""),
            ("", "unexpected end of JSON input"),
            (r#"{"a""#, "unexpected end of JSON input"),
            ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
            ("words", "invalid character 'w' looking for beginning of value"),
            ("{} more", "invalid character 'm' after top-level value"),
            ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a": 1 "b"}"#, "invalid character '\"' after object key:value pair"),
            (r#"{"a": 1,}"#, "invalid character '}' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            (r#""\x""#, "invalid character 'x' in string escape code"),
            (r#""\u00g0""#, "invalid character 'g' in \\u hexadecimal character escape"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("'a'", "invalid character '\\'' looking for beginning of value"),
        ];
        for (text, words) in cases {
            assert_eq!(syntax_error(text.as_bytes()).unwrap_or_default(), words, "{text}");
        }
        assert!(syntax_error(&vec![b'['; 4_000_000]).is_some());
    }
}
