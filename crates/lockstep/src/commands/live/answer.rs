//! Answers in the form that was asked for.

use lockstep_api::json_to_yaml;
use serde::Serialize;

use super::args::Form;
use crate::screen::Screen;

/// Writes an answer: the text for people, the value for machines.
pub fn give(
    screen: &mut Screen<'_>,
    form: Form,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match form {
        Form::Text => write!(screen.out, "{}", text())?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut screen.out, value)?;
            writeln!(screen.out)?;
        }
        Form::Yaml => write!(screen.out, "{}", yaml(value)?)?,
    }
    Ok(screen.out.flush()?)
}

/// One of many answers that follow each other: JSON on a line of its own, YAML as a document of its own.
pub fn give_next(
    screen: &mut Screen<'_>,
    form: Form,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match form {
        Form::Text => writeln!(screen.out, "{}", text())?,
        Form::Json => writeln!(screen.out, "{}", serde_json::to_string(value)?)?,
        Form::Yaml => write!(screen.out, "---\n{}", yaml(value)?)?,
    }
    Ok(screen.out.flush()?)
}

/// A value as YAML.
pub fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    let text = json_to_yaml(&serde_json::to_value(value)?);
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is written must be read back the same, also words that look like something else.
    #[test]
    fn yaml_is_read_back_as_it_was() {
        let value = json!({
            "a": [1, "1", "true", null, "on", "1e3", "0x1F", "2026-01-31", "~", ""],
            "b": {"c": {}, "d": [], "e": "two\nlines\n", "f": "- no list", "g": "key: no map", "h": "#none"},
            "1e5": "hash", "12345": "digits",
        });
        let text = yaml(&value).unwrap();
        let back: Value = lockstep_api::yaml_to_json(&text).unwrap();
        assert_eq!(back, value, "{text}");
    }
}
