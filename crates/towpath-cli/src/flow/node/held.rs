//! A node that runs another flow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;
use toml::de::DeTable;
use towpath::core::builtin::Given;

use super::NodeReader;
use crate::flow::params;
use crate::flow::problem::Problem;
use crate::flow::read::{Drafts, Place, in_order, wrong_type};

/// The flow of a node, as read.
#[derive(Debug)]
pub(in crate::flow) struct DraftFlow {
    pub(in crate::flow) file: PathBuf,
    pub(in crate::flow) file_span: Range<usize>,
    /// Parameters that are written out.
    pub(in crate::flow) params: serde_json::Map<String, Value>,
    /// Those that are computed when it is started: their expressions.
    pub(in crate::flow) from: BTreeMap<String, String>,
    /// The same, once it is known of what type each must be.
    pub(in crate::flow) given: BTreeMap<String, Given>,
    /// What the file says, once it was read.
    pub(in crate::flow) drafts: Option<Drafts>,
}

/// The fields of `flow`.
pub(crate) const FIELDS: [&str; 2] = ["file", "params"];

impl NodeReader<'_> {
    /// `"part.toml"`, or `{ file = "part.toml", params = { name = "value" } }`.
    pub(super) fn flow(&mut self, value: Place<'_, '_>) -> Option<DraftFlow> {
        let help = "write flow = \"part.toml\", or flow = { file = \"part.toml\", params = { name = \"value\" } }";
        let (mut file, mut is_there) = (None, false);
        let (mut params, mut from) = (serde_json::Map::new(), BTreeMap::new());
        if value.get_ref().is_str() {
            (file, is_there) = (self.text("`flow`", value).map(|file| (file, value.span())), true);
        } else if let Some(table) = value.get_ref().as_table() {
            for (key, value) in in_order(table) {
                match key.get_ref().as_ref() {
                    "file" => {
                        is_there = true;
                        file = self.text("`file`", value).map(|file| (file, value.span()));
                    }
                    "params" => match value.get_ref().as_table() {
                        Some(table) => (params, from) = self.params(table),
                        None => self.problem(wrong_type("`params`", "a table", value)),
                    },
                    other => self.unknown(other, key.span(), "`flow`", &FIELDS),
                }
            }
        } else {
            self.problem(wrong_type("`flow`", "a path or a table", value).help(help));
            return None;
        }
        if !is_there {
            self.problem(Problem::new("`flow` has no `file`").at(value.span(), "which flow?").help(help));
        }
        let (file, file_span) = file?;
        let file = self.folder.join(file);
        Some(DraftFlow { file, file_span, params, from, given: BTreeMap::new(), drafts: None })
    }

    /// The parameters that are written out, and those that are computed.
    fn params(&mut self, table: &DeTable<'_>) -> (serde_json::Map<String, Value>, BTreeMap<String, String>) {
        let (mut written, mut from) = (serde_json::Map::new(), BTreeMap::new());
        for (key, value) in in_order(table) {
            let name = key.get_ref().to_string();
            let only = value.get_ref().as_table().map(in_order).filter(|entries| entries.len() == 1);
            match only.as_deref() {
                Some([(key, inner)]) if key.get_ref() == "from" => {
                    from.extend(self.expression("`from`", inner).map(|text| (name, text)));
                }
                Some([(key, _)]) if key.get_ref() == "secret" => {
                    // Without its place: it may be written out there.
                    let problem =
                        Problem::new(format!("the parameter `{name}` cannot be a secret: it would be stored"));
                    self.problem(problem.help(
                        "let the flow name where it is, in its `env`, `headers` or `body`: { secret = { env = \"NAME\" } }",
                    ));
                }
                _ => match params::json(value.get_ref()) {
                    Some(json) => drop(written.insert(name, json)),
                    None => {
                        let problem =
                            Problem::new(format!("the parameter `{name}` holds a number that has no JSON form"));
                        self.problem(problem.at(value.span(), "here"));
                    }
                },
            }
        }
        (written, from)
    }
}
