//! What a node does besides running a command: gates, waits, timers.

use std::collections::BTreeMap;

use toml::de::DeValue;
use towpath::core::builtin::Wait;
use towpath::core::{builtin, limits};
use towpath::{Due, Label, Timestamp};

use super::{DraftDoes, NodeReader};
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

impl NodeReader<'_> {
    pub(super) fn does(&mut self, what: &str, value: Place<'_, '_>, shell: bool) -> Option<DraftDoes> {
        match what {
            "http" => self.http(value).map(DraftDoes::Http),
            "flow" => self.flow(value).map(|flow| DraftDoes::Flow(Box::new(flow))),
            "branches" => self.branches(value).map(DraftDoes::Branches),
            "signal" => self.signal(value).map(DraftDoes::Signal),
            "timer" => self.timer(value).map(DraftDoes::Timer),
            _ => self.command(value, shell).map(DraftDoes::Command),
        }
    }

    fn branches(&mut self, value: Place<'_, '_>) -> Option<Vec<(Label, String)>> {
        let help = "write branches = { small = \"outputs.count < 10\", large = \"true\" }";
        let Some(table) = value.get_ref().as_table() else {
            self.problem(wrong_type("`branches`", "a table of labels and expressions", value).help(help));
            return None;
        };
        let (count, max) = (table.len(), limits::BRANCHES_MAX);
        if count == 0 || count > max {
            let problem = Problem::new(format!("a gate has 1 to {max} branches, not {count}"));
            self.problem(problem.at(value.span(), "here").help(help));
        }
        let mut branches = Vec::new();
        for (key, value) in in_order(table) {
            let when = self.expression(&format!("the branch `{}`", key.get_ref()), value);
            match Label::new(key.get_ref()) {
                // One whose expression is wrong is there all the same for who waits for it.
                Ok(label) => branches.push((label, when.unwrap_or_default())),
                Err(e) => {
                    let problem = Problem::new("a branch cannot be named so");
                    self.problem(problem.at(key.span(), format!("it {}", e.problem)));
                }
            }
        }
        Some(branches)
    }

    /// `"approved"`, or `{ name = "approved", timeout = "2d" }`.
    fn signal(&mut self, value: Place<'_, '_>) -> Option<Wait> {
        if value.get_ref().is_str() {
            return Some(Wait { signal: self.signal_name(value)?, timeout_us: None });
        }
        let help = "write signal = \"approved\", or signal = { name = \"approved\", timeout = \"2d\" }";
        let Some(table) = value.get_ref().as_table() else {
            self.problem(wrong_type("`signal`", "a name or a table", value).help(help));
            return None;
        };
        let (mut name, mut timeout, mut is_there) = (None, None, false);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "name" => {
                    is_there = true;
                    name = self.signal_name(value);
                }
                "timeout" => timeout = self.duration("`timeout`", value),
                other => self.unknown(other, key.span(), "`signal`", &["name", "timeout"]),
            }
        }
        if !is_there {
            self.problem(Problem::new("`signal` has no `name`").at(value.span(), "which signal?").help(help));
        }
        Some(Wait { signal: name?, timeout_us: timeout.map(builtin::limit_us) })
    }

    fn signal_name(&mut self, value: Place<'_, '_>) -> Option<Label> {
        let text = self.text("the name of a signal", value)?;
        Label::new(&text)
            .map_err(|e| {
                let problem = Problem::new("a signal cannot be named so");
                self.problem(problem.at(value.span(), format!("it {}", e.problem)));
            })
            .ok()
    }

    /// `"10m"`, counted from when its parents have ended, or `{ at = 2030-01-31T09:30:00Z }`.
    fn timer(&mut self, value: Place<'_, '_>) -> Option<Due> {
        let Some(table) = value.get_ref().as_table() else {
            return self.duration("`timer`", value).map(Due::After);
        };
        let (mut at, mut is_there) = (None, false);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "at" => {
                    is_there = true;
                    at = self.instant(value);
                }
                other => self.unknown(other, key.span(), "`timer`", &["at"]),
            }
        }
        if !is_there {
            let problem = Problem::new("`timer` has no `at`").at(value.span(), "until when?");
            self.problem(problem.help("write timer = \"10m\", or timer = { at = 2030-01-31T09:30:00Z }"));
        }
        at.map(Due::At)
    }

    fn instant(&mut self, value: Place<'_, '_>) -> Option<Timestamp> {
        let text = match value.get_ref() {
            DeValue::Datetime(at) => at.to_string(),
            DeValue::String(text) => text.to_string(),
            _ => String::new(),
        };
        match text.parse::<jiff::Timestamp>() {
            Ok(at) => Some(Timestamp::from_micros(at.as_microsecond())),
            Err(_) => {
                let problem = Problem::new("`at` is no instant").at(value.span(), "with a date, a time and a zone");
                self.problem(problem.help("write at = 2030-01-31T09:30:00Z, or with +02:00 in place of Z"));
                None
            }
        }
    }
}

/// Texts by name, as headers are.
pub(super) type ByName<T> = BTreeMap<String, T>;
