//! How often a node is tried, and durations.

use std::ops::Range;
use std::time::Duration;

use toml::de::{DeTable, DeValue};
use towpath::RetryPolicy;
use towpath::core::{GraphRetry, defaults, duration, micros};

use super::NodeReader;
use crate::flow::problem::Problem;
use crate::flow::read::{Place, in_order, wrong_type};

impl NodeReader<'_> {
    pub(super) fn duration(&mut self, what: &str, value: Place<'_, '_>) -> Option<Duration> {
        let Some(text) = value.get_ref().as_str() else {
            let help = value.get_ref().as_integer().map(|n| duration::help(n.as_str())).unwrap_or(duration::help(""));
            self.problem(wrong_type(what, "a duration", value).help(help));
            return None;
        };
        duration::parse(text)
            .map_err(|why| {
                let problem = Problem::new(format!("{what} is no duration")).at(value.span(), why);
                self.problem(problem.help(duration::help(text)));
            })
            .ok()
    }

    /// How often it is tried; as it was if that is wrong.
    pub(super) fn retry(&mut self, value: Place<'_, '_>, otherwise: RetryPolicy) -> RetryPolicy {
        match value.get_ref() {
            DeValue::Integer(_) => self.attempts("`retry`", value).map_or(otherwise, RetryPolicy::attempts),
            DeValue::Table(table) => self.retry_table(table, value.span()).unwrap_or(otherwise),
            _ => {
                let problem = wrong_type("`retry`", "a number of attempts or a table", value);
                self.problem(
                    problem.help("write retry = 3, or retry = { attempts = 3, backoff = \"1s\", cap = \"1m\" }"),
                );
                otherwise
            }
        }
    }

    /// How often the flow itself is tried: `3`, or `{ attempts = 3, delay = "1m" }`.
    pub(in crate::flow) fn retry_of_flow(&mut self, value: Place<'_, '_>) -> Option<GraphRetry> {
        let of = |attempts: u32, delay: Duration| GraphRetry::new(attempts, delay);
        let table = match value.get_ref() {
            DeValue::Integer(_) => {
                return self.attempts("`retry`", value).map(|n| of(n, defaults::GRAPH_RETRY_DELAY));
            }
            DeValue::Table(table) => table,
            _ => {
                let problem = wrong_type("`retry` of a flow", "a number of attempts or a table", value);
                self.problem(problem.help("write retry = 3, or retry = { attempts = 3, delay = \"1m\" }"));
                return None;
            }
        };
        let (mut attempts, mut delay, mut is_there) = (None, Some(defaults::GRAPH_RETRY_DELAY), false);
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "attempts" => {
                    is_there = true;
                    attempts = self.attempts("`attempts`", value);
                }
                "delay" => delay = self.duration("`delay`", value),
                other => self.unknown(other, key.span(), "`retry` of a flow", &["attempts", "delay"]),
            }
        }
        if !is_there {
            let problem = Problem::new("`retry` has no `attempts`").at(value.span(), "how often may it be tried?");
            self.problem(problem.help("add `attempts = 3`"));
        }
        Some(of(attempts?, delay?))
    }

    fn retry_table(&mut self, table: &DeTable<'_>, span: Range<usize>) -> Option<RetryPolicy> {
        let mut attempts = None;
        let mut backoff = None;
        let mut cap = None;
        let mut is_there = false;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "attempts" => {
                    is_there = true;
                    attempts = self.attempts("`attempts`", value);
                }
                "backoff" => backoff = self.duration("`backoff`", value).map(|d| (d, value.span())),
                "cap" => cap = self.duration("`cap`", value).map(|d| (d, value.span())),
                other => self.unknown(other, key.span(), "`retry`", &["attempts", "backoff", "cap"]),
            }
        }
        if !is_there {
            let problem = Problem::new("`retry` has no `attempts`").at(span, "how often may it be tried?");
            self.problem(problem.help("add `attempts = 3`"));
        }
        let mut policy = RetryPolicy::attempts(attempts?);
        let micros = |d: Duration| u64::try_from(micros(d)).unwrap_or(u64::MAX);
        if let Some((backoff, _)) = &backoff {
            policy.base_us = micros(*backoff);
            policy.cap_us = policy.cap_us.max(policy.base_us);
        }
        if let Some((cap, span)) = cap {
            policy.cap_us = micros(cap);
            if policy.cap_us < policy.base_us {
                let problem = Problem::new("`cap` is shorter than `backoff`").at(span, "the longest wait");
                let problem = match backoff {
                    Some((_, span)) => problem.at(span, "the first wait"),
                    None => problem.help("the first wait is 1s unless `backoff` says otherwise"),
                };
                self.problem(problem);
            }
        }
        Some(policy)
    }

    fn attempts(&mut self, what: &str, value: Place<'_, '_>) -> Option<u32> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i128::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok(),
            _ => {
                self.problem(wrong_type(what, "a whole number", value));
                return None;
            }
        };
        let attempts = number.and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=ATTEMPTS_MAX).contains(n));
        if attempts.is_none() {
            let label = format!("use 1 to {ATTEMPTS_MAX}");
            self.problem(Problem::new(format!("{what} is out of range")).at(value.span(), label));
        }
        attempts
    }
}

/// More is a typing error; the back-off makes a thousand attempts last for months.
const ATTEMPTS_MAX: u32 = 1_000;
