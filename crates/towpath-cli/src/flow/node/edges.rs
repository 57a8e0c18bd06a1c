//! What a node waits for.

use std::ops::Range;

use toml::de::{DeTable, DeValue};
use towpath::{Condition, Label};

use super::{DraftEdge, NodeReader};
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

impl NodeReader<'_> {
    pub(in crate::flow) fn after(&mut self, value: Place<'_, '_>) -> Vec<DraftEdge> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(|item| self.edge(item)).collect(),
            _ => {
                let problem = wrong_type("`after`", "a list of nodes", value);
                self.problem(problem.help("write after = [\"a\", { node = \"b\", on = \"finished\" }]"));
                Vec::new()
            }
        }
    }

    pub(in crate::flow) fn at_least(&mut self, value: Place<'_, '_>) -> Option<(u32, Range<usize>)> {
        let number = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u32>().ok());
        if number.is_none() {
            let problem = wrong_type("`at_least`", "a number of nodes", value);
            self.problem(problem.help("write at_least = 1"));
        }
        Some((number?, value.span()))
    }

    fn edge(&mut self, value: Place<'_, '_>) -> Option<DraftEdge> {
        match value.get_ref() {
            DeValue::String(parent) => Some(DraftEdge {
                parent: parent.as_ref().to_owned(),
                condition: Condition::Succeeded,
                span: value.span(),
                source: 0,
            }),
            DeValue::Table(table) => self.edge_table(table, value.span()),
            _ => {
                let problem = wrong_type("each item of `after`", "a node", value);
                self.problem(problem.help("write \"a\", or { node = \"a\", on = \"finished\" }"));
                None
            }
        }
    }

    fn edge_table(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<DraftEdge> {
        let mut parent = None;
        let mut condition = Some(Condition::Succeeded);
        let mut branch: Option<Option<Label>> = None;
        let mut on_span = None;
        let mut is_there = false;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "node" => {
                    is_there = true;
                    parent = self.text("`node`", value).map(|name| (name, value.span()));
                }
                "on" => {
                    on_span = Some(key.span());
                    condition = self.condition(value);
                }
                "branch" => branch = Some(self.label(value)),
                other => self.unknown(other, key.span(), "an item of `after`", &["node", "on", "branch"]),
            }
        }
        if !is_there {
            self.problem(Problem::new("an item of `after` names no node").at(span, "add `node = \"…\"`"));
        }
        if let Some(label) = branch {
            if let Some(on) = on_span {
                let problem = Problem::new("an item of `after` has `on` and `branch`").at(on, "a branch succeeds");
                self.problem(problem.help("remove `on`"));
            }
            condition = label.map(Condition::Branch);
        }
        let (parent, span) = parent?;
        Some(DraftEdge { parent, condition: condition?, span, source: 0 })
    }

    fn condition(&mut self, value: Place<'_, '_>) -> Option<Condition> {
        let ends = ["succeeded", "failed", "finished", "joined"];
        match value.get_ref().as_str() {
            Some("succeeded") => Some(Condition::Succeeded),
            Some("failed") => Some(Condition::Failed),
            Some("finished") => Some(Condition::Finished),
            Some("joined") => Some(Condition::Joined),
            Some(other) => {
                let problem = Problem::new(format!("`on` cannot be {other:?}")).at(value.span(), "no such end");
                self.problem(problem.did_you_mean(
                    other,
                    ends.into_iter(),
                    "use \"succeeded\" (the default), \"failed\", \"finished\" (however it ends) or \"joined\" (if it was not \
                     skipped)",
                ));
                None
            }
            None => {
                self.problem(wrong_type("`on`", "\"succeeded\", \"failed\" or \"finished\"", value));
                None
            }
        }
    }

    fn label(&mut self, value: Place<'_, '_>) -> Option<Label> {
        let text = self.text("`branch`", value)?;
        Label::new(&text)
            .map_err(|e| {
                self.problem(Problem::new("no branch is named so").at(value.span(), format!("it {}", e.problem)))
            })
            .ok()
    }
}
