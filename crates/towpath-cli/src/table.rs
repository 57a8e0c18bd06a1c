//! Tables of text: columns as wide as their widest cell.

use crate::say;

/// A table that is printed line by line.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Prints it to stdout.
    pub(crate) fn print(&self) {
        say::text(&self.render());
    }

    /// Prints it, or a word for an empty one.
    pub(crate) fn print_or(&self, nothing: &str) {
        if self.rows.is_empty() { say::line(nothing) } else { self.print() }
    }

    fn render(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
            cells.chain([self.head[at].len()]).max().unwrap_or(0).min(CELL_CHARS_MAX)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let rows = self.rows.iter().map(|row| line(row.iter().map(String::as_str).collect()));
        std::iter::once(line(self.head.clone())).chain(rows).collect()
    }
}

/// A longer cell pushes only its own line out of order.
const CELL_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up_and_lines_end_without_blanks() {
        let mut table = Table::new(&["node", "state", "why"]);
        table.row(vec!["zürich".into(), "dead".into(), "exit status 1".into()]);
        table.row(vec!["b".into(), "succeeded".into(), String::new()]);
        assert_eq!(table.render(), "node    state      why\nzürich  dead       exit status 1\nb       succeeded\n");
    }
}
