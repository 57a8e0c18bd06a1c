//! DOT, for Graphviz.

use std::fmt::Write as _;

use super::{Drawn, Picture};
use crate::graph::Role;

impl Picture {
    /// The graph in Graphviz' language.
    pub fn dot(&self) -> String {
        let mut out = String::from("digraph {\n    node [shape=box, style=\"rounded,filled\", fillcolor=white];\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let shape = if node.role.has(Role::GATE) { ", shape=diamond, style=filled" } else { "" };
            // Writing into a text cannot fail.
            let _ = writeln!(out, "    n{at} [label=\"{}\"{shape}{}];", escaped(&written(node)), colour(node));
        }
        for line in &self.lines {
            let dashed = if line.is_undo() { ", style=dashed" } else { "" };
            let asks = if line.asks.is_empty() {
                String::new()
            } else {
                format!(" [label=\"{}\"{dashed}]", escaped(&line.asks))
            };
            let _ = writeln!(out, "    n{} -> n{}{asks};", line.parent, line.child);
        }
        out.push_str("}\n");
        out
    }
}

/// Name, kind, marks and state, a line each.
fn written(node: &Drawn) -> String {
    let mut lines = vec![node.title()];
    let marks = node.marks();
    if !marks.is_empty() {
        lines.push(marks.join(", "));
    }
    if !node.states.is_empty() {
        lines.push(node.stands());
    }
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn colour(node: &Drawn) -> &'static str {
    match node.telling().map(|state| state.word()) {
        Some("succeeded") => ", fillcolor=palegreen",
        Some("dead" | "quarantined") => ", fillcolor=lightcoral",
        Some("running") => ", fillcolor=lightskyblue",
        Some("cancelled") => ", fillcolor=khaki",
        Some("skipped") => ", fillcolor=gray90",
        _ => "",
    }
}
