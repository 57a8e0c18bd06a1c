//! Mermaid: a flowchart that pages and documents draw.

use std::fmt::Write as _;

use super::{Drawn, Picture};
use crate::graph::Role;

impl Picture {
    /// The graph as a Mermaid flowchart. Gates are rhombs; nodes are coloured by their state.
    pub fn mermaid(&self) -> String {
        let mut out = String::from("flowchart TD\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let (open, close) = if node.role.has(Role::GATE) { ("{", "}") } else { ("[", "]") };
            let class = node.telling().map(|state| format!(":::{}", state.word())).unwrap_or_default();
            // Writing into a text cannot fail.
            let _ = writeln!(out, "    n{at}{open}\"{}\"{close}{class}", escaped(&written(node)));
        }
        for line in &self.lines {
            let asks = if line.asks.is_empty() { String::new() } else { format!("|\"{}\"|", escaped(&line.asks)) };
            let arrow = if line.is_undo() { "-.->" } else { "-->" };
            let _ = writeln!(out, "    n{} {arrow}{asks} n{}", line.parent, line.child);
        }
        let mut used: Vec<&str> = self.nodes.iter().filter_map(Drawn::telling).map(|state| state.word()).collect();
        used.sort_unstable();
        used.dedup();
        for word in used {
            let _ = writeln!(out, "    classDef {word} {}", style(word));
        }
        out
    }
}

/// Name, kind and marks, a line each.
fn written(node: &Drawn) -> String {
    let mut lines = vec![node.title()];
    let marks = node.marks();
    if !marks.is_empty() {
        lines.push(marks.join(", "));
    }
    lines.join("\n")
}

/// A text between quotes: what means something to Mermaid or to HTML stands as a number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br/>"),
            '"' | '#' | '<' | '>' | '&' | '`' | '\\' | ';' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn style(word: &str) -> &'static str {
    match word {
        "succeeded" => "fill:#d4f4dd,stroke:#2b8a3e",
        "dead" | "quarantined" => "fill:#ffe3e3,stroke:#c92a2a",
        "running" => "fill:#d0ebff,stroke:#1971c2",
        "cancelled" => "fill:#fff3bf,stroke:#e67700",
        "skipped" => "fill:#f1f3f5,stroke:#adb5bd,stroke-dasharray:4",
        _ => "fill:#ffffff,stroke:#868e96",
    }
}
