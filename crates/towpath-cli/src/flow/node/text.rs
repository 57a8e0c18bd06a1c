//! Texts that are written out, computed from what is above, or secret; and expressions.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use towpath::expression::{Expression, Facts};

use super::NodeReader;
use crate::exec::{Secret, Text};
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

impl NodeReader<'_> {
    /// A text that can be handed to a process: without NUL.
    pub(super) fn text(&mut self, what: &str, value: Place<'_, '_>) -> Option<String> {
        match value.get_ref().as_str() {
            None => {
                self.problem(wrong_type(what, "a text", value));
                None
            }
            Some(text) if text.contains('\0') => {
                let problem = Problem::new(format!("{what} holds a NUL character")).at(value.span(), "here");
                self.problem(problem.help("no process can be given one: remove it"));
                None
            }
            Some(text) => Some(text.to_owned()),
        }
    }

    /// A text, or `{ from = "expression" }`.
    pub(super) fn open_text(&mut self, what: &str, value: Place<'_, '_>) -> Option<Text> {
        match self.text_or(what, value, OPEN)? {
            Text::Secret { .. } => {
                let problem =
                    Problem::new(format!("{what} cannot be a secret")).at(value.span(), "others would see it");
                self.problem(problem.help("give it to the command in `env`, or in `headers` or `body` of a call"));
                None
            }
            text => Some(text),
        }
    }

    /// A text, `{ from = "expression" }`, or `{ secret = { env = "NAME" } }`.
    pub(super) fn any_text(&mut self, what: &str, value: Place<'_, '_>) -> Option<Text> {
        self.text_or(what, value, ANY)
    }

    fn text_or(&mut self, what: &str, value: Place<'_, '_>, forms: Forms) -> Option<Text> {
        match value.get_ref() {
            DeValue::Table(table) => self.table_text(what, table, value, forms),
            DeValue::String(_) => self.text(what, value).map(Text::Literal),
            _ => {
                self.problem(wrong_type(what, forms.want, value));
                None
            }
        }
    }

    fn table_text(&mut self, what: &str, table: &DeTable<'_>, value: Place<'_, '_>, forms: Forms) -> Option<Text> {
        let entries = in_order(table);
        let [(key, inner)] = entries.as_slice() else {
            let problem =
                Problem::new(format!("{what} has {} fields", entries.len())).at(value.span(), "one is wanted");
            self.problem(problem.help(format!("write {}", forms.write)));
            return None;
        };
        match key.get_ref().as_ref() {
            "from" => self.expression("`from`", inner).map(|from| Text::From { from }),
            "secret" => self.secret(inner).map(|secret| Text::Secret { secret }),
            other => {
                self.unknown(other, key.span(), what, forms.fields);
                None
            }
        }
    }

    fn secret(&mut self, value: Place<'_, '_>) -> Option<Secret> {
        let help = "write secret = { env = \"NAME\" } or secret = { file = \"PATH\" }";
        let Some(table) = value.get_ref().as_table() else {
            // Without its place: that would show it.
            let problem = Problem::new("a `secret` stands in the file: write where it is, not the secret itself");
            self.problem(problem.help(help));
            return None;
        };
        let entries = in_order(table);
        let [(key, inner)] = entries.as_slice() else {
            self.problem(Problem::new("`secret` names one place").at(value.span(), "here").help(help));
            return None;
        };
        match key.get_ref().as_ref() {
            "env" => self.text("`env`", inner).map(Secret::Env),
            "file" => {
                let file = self.folder.join(self.text("`file`", inner)?);
                Some(Secret::File(file.to_string_lossy().into_owned()))
            }
            other => {
                self.unknown(other, key.span(), "`secret`", &["env", "file"]);
                None
            }
        }
    }

    /// An expression that can be read. Whether what it names is there is looked at when all nodes are known.
    pub(super) fn expression(&mut self, what: &str, value: Place<'_, '_>) -> Option<String> {
        let Some(text) = value.get_ref().as_str() else {
            self.problem(wrong_type(what, "an expression in a text", value));
            return None;
        };
        match Expression::parse(text) {
            Ok(expression) => {
                self.expressions.push((expression, value.span()));
                Some(text.to_owned())
            }
            Err(e) => {
                let problem = Problem::new(format!("{what} is no expression")).at(value.span(), e.problem);
                self.problem(problem.help("expressions are in CEL, such as outputs.build.files > 3"));
                None
            }
        }
    }

    /// An expression that is to be true or false; one that reads nothing is known already.
    pub(super) fn guard(&mut self, what: &str, value: Place<'_, '_>) -> Option<String> {
        let text = self.expression(what, value)?;
        let (expression, _) = self.expressions.last()?;
        let uses = expression.uses();
        if uses.nodes.is_empty()
            && uses.params.is_empty()
            && let Ok(always) = expression.evaluate(&Facts::default())
            && !always.is_boolean()
        {
            let problem = Problem::new(format!("{what} is no condition"));
            let problem = problem.at(value.span(), format!("it is neither true nor false, but {always}"));
            self.problem(problem.help("compare it with something, such as outputs.build.files > 3"));
            return None;
        }
        Some(text)
    }

    pub(super) fn env(&mut self, value: Place<'_, '_>) -> BTreeMap<String, Text> {
        let mut env = BTreeMap::new();
        let Some(table) = value.get_ref().as_table() else {
            self.problem(wrong_type("`env`", "a table", value).help("write env = { NAME = \"value\" }"));
            return env;
        };
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            if name.is_empty() || name.contains(['=', '\0']) {
                let problem = Problem::new("a variable cannot be named so").at(key.span(), "empty, or with `=` or NUL");
                self.problem(problem);
            } else if name.starts_with("TOWPATH_") {
                let problem =
                    Problem::new(format!("the variable `{name}` is towpath's own")).at(key.span(), "reserved");
                self.problem(problem.help("choose a name that does not begin with TOWPATH_"));
            } else if let Some(text) = self.any_text(&format!("the variable `{name}`"), value) {
                env.insert(name.to_owned(), text);
            }
        }
        env
    }
}

/// In which forms a text may be written, as problems say it.
#[derive(Clone, Copy)]
struct Forms {
    want: &'static str,
    write: &'static str,
    fields: &'static [&'static str],
}

const ANY: Forms = Forms {
    want: "a text, `{ from = \"expression\" }` or `{ secret = { env = \"NAME\" } }`",
    write: "{ from = \"expression\" } or { secret = { env = \"NAME\" } }",
    fields: &["from", "secret"],
};
/// Where others see it.
const OPEN: Forms =
    Forms { want: "a text or `{ from = \"expression\" }`", write: "{ from = \"expression\" }", fields: &["from"] };
