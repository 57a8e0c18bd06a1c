//! From text to drafts: the shape of the file. What the nodes mean to each other is checked later.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use towpath::GraphName;
use towpath::core::GraphRetry;

use super::include::{self, DraftInclude};
use super::node::{DraftNode, NodeReader};
use super::params::{self, Param};
use super::problem::Problem;

/// A file as read, with what was wrong so far.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub(super) name: Option<GraphName>,
    pub(super) fail_fast: bool,
    pub(super) retry: Option<GraphRetry>,
    pub(super) queues: BTreeMap<String, u16>,
    pub(super) params: Vec<Param>,
    pub(super) includes: Vec<DraftInclude>,
    pub(super) nodes: Vec<DraftNode>,
    pub(super) problems: Vec<Problem>,
}

/// The fields of a flow.
pub(crate) const FIELDS: [&str; 7] = ["name", "fail_fast", "retry", "params", "queues", "include", "node"];

/// A value and where it stands.
pub(super) type Place<'a, 'i> = &'a Spanned<DeValue<'i>>;

/// Reads the text. `default_name` is for a flow that does not name itself.
///
/// # Errors
/// The text is not TOML: nothing more can be said about it.
pub(super) fn read(text: &str, default_name: &str, folder: &Path) -> Result<Drafts, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    // A key that stands twice leaves the rest readable; after other errors the rest may mean anything.
    let readable = errors.iter().all(is_duplicate);
    // What follows an array or a text that is not closed is read as a part of it.
    let last = match errors.iter().any(|e| e.message().starts_with("unclosed")) {
        true => errors.iter().position(|e| !is_duplicate(e)).unwrap_or_default(),
        false => errors.len(),
    };
    let errors: Vec<toml::de::Error> = errors.into_iter().take(last.saturating_add(1)).collect();
    let mut unclosed: Vec<Range<usize>> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    for error in errors.iter().filter(|e| !is_consequence(text, e, &errors)) {
        match unclosed_in(text, error) {
            Some(line) if unclosed.contains(&line) => {}
            Some(line) => {
                let problem = Problem::new("the file is not TOML").at(line.clone(), "a text here has no closing `\"`");
                problems.push(problem.help("see https://toml.io for how TOML is written"));
                unclosed.push(line);
            }
            None => problems.push(syntax(text, error)),
        }
    }
    if !readable {
        return Err(problems);
    }
    let mut reader = Reader { problems };
    let mut drafts = Drafts { name: GraphName::new(default_name).ok(), ..Drafts::default() };
    for (key, value) in in_order(table.get_ref()) {
        match key.get_ref().as_ref() {
            "name" => drafts.name = reader.name(value),
            "fail_fast" => match value.get_ref().as_bool() {
                Some(fail_fast) => drafts.fail_fast = fail_fast,
                None => reader.problems.push(wrong_type("`fail_fast`", "true or false", value)),
            },
            "retry" => {
                let mut reader = NodeReader { problems: &mut reader.problems, folder, expressions: Vec::new() };
                drafts.retry = reader.retry_of_flow(value);
            }
            "params" => drafts.params = params::read(value, &mut reader.problems),
            "queues" => drafts.queues = reader.queues(value),
            "include" => drafts.includes = include::read(value, folder, &mut reader.problems),
            "node" => drafts.nodes = reader.nodes(value, folder),
            other => {
                let problem =
                    Problem::new(format!("unknown field `{other}`")).at(key.span(), "a flow has no such field");
                reader.problems.push(problem.did_you_mean(
                    other,
                    FIELDS.into_iter(),
                    "a flow has a `name` and a table `[node.NAME]` per node; see docs/guide/flows.md for more",
                ));
            }
        }
    }
    if drafts.nodes.is_empty() && drafts.includes.is_empty() && reader.problems.is_empty() {
        let problem = Problem::new("the flow has no node").at(0..0, "no `[node.NAME]` in this file");
        reader.problems.push(problem.help("add a node, such as:\n[node.hello]\nexec = [\"echo\", \"hello\"]"));
    }
    drafts.problems = reader.problems;
    Ok(drafts)
}

/// The entries of a table as the author wrote them.
pub(super) fn in_order<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The problem of a value of another type than asked for.
pub(super) fn wrong_type(what: &str, want: &str, value: Place<'_, '_>) -> Problem {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    Problem::new(format!("{what} must be {want}")).at(value.span(), format!("this is {found}"))
}

struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn name(&mut self, value: Place<'_, '_>) -> Option<GraphName> {
        let Some(text) = value.get_ref().as_str() else {
            self.problems.push(wrong_type("the name of a flow", "a text", value));
            return None;
        };
        match GraphName::new(text) {
            Ok(name) => Some(name),
            Err(e) => {
                let problem = Problem::new("the flow cannot be named so").at(value.span(), format!("it {}", e.problem));
                self.problems.push(problem);
                None
            }
        }
    }

    /// How many commands of a queue run at once.
    fn queues(&mut self, value: Place<'_, '_>) -> BTreeMap<String, u16> {
        let mut queues = BTreeMap::new();
        let Some(table) = value.get_ref().as_table() else {
            self.problems.push(wrong_type("`queues`", "a table", value).help("write queues = { disk = 1 }"));
            return queues;
        };
        for (key, value) in in_order(table) {
            let name = key.get_ref().as_ref();
            let count = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u16>().ok());
            let is_name = !name.is_empty()
                && name.len() <= QUEUE_BYTES_MAX
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b));
            if !is_name {
                let problem = Problem::new("a queue cannot be named so");
                let allowed = format!("use 1 to {QUEUE_BYTES_MAX} of a-z 0-9 _ -");
                self.problems.push(problem.at(key.span(), allowed));
            } else if let Some(count) = count.filter(|count| (1..=1_000).contains(count)) {
                queues.insert(name.to_owned(), count);
            } else {
                let problem = Problem::new(format!("the queue `{name}` needs a number of commands at once"));
                self.problems.push(problem.at(value.span(), "use 1 to 1000"));
            }
        }
        queues
    }

    fn nodes(&mut self, value: Place<'_, '_>, folder: &Path) -> Vec<DraftNode> {
        let Some(table) = value.get_ref().as_table() else {
            let problem = wrong_type("`node`", "a table per node", value);
            self.problems.push(problem.help("write `[node.NAME]`, with a name for each node"));
            return Vec::new();
        };
        let entries = in_order(table);
        let nodes = entries.into_iter().flat_map(|(key, value)| {
            let reader = NodeReader { problems: &mut self.problems, folder, expressions: Vec::new() };
            reader.read(key.get_ref(), key.span(), value)
        });
        nodes.collect()
    }
}

fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message().contains("duplicate key")
}

/// The fields of a table that is there twice are there twice too: one problem, not many.
fn is_consequence(text: &str, error: &toml::de::Error, all: &[toml::de::Error]) -> bool {
    let Some(span) = error.span().filter(|_| is_duplicate(error)) else { return false };
    let header = text.get(..span.start).and_then(|before| before.rfind("\n[")).map(|at| at + 1);
    let Some(header) = header.map(|at| line_at(text, at)).filter(|line| !line.contains(&span.start)) else {
        return false;
    };
    all.iter().filter(|e| is_duplicate(e)).filter_map(|e| e.span()).any(|other| header.contains(&other.start))
}

/// The line in which a quote is missing, if that explains the error: what follows is then read as a text and a text as what
/// follows, so what the parser says of it tells nobody anything.
fn unclosed_in(text: &str, error: &toml::de::Error) -> Option<Range<usize>> {
    let start = error.span().filter(|_| !is_duplicate(error))?.start;
    let line = line_at(text, text.get(..start)?.trim_end().len());
    let written = text.get(line.clone())?;
    let is_quote = |&(at, _): &(usize, &str)| !written.get(..at).is_some_and(|before| before.ends_with('\\'));
    let is_odd = written.match_indices('"').filter(is_quote).count() % 2 == 1;
    let indent = written.len() - written.trim_start().len();
    (is_odd && !written.contains("\"\"\"")).then(|| line.start + indent..line.start + written.trim_end().len())
}

fn syntax(text: &str, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let message = error.message().lines().collect::<Vec<_>>().join(": ");
    if message.starts_with("missing comma between array elements") {
        // It is found where the next thing begins, often a line or more below.
        let at = text.get(..span.start).map_or(span.start, |before| before.trim_end().len());
        let problem =
            Problem::new("the file is not TOML").at(at..at, "a comma is missing here, or the `]` of the array");
        return problem.help("see https://toml.io for how TOML is written");
    }
    if !is_duplicate(error) {
        let problem = Problem::new("the file is not TOML").at(visible(text, span), message);
        return problem.help("see https://toml.io for how TOML is written");
    }
    let name = text.get(span.clone()).unwrap_or_default();
    let problem = Problem::new(format!("`{name}` is there twice")).at(span.clone(), "the second one");
    let problem = problem.help("rename one of the two, or remove it");
    // A table is found again by its header.
    let line = line_at(text, span.start);
    let header = text.get(line.clone()).unwrap_or_default();
    let first = text.match_indices(header).map(|(at, _)| at).find(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n');
    match first {
        Some(at) if header.starts_with('[') && at < line.start => {
            let offset = span.start - line.start;
            problem.at(at + offset..at + offset + span.len(), "the first one")
        }
        _ => problem,
    }
}

/// The line around a place in the text, without its end.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let end = text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |end| at + end);
    start..end
}

/// A span that can be pointed at: at the end of the text there is nothing to underline.
fn visible(text: &str, span: Range<usize>) -> Range<usize> {
    if span.start >= text.len() { text.trim_end().len()..text.trim_end().len() } else { span }
}

/// The queue of a flow is named by its graph; this follows it within the limit of a queue's name.
const QUEUE_BYTES_MAX: usize = 20;
