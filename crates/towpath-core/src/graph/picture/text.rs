//! Drawing for a terminal: a line a node, and lanes beside it that lead to what waits for it.

use std::fmt::Write as _;

use super::Picture;

impl Picture {
    /// The graph as text. Siblings are folded; a node's line says how it stands and, if not success is asked for, how its
    /// parents must end. Of a graph that needs more lanes than fit, the lanes are left out.
    ///
    /// ```text
    /// ● price  succeeded
    /// ├─┐
    /// ● │ reserve  running
    /// │ ○ notify  waiting  may fail
    /// ├─┘
    /// ○ charge  waiting  after notify finished
    /// ```
    pub fn text(&self) -> String {
        let picture = self.folded(FOLDED_FROM);
        let mut drawing = Drawing { children: picture.children(), lanes: Vec::new(), last: None, out: Vec::new() };
        for at in picture.order() {
            drawing.node(at, glyph(picture.nodes[at].telling().map(|s| s.word())), &picture.label(at));
        }
        let widest = drawing.out.iter().map(|(lanes, _)| lanes.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for (lanes, label) in drawing.out {
            let line = match (widest <= LANES_WIDTH_MAX, label) {
                (true, label) => format!("{lanes} {}", label.unwrap_or_default()),
                (false, Some(label)) => label,
                (false, None) => continue,
            };
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// What stands beside a node.
    fn label(&self, at: usize) -> String {
        let node = &self.nodes[at];
        let mut label = node.title();
        let mut add = |text: &str| {
            if !text.is_empty() {
                let _ = write!(label, "  {text}");
            }
        };
        add(&node.stands());
        add(&node.marks().join(", "));
        let above = || self.lines.iter().filter(|line| line.child == at && !line.asks.is_empty());
        for guarded in above().filter(|line| line.is_undo()) {
            add(&format!("undoes {}", self.nodes[guarded.parent].name));
        }
        let asked = above().filter(|line| !line.is_undo());
        let asked: Vec<String> = asked.map(|line| format!("{} {}", self.nodes[line.parent].name, line.asks)).collect();
        if !asked.is_empty() {
            add(&format!("after {}", asked.join(", ")));
        }
        label
    }
}

fn glyph(word: Option<&str>) -> char {
    match word {
        Some("succeeded") => '●',
        Some("dead" | "quarantined") => '✗',
        Some("running") => '◐',
        Some("blocked") => '!',
        Some("cancelled") => '⊘',
        Some("skipped") => '·',
        _ => '○',
    }
}

/// Lines drawn so far. A lane leads down to the node that it holds.
struct Drawing {
    children: Vec<Vec<usize>>,
    lanes: Vec<Option<usize>>,
    /// Where the node stands that was drawn last, if nothing leads down from it.
    last: Option<usize>,
    out: Vec<(String, Option<String>)>,
}

impl Drawing {
    fn node(&mut self, at: usize, glyph: char, label: &str) {
        let lane = self.lanes.iter().position(|lane| *lane == Some(at));
        let column = lane.unwrap_or_else(|| self.free());
        if lane.is_none() && self.last == Some(column) {
            // Right below another node it would look as if it waited for that one.
            let lanes = |c: usize| if self.lanes[c].is_some() { '│' } else { ' ' };
            self.out.push((spaced(self.lanes.len(), lanes, |_| ' ').trim_end().to_owned(), None));
        }
        self.lanes[column] = None;
        let width = self.lanes.len();
        let cell = |c: usize| match self.lanes[c] {
            _ if c == column => glyph,
            Some(_) => '│',
            None => ' ',
        };
        self.out.push((spaced(width, cell, |_| ' ').trim_end().to_owned(), Some(label.to_owned())));
        self.last = self.children[at].is_empty().then_some(column);
        self.branch(at, column);
        while self.lanes.last() == Some(&None) {
            self.lanes.pop();
        }
    }

    /// Leads from a node to its children: to the lane that one has already, or to a new one; the first new one is the
    /// node's own.
    fn branch(&mut self, at: usize, column: usize) {
        let before = self.lanes.clone();
        let mut ends: Vec<usize> = Vec::new();
        for child in std::mem::take(&mut self.children[at]) {
            let lane = match self.lanes.iter().position(|lane| *lane == Some(child)) {
                Some(lane) => lane,
                None if self.lanes[column].is_none() => column,
                None => self.free(),
            };
            self.lanes[lane] = Some(child);
            ends.push(lane);
        }
        let (Some(&low), Some(&high)) = (ends.iter().min(), ends.iter().max()) else { return };
        let (low, high) = (low.min(column), high.max(column));
        if low == high {
            return;
        }
        let joins = |c: usize| before.get(c).is_some_and(Option::is_some);
        let cell = |c: usize| {
            let (left, right) = (c > low && c <= high, c < high && c >= low);
            let down = self.lanes[c].is_some();
            if c == column {
                return corner(left, right, true, down);
            }
            if ends.contains(&c) {
                return corner(left, right, joins(c), down);
            }
            match (down, left && right) {
                (true, _) => '│',
                (false, true) => '─',
                (false, false) => ' ',
            }
        };
        let gap = |c: usize| if c >= low && c < high { '─' } else { ' ' };
        let width = self.lanes.len().max(high + 1);
        self.out.push((spaced(width, cell, gap).trim_end().to_owned(), None));
    }

    fn free(&mut self) -> usize {
        if let Some(free) = self.lanes.iter().position(Option::is_none) {
            return free;
        }
        self.lanes.push(None);
        self.lanes.len() - 1
    }
}

fn spaced(width: usize, cell: impl Fn(usize) -> char, gap: impl Fn(usize) -> char) -> String {
    (0..width).flat_map(|c| [cell(c), gap(c)]).collect()
}

/// The sign that has these arms.
fn corner(left: bool, right: bool, up: bool, down: bool) -> char {
    match (left, right, up, down) {
        (true, true, true, true) => '┼',
        (true, true, true, false) => '┴',
        (true, true, false, true) => '┬',
        (true, false, true, true) => '┤',
        (false, true, true, true) => '├',
        (true, false, true, false) => '┘',
        (false, true, true, false) => '└',
        (true, false, false, true) => '┐',
        (false, true, false, true) => '┌',
        (true, _, false, false) | (_, true, false, false) => '─',
        (false, false, _, _) => '│',
    }
}

/// So many siblings are drawn as one.
const FOLDED_FROM: usize = 5;
/// Wider lanes tell nobody anything.
const LANES_WIDTH_MAX: usize = 60;
