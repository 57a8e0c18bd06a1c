//! Flows inside a flow: the nodes of another file under a name of their own.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::de::DeTable;

use super::node::{DraftEdge, undo_name};
use super::params::{self, Given, Missing, Values};
use super::problem::{Problem, Source};
use super::read::{self, Drafts, Place, in_order, wrong_type};

/// An `[include.NAME]` table as read.
#[derive(Debug)]
pub(super) struct DraftInclude {
    name: String,
    span: Range<usize>,
    file: PathBuf,
    file_span: Range<usize>,
    /// What its first nodes wait for.
    after: Vec<DraftEdge>,
    params: serde_json::Map<String, Value>,
}

/// The fields of an include.
pub(crate) const FIELDS: [&str; 3] = ["file", "after", "params"];

/// Reads the table `[include]`.
pub(super) fn read(value: Place<'_, '_>, folder: &Path, problems: &mut Vec<Problem>) -> Vec<DraftInclude> {
    let Some(table) = value.get_ref().as_table() else {
        problems
            .push(wrong_type("`include`", "a table per flow", value).help("write [include.NAME] with file = \"…\""));
        return Vec::new();
    };
    let mut includes = Vec::new();
    for (key, value) in in_order(table) {
        let name = key.get_ref().as_ref();
        match value.get_ref().as_table() {
            Some(table) => includes.extend(one(name, key.span(), table, folder, problems)),
            None => problems.push(wrong_type(&format!("the include `{name}`"), "a table", value)),
        }
    }
    includes
}

fn one(
    name: &str,
    span: Range<usize>,
    table: &DeTable<'_>,
    folder: &Path,
    problems: &mut Vec<Problem>,
) -> Option<DraftInclude> {
    let (mut file, mut after, mut params, mut is_there) = (None, Vec::new(), serde_json::Map::new(), false);
    for (key, value) in in_order(table) {
        match key.get_ref().as_ref() {
            "file" => {
                is_there = true;
                match value.get_ref().as_str() {
                    Some(path) => file = Some((folder.join(path), value.span())),
                    None => problems.push(wrong_type("`file`", "a path in a text", value)),
                }
            }
            "after" => after = super::node::NodeReader { problems, folder, expressions: Vec::new() }.after(value),
            "params" => params = params::given(value, problems),
            other => {
                let problem =
                    Problem::new(format!("unknown field `{other}`")).at(key.span(), "an include has no such field");
                let all = "an include has `file`, `after` and `params`";
                problems.push(problem.did_you_mean(other, FIELDS.into_iter(), all));
            }
        }
    }
    if !is_there {
        let problem = Problem::new(format!("the include `{name}` has no `file`")).at(span.clone(), "which flow?");
        problems.push(problem.help("add file = \"other.toml\""));
    }
    let (file, file_span) = file?;
    Some(DraftInclude { name: name.to_owned(), span, file, file_span, after, params })
}

/// Puts the nodes of included flows among those of the flow, each under its include's name and a dot.
pub(super) struct Expand<'a> {
    pub(super) sources: &'a mut Vec<Source>,
    /// The files above, by their real path: none includes itself.
    pub(super) above: Vec<PathBuf>,
    /// What becomes of parameters without a value.
    pub(super) missing: Missing,
}

impl Expand<'_> {
    /// Expands all includes of the drafts, which stand in this source and have these parameters.
    pub(super) fn expand(&mut self, drafts: &mut Drafts, source: usize, outer: &Values) {
        let mut lasts: HashMap<String, Vec<String>> = HashMap::new();
        for include in std::mem::take(&mut drafts.includes) {
            if drafts.nodes.iter().any(|node| node.name == include.name) {
                let problem = Problem::new(format!("a node and an include are both named `{}`", include.name));
                let problem = problem.at(include.span.clone(), "the include").help("rename one");
                drafts.problems.push(problem.in_source(source));
                continue;
            }
            match self.included(&include, source, outer) {
                Ok(mut inner) => {
                    drafts.problems.append(&mut inner.problems);
                    lasts.insert(include.name.clone(), last(&include.name, &inner));
                    place(drafts, &include, inner);
                }
                Err(problem) => drafts.problems.push(problem.in_source(source)),
            }
        }
        // Whoever waits for an include waits for its last nodes.
        for node in &mut drafts.nodes {
            node.after = std::mem::take(&mut node.after).into_iter().flat_map(|edge| spread(edge, &lasts)).collect();
        }
    }

    /// The drafts of an included file.
    fn included(&mut self, include: &DraftInclude, source: usize, outer: &Values) -> Result<Drafts, Problem> {
        let cannot = |label: String| {
            let problem = Problem::new(format!("the flow of `{}` cannot be included", include.name));
            problem.at(include.file_span.clone(), label)
        };
        let path = include.file.canonicalize().map_err(|e| cannot(format!("{}: {e}", include.file.display())))?;
        if self.above.contains(&path) {
            return Err(cannot("it includes itself, here or further down".to_owned()));
        }
        if self.above.len() >= DEPTH_MAX || self.sources.len() >= FILES_MAX {
            return Err(cannot(format!("at most {FILES_MAX} files, {DEPTH_MAX} deep, are allowed")));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| cannot(e.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let at = self.sources.len();
        self.sources.push(Source { name: include.file.display().to_string(), text: text.clone() });
        let of_file = |problems: Vec<Problem>| problems.into_iter().map(|problem| problem.in_source(at)).collect();
        let mut drafts = match read::read(&text, &include.name, &folder) {
            Ok(drafts) => drafts,
            Err(problems) => Drafts { problems, ..Drafts::default() },
        };
        drafts.problems = of_file(std::mem::take(&mut drafts.problems));
        let mut wrong = Vec::new();
        let input = passed_on(&include.params, outer, &mut wrong);
        let given = Given { input, missing: self.missing, ..Given::default() };
        let values = params::values(&drafts.params, &given, &mut wrong);
        // What is missing is mended where it is included.
        let mend = |mut problem: Problem| {
            problem.labels = vec![(include.span.clone(), problem.message.clone())];
            problem
        };
        drafts.problems.extend(wrong.into_iter().map(|problem| mend(problem).in_source(source)));
        for node in &mut drafts.nodes {
            node.source = at;
            node.after.iter_mut().for_each(|edge| edge.source = at);
            node.scope.params.clone_from(&values);
        }
        self.above.push(path);
        self.expand(&mut drafts, at, &values);
        self.above.pop();
        Ok(drafts)
    }
}

/// The parameters of an include. `{ from = "params.NAME" }` is the value of a parameter of the flow around it.
fn passed_on(
    params: &serde_json::Map<String, Value>,
    outer: &Values,
    problems: &mut Vec<Problem>,
) -> serde_json::Map<String, Value> {
    let mut input = serde_json::Map::new();
    for (name, value) in params {
        let from = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.get("from"));
        let Some(param) = from.and_then(Value::as_str).and_then(|from| from.strip_prefix("params.")) else {
            input.insert(name.clone(), value.clone());
            continue;
        };
        match outer.get(param).map(|raw| serde_json::from_str(raw.get())) {
            Some(Ok(value)) => drop(input.insert(name.clone(), value)),
            _ => {
                let problem = Problem::new(format!("`{name}` is to be `params.{param}`, which is not there"));
                let all = "declare it in the [params] of the flow that includes it";
                problems.push(problem.did_you_mean(param, outer.keys().map(String::as_str), all));
                input.insert(name.clone(), Value::Null);
            }
        }
    }
    input
}

/// The nodes of an included flow that no other of it waits for.
fn last(name: &str, inner: &Drafts) -> Vec<String> {
    let waited_for: HashSet<&str> =
        inner.nodes.iter().flat_map(|n| &n.after).map(|edge| edge.parent.as_str()).collect();
    let last = inner.nodes.iter().filter(|node| node.guards.is_none() && !waited_for.contains(node.name.as_str()));
    last.map(|node| format!("{name}.{}", node.name)).collect()
}

/// Adds included nodes under the name of the include; the first of them wait for what it waits for.
fn place(drafts: &mut Drafts, include: &DraftInclude, inner: Drafts) {
    let prefix = format!("{}.", include.name);
    for mut node in inner.nodes {
        node.scope.prefix.insert_str(0, &prefix);
        if let Some(guarded) = &mut node.guards {
            guarded.insert_str(0, &prefix);
            node.name = undo_name(guarded);
            drafts.nodes.push(node);
            continue;
        }
        if node.after.is_empty() {
            node.after.clone_from(&include.after);
        } else {
            node.after.iter_mut().for_each(|edge| edge.parent.insert_str(0, &prefix));
        }
        node.name.insert_str(0, &prefix);
        drafts.nodes.push(node);
    }
}

/// An edge from an include is one from each of its last nodes.
fn spread(edge: DraftEdge, lasts: &HashMap<String, Vec<String>>) -> Vec<DraftEdge> {
    match lasts.get(&edge.parent) {
        Some(last) => last.iter().map(|name| DraftEdge { parent: name.clone(), ..edge.clone() }).collect(),
        None => vec![edge],
    }
}

/// Files inside files, and files in all: more is a mistake.
const DEPTH_MAX: usize = 8;
const FILES_MAX: usize = 64;
