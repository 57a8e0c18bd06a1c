//! One `[node.NAME]` table: its fields and their shapes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::{DeArray, DeTable, DeValue};
use towpath::core::{defaults, duration, micros};
use towpath::{Condition, RetryPolicy};

use super::problem::Problem;
use super::read::{Place, in_order, wrong_type};

/// A node as read. What is missing was wrong, and said so.
#[derive(Debug)]
pub(super) struct DraftNode {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    /// What to start: a command, or a text for the shell.
    pub(super) command: Option<DraftCommand>,
    pub(super) dir: PathBuf,
    pub(super) dir_span: Option<Range<usize>>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) after: Vec<DraftEdge>,
    pub(super) retry: RetryPolicy,
    pub(super) timeout: Option<Duration>,
}

/// A command as read.
#[derive(Debug)]
pub(super) struct DraftCommand {
    pub(super) argv: Vec<String>,
    /// Where the program stands.
    pub(super) program_span: Range<usize>,
}

/// An edge as read.
#[derive(Debug)]
pub(super) struct DraftEdge {
    pub(super) parent: String,
    pub(super) condition: Condition,
    pub(super) span: Range<usize>,
}

/// Reads one node.
pub(super) struct NodeReader<'a> {
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) folder: &'a Path,
}

const FIELDS: [&str; 7] = ["exec", "shell", "env", "dir", "after", "retry", "timeout"];

impl NodeReader<'_> {
    pub(super) fn read(mut self, name: &str, span: Range<usize>, value: Place<'_, '_>) -> Option<DraftNode> {
        let Some(table) = value.get_ref().as_table() else {
            let problem = wrong_type(&format!("node `{name}`"), "a table", value);
            self.problem(problem.help(format!("write `[node.{name}]` with the fields below it")));
            return None;
        };
        let mut node = DraftNode {
            name: name.to_owned(),
            span: span.clone(),
            command: None,
            dir: self.folder.to_owned(),
            dir_span: None,
            env: BTreeMap::new(),
            after: Vec::new(),
            retry: RetryPolicy::attempts(defaults::FLOW_ATTEMPTS_MAX),
            timeout: None,
        };
        let mut exec = None;
        let mut shell = false;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "exec" => exec = Some(value),
                "shell" => shell = self.shell(value),
                "env" => node.env = self.env(value),
                "dir" => {
                    if let Some(dir) = self.text("`dir`", value) {
                        node.dir = self.folder.join(dir);
                        node.dir_span = Some(value.span());
                    }
                }
                "after" => node.after = self.after(value),
                "retry" => node.retry = self.retry(value),
                "timeout" => node.timeout = self.duration("`timeout`", value),
                other => self.unknown(other, key.span(), "a node", &FIELDS),
            }
        }
        match exec {
            Some(value) => node.command = self.command(value, shell),
            None => {
                let problem = Problem::new(format!("node `{name}` has no `exec`")).at(span, "what should it start?");
                self.problem(problem.help("add `exec = [\"program\", \"argument\"]`"));
            }
        }
        Some(node)
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn unknown(&mut self, name: &str, span: Range<usize>, of: &str, fields: &[&'static str]) {
        let problem = Problem::new(format!("unknown field `{name}`")).at(span, format!("{of} has no such field"));
        let all = format!("the fields are {}", fields.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", "));
        self.problem(problem.did_you_mean(name, fields.iter().copied(), &all));
    }

    /// A text that can be handed to a process: without NUL.
    fn text(&mut self, what: &str, value: Place<'_, '_>) -> Option<String> {
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

    fn shell(&mut self, value: Place<'_, '_>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.problem(wrong_type("`shell`", "true or false", value));
            false
        })
    }

    fn command(&mut self, value: Place<'_, '_>, shell: bool) -> Option<DraftCommand> {
        let list_help = "write the program and its arguments as a list: exec = [\"program\", \"argument\"]";
        match (value.get_ref(), shell) {
            (DeValue::Array(items), false) => self.argv(items, value.span()),
            (DeValue::String(_), true) => {
                let script = self.text("`exec`", value)?;
                if script.trim().is_empty() {
                    self.problem(Problem::new("`exec` is empty").at(value.span(), "nothing to run"));
                    return None;
                }
                let argv = vec!["/bin/sh".to_owned(), "-c".to_owned(), script];
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
        let texts: Vec<Option<String>> = items.iter().map(|item| self.text("each item of `exec`", item)).collect();
        let Some(first) = items.first() else {
            let problem = Problem::new("`exec` is empty").at(span, "nothing to run");
            self.problem(problem.help("name the program first: exec = [\"program\", \"argument\"]"));
            return None;
        };
        let argv: Vec<String> = texts.into_iter().collect::<Option<_>>()?;
        if argv.first().is_some_and(String::is_empty) {
            self.problem(Problem::new("the program has no name").at(first.span(), "this is empty"));
            return None;
        }
        Some(DraftCommand { argv, program_span: first.span() })
    }

    fn env(&mut self, value: Place<'_, '_>) -> BTreeMap<String, String> {
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
            } else if let Some(text) = self.text(&format!("the variable `{name}`"), value) {
                env.insert(name.to_owned(), text);
            }
        }
        env
    }

    fn duration(&mut self, what: &str, value: Place<'_, '_>) -> Option<Duration> {
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

    fn retry(&mut self, value: Place<'_, '_>) -> RetryPolicy {
        let never = RetryPolicy::attempts(defaults::FLOW_ATTEMPTS_MAX);
        match value.get_ref() {
            DeValue::Integer(_) => self.attempts("`retry`", value).map_or(never, RetryPolicy::attempts),
            DeValue::Table(table) => self.retry_table(table, value.span()).unwrap_or(never),
            _ => {
                let problem = wrong_type("`retry`", "a number of attempts or a table", value);
                self.problem(
                    problem.help("write retry = 3, or retry = { attempts = 3, backoff = \"1s\", cap = \"1m\" }"),
                );
                never
            }
        }
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

    fn after(&mut self, value: Place<'_, '_>) -> Vec<DraftEdge> {
        match value.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(|item| self.edge(item)).collect(),
            _ => {
                let problem = wrong_type("`after`", "a list of nodes", value);
                self.problem(problem.help("write after = [\"a\", { node = \"b\", on = \"finished\" }]"));
                Vec::new()
            }
        }
    }

    fn edge(&mut self, value: Place<'_, '_>) -> Option<DraftEdge> {
        match value.get_ref() {
            DeValue::String(parent) => Some(DraftEdge {
                parent: parent.as_ref().to_owned(),
                condition: Condition::Succeeded,
                span: value.span(),
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
        let mut is_there = false;
        for (key, value) in in_order(table) {
            match key.get_ref().as_ref() {
                "node" => {
                    is_there = true;
                    parent = self.text("`node`", value).map(|name| (name, value.span()));
                }
                "on" => condition = self.condition(value),
                other => self.unknown(other, key.span(), "an item of `after`", &["node", "on"]),
            }
        }
        if !is_there {
            self.problem(Problem::new("an item of `after` names no node").at(span, "add `node = \"…\"`"));
        }
        let (parent, span) = parent?;
        Some(DraftEdge { parent, condition: condition?, span })
    }

    fn condition(&mut self, value: Place<'_, '_>) -> Option<Condition> {
        let ends = ["succeeded", "failed", "finished"];
        match value.get_ref().as_str() {
            Some("succeeded") => Some(Condition::Succeeded),
            Some("failed") => Some(Condition::Failed),
            Some("finished") => Some(Condition::Finished),
            Some(other) => {
                let problem = Problem::new(format!("`on` cannot be {other:?}")).at(value.span(), "no such end");
                self.problem(problem.did_you_mean(
                    other,
                    ends.into_iter(),
                    "use \"succeeded\" (the default), \"failed\" or \"finished\" (however it ends)",
                ));
                None
            }
            None => {
                self.problem(wrong_type("`on`", "\"succeeded\", \"failed\" or \"finished\"", value));
                None
            }
        }
    }
}

/// More is a typing error; the back-off makes a thousand attempts last for months.
const ATTEMPTS_MAX: u32 = 1_000;
