//! One `[node.NAME]` table: its fields and their shapes.

mod command;
mod does;
mod each;
mod edges;
mod held;
mod http;
mod retry;
mod text;
mod undo;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeTable;
use towpath::core::builtin::{Scope, Wait};
use towpath::core::defaults;
use towpath::expression::Expression;
use towpath::{Condition, Due, Label, RetryPolicy};

use super::problem::Problem;
use super::read::{Place, in_order, wrong_type};
use crate::exec::Text;

pub(crate) use each::Each;
#[cfg(test)]
pub(super) use each::FIELDS as EACH_FIELDS;
pub(super) use held::DraftFlow;
#[cfg(test)]
pub(super) use held::FIELDS as HELD_FIELDS;
#[cfg(test)]
pub(super) use http::FIELDS as HTTP_FIELDS;
pub(super) use http::{DraftHttp, METHODS};
pub(crate) use undo::FIELDS as UNDO_FIELDS;
pub(super) use undo::undo_name;

/// A node as read. What is missing was wrong, and said so.
#[derive(Debug)]
pub(super) struct DraftNode {
    pub(super) name: String,
    pub(super) span: Range<usize>,
    /// Which of the files it stands in.
    pub(super) source: usize,
    pub(super) does: Option<DraftDoes>,
    pub(super) dir: PathBuf,
    pub(super) dir_span: Option<Range<usize>>,
    pub(super) env: BTreeMap<String, Text>,
    pub(super) after: Vec<DraftEdge>,
    /// How many of those it waits for, if not for all, and where that stands.
    pub(super) at_least: Option<(u32, Range<usize>)>,
    /// Of an undo, the node that it guards.
    pub(super) guards: Option<String>,
    pub(super) guard: Option<String>,
    /// The list that it goes through, and where that stands.
    pub(super) each: Option<(Each, Range<usize>)>,
    pub(super) may_fail: bool,
    pub(super) delay: Option<Duration>,
    pub(super) queue: Option<(String, Range<usize>)>,
    pub(super) retry: RetryPolicy,
    pub(super) timeout: Option<Duration>,
    /// All expressions that stand anywhere in it.
    pub(super) expressions: Vec<(Expression, Range<usize>)>,
    /// Where those stand that are of the node and not of what it does: of its `if` and its `each`.
    pub(super) of_node: Vec<Range<usize>>,
    /// What they see besides what is above the node.
    pub(super) scope: Scope,
}

impl DraftNode {
    /// A node of which only the name is known.
    fn new(name: String, span: Range<usize>, folder: &Path) -> Self {
        Self {
            name,
            span,
            source: 0,
            does: None,
            dir: folder.to_owned(),
            dir_span: None,
            env: BTreeMap::new(),
            after: Vec::new(),
            at_least: None,
            guards: None,
            guard: None,
            each: None,
            may_fail: false,
            delay: None,
            queue: None,
            retry: RetryPolicy::attempts(defaults::FLOW_ATTEMPTS_MAX),
            timeout: None,
            expressions: Vec::new(),
            of_node: Vec::new(),
            scope: Scope::default(),
        }
    }

    /// Whether an expression that stands there sees the element of a list, and that alone.
    pub(super) fn is_of_element(&self, span: &Range<usize>) -> bool {
        let is_around = |other: &Range<usize>| other.start <= span.start && span.end <= other.end;
        self.each.is_some() && !self.of_node.iter().any(is_around)
    }

    /// How a problem calls it.
    pub(super) fn shown(&self) -> String {
        match &self.guards {
            Some(guarded) => format!("the undo of node `{guarded}`"),
            None => format!("node `{}`", self.name),
        }
    }
}

/// What a node does.
#[derive(Debug)]
pub(super) enum DraftDoes {
    /// Runs a command, or a text in the shell.
    Command(DraftCommand),
    /// Calls a server.
    Http(DraftHttp),
    /// Runs another flow.
    Flow(Box<DraftFlow>),
    /// Takes a branch.
    Branches(Vec<(Label, String)>),
    /// Waits for a signal.
    Signal(Wait),
    /// Waits.
    Timer(Due),
}

/// A command as read.
#[derive(Debug)]
pub(super) struct DraftCommand {
    pub(super) argv: Vec<Text>,
    /// Where the program stands.
    pub(super) program_span: Range<usize>,
}

/// An edge as read.
#[derive(Clone, Debug)]
pub(super) struct DraftEdge {
    pub(super) parent: String,
    pub(super) condition: Condition,
    pub(super) span: Range<usize>,
    /// Which of the files it stands in.
    pub(super) source: usize,
}

/// Reads one node.
pub(super) struct NodeReader<'a> {
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) folder: &'a Path,
    pub(super) expressions: Vec<(Expression, Range<usize>)>,
}

/// The fields of a node.
pub(crate) const FIELDS: [&str; 19] = [
    "exec", "shell", "env", "dir", "http", "flow", "branches", "signal", "timer", "each", "after", "at_least", "if",
    "may_fail", "delay", "queue", "retry", "timeout", "undo",
];
/// Those that say what it does, one of which it has.
pub(super) const DOES: [&str; 6] = ["exec", "http", "flow", "branches", "signal", "timer"];
/// Those that make sense of a command only.
const OF_COMMANDS: [&str; 3] = ["shell", "env", "dir"];
/// Those that make sense of work only.
const OF_WORK: [&str; 2] = ["retry", "timeout"];

impl NodeReader<'_> {
    /// The node, and its undo if it has one.
    pub(super) fn read(mut self, name: &str, span: Range<usize>, value: Place<'_, '_>) -> Vec<DraftNode> {
        let Some(table) = value.get_ref().as_table() else {
            let problem = wrong_type(&format!("node `{name}`"), "a table", value);
            self.problem(problem.help(format!("write `[node.{name}]` with the fields below it")));
            return Vec::new();
        };
        let mut node = DraftNode::new(name.to_owned(), span.clone(), self.folder);
        let undo = self.fill(&mut node, table, "a node", &FIELDS);
        if let (Some(DraftDoes::Timer(_)), Some(_)) = (&node.does, node.delay) {
            let problem = Problem::new(format!("node `{name}` has `timer` and `delay`")).at(span, "one wait is enough");
            self.problem(problem.help("keep `timer`"));
        }
        let undo = undo.and_then(|value| self.undo(&node, value));
        std::iter::once(node).chain(undo).collect()
    }

    /// Reads the fields of a node, or of another thing that has some of them. Answers where its `undo` stands.
    fn fill<'t, 'i>(
        &mut self,
        node: &mut DraftNode,
        table: &'t DeTable<'i>,
        what: &str,
        fields: &[&'static str],
    ) -> Option<Place<'t, 'i>> {
        let mut does: Vec<(&'static str, Place<'_, '_>)> = Vec::new();
        let (mut of_commands, mut of_work) = (Vec::new(), Vec::new());
        let (mut shell, mut undo) = (false, None);
        for (key, value) in in_order(table) {
            let field = key.get_ref().as_ref();
            if !fields.contains(&field) {
                self.unknown(field, key.span(), what, fields);
                continue;
            }
            does.extend(DOES.into_iter().find(|does| *does == field).map(|does| (does, value)));
            of_work.extend(OF_WORK.into_iter().chain(["queue"]).find(|of| *of == field).map(|of| (of, key.span())));
            of_commands.extend(OF_COMMANDS.into_iter().find(|of| *of == field).map(|of| (of, key.span())));
            match field {
                "shell" => shell = self.flag("`shell`", value),
                "env" => node.env = self.env(value),
                "dir" => {
                    if let Some(dir) = self.text("`dir`", value) {
                        node.dir = self.folder.join(dir);
                        node.dir_span = Some(value.span());
                    }
                }
                "after" => node.after = self.after(value),
                "at_least" => node.at_least = self.at_least(value),
                "if" => {
                    node.guard = self.guard("`if`", value);
                    node.of_node.push(value.span());
                }
                "each" => {
                    node.each = self.each(value);
                    node.of_node.push(value.span());
                }
                "may_fail" => node.may_fail = self.flag("`may_fail`", value),
                "delay" => node.delay = self.duration("`delay`", value),
                "queue" => node.queue = self.text("`queue`", value).map(|queue| (queue, value.span())),
                "retry" => node.retry = self.retry(value, node.retry),
                "timeout" => node.timeout = self.duration("`timeout`", value),
                "undo" => undo = Some(value),
                // What it does is read when all of its fields are known.
                _ => {}
            }
        }
        self.one_of(node, &does, of_commands, shell, fields);
        if let (Some((_, span)), Some(does)) = (&node.each, &node.does)
            && !matches!(does, DraftDoes::Command(_) | DraftDoes::Http(_) | DraftDoes::Flow(_))
        {
            let problem = Problem::new("`each` is for a node with `exec`, `http` or `flow`").at(span.clone(), "here");
            self.problem(problem.help("remove it"));
        }
        self.only_of_work(node, of_work);
        if let (Some((_, span)), Some(_)) = (&node.at_least, &node.guard) {
            let problem = Problem::new(format!("{} has `if` and `at_least`", node.shown())).at(span.clone(), "here");
            self.problem(problem.help("put the expression into a node with `branches` after it"));
        }
        node.expressions = std::mem::take(&mut self.expressions);
        undo
    }

    /// What only a node that works itself may have.
    fn only_of_work(&mut self, node: &DraftNode, fields: Vec<(&'static str, Range<usize>)>) {
        let help = match &node.does {
            None | Some(DraftDoes::Command(_) | DraftDoes::Http(_)) => return,
            Some(DraftDoes::Flow(_)) => "give it to the nodes of its flow",
            Some(DraftDoes::Signal(_)) => {
                "remove it; how long it waits is written signal = { name = \"…\", timeout = \"2d\" }"
            }
            Some(_) => "remove it",
        };
        let is_flow = matches!(node.does, Some(DraftDoes::Flow(_)));
        for (field, span) in fields.into_iter().filter(|(field, _)| is_flow || *field != "queue") {
            let problem = Problem::new(format!("`{field}` is for a node with `exec` or `http`")).at(span, "here");
            self.problem(problem.help(help));
        }
    }

    /// A node does one thing.
    fn one_of(
        &mut self,
        node: &mut DraftNode,
        does: &[(&'static str, Place<'_, '_>)],
        of_commands: Vec<(&'static str, Range<usize>)>,
        shell: bool,
        fields: &[&'static str],
    ) {
        match does {
            [(what, value)] => {
                node.does = self.does(what, value, shell);
                for (field, span) in of_commands.into_iter().filter(|_| *what != "exec") {
                    let problem = Problem::new(format!("`{field}` is for a node with `exec`")).at(span, "here");
                    self.problem(problem.help("remove it"));
                }
            }
            [] => {
                let problem = Problem::new(format!("{} has no `exec`", node.shown()));
                let others: Vec<String> =
                    DOES[1..].iter().filter(|does| fields.contains(does)).map(|does| format!("`{does}`")).collect();
                let others = match others.as_slice() {
                    [one] => one.clone(),
                    [first @ .., last] => format!("one of {} and {last}", first.join(", ")),
                    [] => String::new(),
                };
                let help = format!("add `exec = [\"program\", \"argument\"]`, or {others}");
                self.problem(problem.at(node.span.clone(), "what should it start?").help(help));
            }
            several => self.several(&node.shown(), several),
        }
    }

    fn several(&mut self, shown: &str, several: &[(&'static str, Place<'_, '_>)]) {
        let names: Vec<String> = several.iter().map(|(what, _)| format!("`{what}`")).collect();
        let mut problem = Problem::new(format!("{shown} has {}", names.join(" and ")));
        for (_, value) in several {
            problem = problem.at(value.span(), "here");
        }
        self.problem(problem.help("keep one of them: a node does one thing"));
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn unknown(&mut self, name: &str, span: Range<usize>, of: &str, fields: &[&'static str]) {
        let problem = Problem::new(format!("unknown field `{name}`")).at(span, format!("{of} has no such field"));
        let all = format!("the fields are {}", fields.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", "));
        self.problem(problem.did_you_mean(name, fields.iter().copied(), &all));
    }

    fn flag(&mut self, what: &str, value: Place<'_, '_>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.problem(wrong_type(what, "true or false", value));
            false
        })
    }
}
