//! Results to stdout, messages to stderr, colours only for people.

use std::io::{self, IsTerminal, Write};

/// Where a command writes to.
pub struct Screen<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// Messages.
    pub err: &'a mut dyn Write,
    /// How results are coloured.
    pub paint: Paint,
    /// How messages are coloured.
    pub paint_err: Paint,
    /// Whether somebody watches the messages.
    pub watched: bool,
}

/// Colours, or none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// No colours.
    #[cfg(test)]
    pub const PLAIN: Self = Self { on: false };

    /// Colours if a person is looking and did not ask for none.
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { on: stream.is_terminal() && !refused }
    }

    /// Whether colours are used.
    pub fn is_on(self) -> bool {
        self.on
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Stands out.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// Good.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Bad.
    pub fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// Worth a look.
    pub fn warn(self, text: &str) -> String {
        self.wrap("33", text)
    }
}

/// Runs a command with the real streams.
pub fn with_streams<T>(command: impl FnOnce(&mut Screen<'_>) -> T) -> (T, io::Result<()>) {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    let (paint, paint_err) = (Paint::for_stream(&stdout), Paint::for_stream(&stderr));
    let watched = stderr.is_terminal();
    let mut out = io::BufWriter::new(stdout.lock());
    let mut err = stderr;
    let result = command(&mut Screen { out: &mut out, err: &mut err, paint, paint_err, watched });
    let flushed = out.flush();
    (result, flushed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_means_plain() {
        assert_eq!(Paint::PLAIN.bad("no"), "no");
        assert_eq!(Paint { on: true }.good("yes"), "\u{1b}[32myes\u{1b}[0m");
    }
}
