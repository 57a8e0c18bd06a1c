//! The command of a node: a program with its arguments, or a text for the shell.

use std::ops::Range;

use toml::de::{DeArray, DeValue};

use super::{DraftCommand, NodeReader};
use crate::exec::Text;
use crate::flow::problem::Problem;
use crate::flow::read::{Place, wrong_type};

impl NodeReader<'_> {
    pub(super) fn command(&mut self, value: Place<'_, '_>, shell: bool) -> Option<DraftCommand> {
        let list_help = "write the program and its arguments as a list: exec = [\"program\", \"argument\"]";
        match (value.get_ref(), shell) {
            (DeValue::Array(items), false) => self.argv(items, value.span()),
            (DeValue::String(_), true) => {
                let script = self.text("`exec`", value)?;
                if script.trim().is_empty() {
                    self.problem(Problem::new("`exec` is empty").at(value.span(), "nothing to run"));
                    return None;
                }
                let argv = ["/bin/sh", "-c", &script].map(|text| Text::Literal(text.to_owned())).to_vec();
                Some(DraftCommand { argv, program_span: value.span() })
            }
            (DeValue::String(_), false) => {
                let problem = Problem::new("`exec` must be a list").at(value.span(), "this is a text");
                self.problem(problem.help(format!("{list_help}, or add `shell = true` to run it by /bin/sh")));
                None
            }
            (DeValue::Array(_), true) => {
                let problem =
                    Problem::new("with `shell = true`, `exec` must be a text").at(value.span(), "this is a list");
                self.problem(problem.help("write it as one text, or remove `shell = true`"));
                None
            }
            _ => {
                self.problem(wrong_type("`exec`", "a list of texts", value).help(list_help));
                None
            }
        }
    }

    fn argv(&mut self, items: &DeArray<'_>, span: Range<usize>) -> Option<DraftCommand> {
        let texts: Vec<Option<Text>> = items.iter().map(|item| self.open_text("each item of `exec`", item)).collect();
        let Some(first) = items.first() else {
            let problem = Problem::new("`exec` is empty").at(span, "nothing to run");
            self.problem(problem.help("name the program first: exec = [\"program\", \"argument\"]"));
            return None;
        };
        let argv: Vec<Text> = texts.into_iter().collect::<Option<_>>()?;
        let Some(Text::Literal(program)) = argv.first() else {
            let problem = Problem::new("the program must be written out").at(first.span(), "this is computed");
            self.problem(problem.help("only arguments can be computed: exec = [\"program\", { from = \"…\" }]"));
            return None;
        };
        if program.is_empty() {
            self.problem(Problem::new("the program has no name").at(first.span(), "this is empty"));
            return None;
        }
        Some(DraftCommand { argv, program_span: first.span() })
    }
}
