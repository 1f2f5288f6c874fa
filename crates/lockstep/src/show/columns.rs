//! Columns as kubectl prints them: as wide as they must be, three spaces apart.

/// A line of a table and how it is coloured.
pub struct Line {
    /// The cells.
    pub cells: Vec<String>,
    /// What is done to the whole line.
    pub paint: fn(crate::screen::Paint, &str) -> String,
}

impl Line {
    /// A line without colour.
    pub fn plain(cells: Vec<String>) -> Self {
        Self { cells, paint: |_, text| text.to_owned() }
    }
}

/// Lays lines out. A column that is empty but for its heading is left out.
pub fn lay_out(header: &[&str], lines: &[Line], paint: crate::screen::Paint) -> String {
    let used = |column: usize| lines.iter().any(|line| line.cells.get(column).is_some_and(|c| !c.is_empty()));
    let columns: Vec<usize> = (0..header.len()).filter(|column| used(*column)).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.cells.get(column));
        cells.map(|cell| cell.chars().count()).chain([header[column].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = columns.iter().map(|column| width(*column)).collect();
    let row = |cell: &dyn Fn(usize) -> String| {
        let padded = columns.iter().zip(&widths).map(|(column, width)| format!("{:<width$}", cell(*column)));
        padded.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    let mut text = row(&|column| header[column].to_owned()) + "\n";
    for line in lines {
        let plain = row(&|column| line.cells.get(column).cloned().unwrap_or_default());
        text.push_str(&(line.paint)(paint, &plain));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Paint;

    #[test]
    fn as_wide_as_needed_and_no_empty_column() {
        let line = |cells: [&str; 3]| Line::plain(cells.map(str::to_owned).to_vec());
        let lines = [line(["├─ é", "", "x"]), line(["b", "", "yy"])];
        let text = lay_out(&["NAME", "NODE", "AGE"], &lines, Paint::PLAIN);
        assert_eq!(text, "NAME   AGE\n├─ é   x\nb      yy\n");
    }
}
