//! `each`: the list whose elements a node goes through.

use std::ops::Range;

use towpath::core::builtin::{self, OnFailure};
use towpath::core::defaults;

use super::NodeReader;
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

/// The list, and how it is gone through.
#[derive(Clone, Debug)]
pub(crate) struct Each {
    /// The expression whose value is the list.
    pub(crate) over: String,
    /// How many elements are at work at once.
    pub(crate) concurrency: u32,
    /// What the failure of an element means.
    pub(crate) on_failure: OnFailure,
}

/// The fields of `each`.
pub(crate) const FIELDS: [&str; 3] = ["over", "concurrency", "on_failure"];

impl NodeReader<'_> {
    /// `"outputs.list"`, or `{ over = "outputs.list", concurrency = 4, on_failure = "collect" }`.
    pub(super) fn each(&mut self, value: Place<'_, '_>) -> Option<(Each, Range<usize>)> {
        let (concurrency, on_failure) = (defaults::MAP_CONCURRENCY, OnFailure::Fail);
        if value.get_ref().is_str() {
            let over = self.expression("`each`", value)?;
            return Some((Each { over, concurrency, on_failure }, value.span()));
        }
        let help = "write each = \"outputs.list\", or each = { over = \"outputs.list\", concurrency = 4 }";
        let Some(table) = value.get_ref().as_table() else {
            self.problem(wrong_type("`each`", "an expression or a table", value).help(help));
            return None;
        };
        let mut each = Each { over: String::new(), concurrency, on_failure };
        let (mut over, mut is_there) = (None, false);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "over" => {
                    is_there = true;
                    over = self.expression("`over`", value);
                }
                "concurrency" => each.concurrency = self.concurrency(value).unwrap_or(concurrency),
                "on_failure" => each.on_failure = self.on_failure(value).unwrap_or(on_failure),
                other => self.unknown(other, key.span(), "`each`", &FIELDS),
            }
        }
        if !is_there {
            self.problem(Problem::new("`each` has no `over`").at(value.span(), "each of what?").help(help));
        }
        Some((Each { over: over?, ..each }, value.span()))
    }

    fn concurrency(&mut self, value: Place<'_, '_>) -> Option<u32> {
        let number = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u32>().ok());
        let problem = match number.map(|number| (number, builtin::check_concurrency(number))) {
            Some((number, Ok(()))) => return Some(number),
            Some((_, Err(problem))) => Problem::new(problem).at(value.span(), "here"),
            None => wrong_type("`concurrency`", "a number of elements", value),
        };
        self.problem(problem.help("write concurrency = 4"));
        None
    }

    fn on_failure(&mut self, value: Place<'_, '_>) -> Option<OnFailure> {
        match value.get_ref().as_str() {
            Some("fail") => Some(OnFailure::Fail),
            Some("collect") => Some(OnFailure::Collect),
            Some(other) => {
                let problem = Problem::new(format!("`on_failure` cannot be {other:?}")).at(value.span(), "no such way");
                self.problem(problem.did_you_mean(
                    other,
                    ["fail", "collect"].into_iter(),
                    "use \"fail\" (the default: the node fails with its first element) or \"collect\" (it goes through all)",
                ));
                None
            }
            None => {
                self.problem(wrong_type("`on_failure`", "\"fail\" or \"collect\"", value));
                None
            }
        }
    }
}
