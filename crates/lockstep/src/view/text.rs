//! Text that fits: cut, wrapped, put side by side.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// How many columns a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text in at most so many columns; what is cut off is an ellipsis.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = head(text, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// The longest beginning that takes no more than so many columns.
fn head(text: &str, columns: usize) -> &str {
    let mut end = 0;
    for (at, sign) in text.char_indices() {
        let next = at + sign.len_utf8();
        if width(&text[..next]) > columns {
            break;
        }
        end = next;
    }
    &text[..end]
}

/// A text in exactly so many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let text = cut(text, columns);
    let missing = columns.saturating_sub(width(&text));
    text + &" ".repeat(missing)
}

/// A line in at most so many columns.
pub fn fit(line: Line<'static>, columns: usize) -> Line<'static> {
    if line.width() <= columns {
        return line;
    }
    let mut left = columns;
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in line.spans {
        let takes = span.width();
        if takes < left {
            left -= takes;
            spans.push(span);
            continue;
        }
        // Something follows or does not fit, so this one ends in an ellipsis.
        let mut kept = head(&span.content, left.saturating_sub(1)).to_owned();
        if left > 0 {
            kept.push('…');
        }
        spans.push(Span::styled(kept, span.style));
        break;
    }
    Line::from(spans)
}

/// Two ends of a line of so many columns; where they do not both fit, the right one stays.
pub fn ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, columns: usize) -> Line<'static> {
    let (left, right) = (Line::from(left), Line::from(right));
    let room = columns.saturating_sub(right.width() + 1);
    let mut line = fit(left, room);
    let gap = columns.saturating_sub(line.width() + right.width());
    line.spans.push(Span::raw(" ".repeat(gap)));
    line.spans.extend(right.spans);
    fit(line, columns)
}

/// A text in lines of at most so many columns, broken at spaces, and inside of words that are longer than a
/// line. What follows a break stands two columns further in than its line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(line, columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let indent = line.len() - line.trim_start().len();
    let mut lines = Vec::new();
    let mut here = " ".repeat(indent);
    let mut empty = true;
    for word in line.split_whitespace() {
        if !empty && width(&here) + 1 + width(word) > columns {
            let deeper = " ".repeat(indent + 2);
            lines.push(cut(&std::mem::replace(&mut here, deeper), columns));
            empty = true;
        }
        if !empty {
            here.push(' ');
        }
        let mut word = word;
        while width(&here) + width(word) > columns {
            let fits = head(word, columns.saturating_sub(width(&here)));
            // Where not even one sign fits, nothing ever will.
            if fits.is_empty() {
                break;
            }
            here.push_str(fits);
            word = &word[fits.len()..];
            lines.push(std::mem::replace(&mut here, " ".repeat(indent + 2)));
        }
        here.push_str(word);
        empty = false;
    }
    lines.push(cut(&here, columns));
    lines
}

/// A span.
pub fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_at_the_width_of_the_screen_not_of_the_bytes() {
        for (text, columns, is) in [
            ("prefill", 7, "prefill"),
            ("prefill", 6, "prefi…"),
            ("größer", 6, "größer"),
            ("größer", 4, "grö…"),
            ("模型服务", 8, "模型服务"),
            ("模型服务", 6, "模型…"),
            ("x", 0, ""),
            ("ab", 1, "…"),
        ] {
            assert_eq!(cut(text, columns), is);
        }
        assert_eq!(pad("模型服务", 6), "模型… ");
    }

    #[test]
    fn a_line_is_cut_where_it_ends_and_keeps_its_styles() {
        let line = || Line::from(vec![Span::raw("abc"), Span::raw("def")]);
        for (columns, is) in [(6, "abcdef"), (5, "abcd…"), (4, "abc…"), (3, "ab…"), (1, "…"), (0, "")]
        {
            assert_eq!(fit(line(), columns).to_string(), is, "{columns}");
        }
    }

    #[test]
    fn the_right_end_stays() {
        let line = |columns| ends(vec![Span::raw("left")], vec![Span::raw("right")], columns).to_string();
        assert_eq!(line(12), "left   right");
        assert_eq!(line(9), "le… right");
        assert_eq!(line(3), "ri…");
    }

    #[test]
    fn wrapped_lines_stand_further_in() {
        assert_eq!(wrap("a bb\n  cc dd ee", 7), ["a bb", "  cc dd", "    ee"]);
        assert_eq!(wrap("unbreakable", 5), ["unbre", "  aka", "  ble"]);
        assert_eq!(wrap("to unbreakable", 6), ["to", "  unbr", "  eaka", "  ble"]);
        assert_eq!(wrap("模型", 1), ["…"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }
}
