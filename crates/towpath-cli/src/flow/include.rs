//! Other files of a flow: those whose nodes it includes under a name of their own, and those that a node runs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::de::DeTable;
use towpath::core::builtin;

use super::node::{DraftDoes, DraftEdge, DraftNode, undo_name};
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
        for node in &mut drafts.nodes {
            match self.held(node, source, outer) {
                // Queues of the flow around it count, if both declare one.
                Ok(queues) => queues.into_iter().for_each(|(name, most)| _ = drafts.queues.entry(name).or_insert(most)),
                Err(problem) => {
                    drafts.problems.push(problem.in_source(source));
                    node.does = None;
                }
            }
        }
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
        let mut wrong = Vec::new();
        let (input, later) = passed_on(&include.params, outer, &mut wrong);
        let given = Given { input, later, missing: self.missing.inside(), ..Given::default() };
        let what = format!("the flow of `{}` cannot be included", include.name);
        let (span, file_span) = (include.span.clone(), include.file_span.clone());
        self.load(&Wanted { what, name: &include.name, span, file: &include.file, file_span, given, wrong }, source)
    }

    /// Reads the flow of a node that runs one.
    fn held(&mut self, node: &mut DraftNode, source: usize, outer: &Values) -> Result<Queues, Problem> {
        let Some(DraftDoes::Flow(flow)) = &mut node.does else { return Ok(Queues::new()) };
        let mut given = Given { input: flow.params.clone(), missing: self.missing.inside(), ..Given::default() };
        for (name, from) in &flow.from {
            // What is known already can be judged already.
            let known = from.strip_prefix("params.").and_then(|param| outer.known.get(param));
            match known.and_then(|known| serde_json::from_str(known.get()).ok()) {
                Some(value) => drop(given.input.insert(name.clone(), value)),
                None => drop(given.later.insert(name.clone(), name.clone())),
            }
        }
        let later: Vec<String> = given.later.keys().cloned().collect();
        let what = format!("the flow of node `{}` cannot be read", node.name);
        let (span, file, file_span) = (flow.file_span.clone(), &flow.file, flow.file_span.clone());
        let wanted = Wanted { what, name: &node.name, span, file, file_span, given, wrong: Vec::new() };
        let mut drafts = self.load(&wanted, source)?;
        for name in later {
            let kind =
                drafts.params.iter().find(|param| param.name == name).map(|param| param.kind).unwrap_or_default();
            flow.given.extend(flow.from.get(&name).map(|from| (name, builtin::Given { from: from.clone(), kind })));
        }
        let queues = std::mem::take(&mut drafts.queues);
        flow.drafts = Some(drafts);
        Ok(queues)
    }

    /// The drafts of another file.
    fn load(&mut self, wanted: &Wanted<'_>, source: usize) -> Result<Drafts, Problem> {
        let cannot = |label: String| Problem::new(&wanted.what).at(wanted.file_span.clone(), label);
        let path = wanted.file.canonicalize().map_err(|e| cannot(format!("{}: {e}", wanted.file.display())))?;
        if self.above.contains(&path) {
            return Err(cannot("it includes itself, here or further down".to_owned()));
        }
        if self.above.len() >= DEPTH_MAX || self.sources.len() >= FILES_MAX {
            return Err(cannot(format!("at most {FILES_MAX} files, {DEPTH_MAX} deep, are allowed")));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| cannot(e.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
        let at = self.sources.len();
        self.sources.push(Source { name: wanted.file.display().to_string(), text: text.clone() });
        let of_file = |problems: Vec<Problem>| problems.into_iter().map(|problem| problem.in_source(at)).collect();
        let mut drafts = match read::read(&text, wanted.name, &folder) {
            Ok(drafts) => drafts,
            Err(problems) => Drafts { problems, ..Drafts::default() },
        };
        drafts.problems = of_file(std::mem::take(&mut drafts.problems));
        let mut wrong = wanted.wrong.clone();
        let values = params::values(&drafts.params, &wanted.given, &mut wrong);
        // What is missing is mended where it is included.
        let mend = |mut problem: Problem| {
            problem.labels = vec![(wanted.span.clone(), problem.message.clone())];
            problem
        };
        drafts.problems.extend(wrong.into_iter().map(|problem| mend(problem).in_source(source)));
        for node in &mut drafts.nodes {
            node.source = at;
            node.after.iter_mut().for_each(|edge| edge.source = at);
            values.put_into(&mut node.scope);
        }
        self.above.push(path);
        self.expand(&mut drafts, at, &values);
        self.above.pop();
        Ok(drafts)
    }
}

/// Another file that is to be read.
struct Wanted<'a> {
    /// What cannot be done without it.
    what: String,
    /// What its flow is named unless it names itself.
    name: &'a str,
    /// Where it is asked for.
    span: Range<usize>,
    file: &'a Path,
    file_span: Range<usize>,
    given: Given,
    /// What was wrong with its parameters so far.
    wrong: Vec<Problem>,
}

type Queues = BTreeMap<String, u16>;

/// The parameters of an include, and those that are known later, with what they are called then. `{ from = "params.NAME" }` is
/// the value of a parameter of the flow around it.
fn passed_on(
    params: &serde_json::Map<String, Value>,
    outer: &Values,
    problems: &mut Vec<Problem>,
) -> (serde_json::Map<String, Value>, BTreeMap<String, String>) {
    let (mut input, mut later) = (serde_json::Map::new(), BTreeMap::new());
    for (name, value) in params {
        let from = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.get("from"));
        let Some(param) = from.and_then(Value::as_str).and_then(|from| from.strip_prefix("params.")) else {
            input.insert(name.clone(), value.clone());
            continue;
        };
        if let Some(given) = outer.given.get(param) {
            later.insert(name.clone(), given.clone());
            continue;
        }
        match outer.known.get(param).map(|raw| serde_json::from_str(raw.get())) {
            Some(Ok(value)) => drop(input.insert(name.clone(), value)),
            _ => {
                let problem = Problem::new(format!("`{name}` is to be `params.{param}`, which is not there"));
                let all = "declare it in the [params] of the flow that includes it";
                let known = outer.known.keys().chain(outer.given.keys()).map(String::as_str);
                problems.push(problem.did_you_mean(param, known, all));
                input.insert(name.clone(), Value::Null);
            }
        }
    }
    (input, later)
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
    inner.queues.into_iter().for_each(|(name, most)| _ = drafts.queues.entry(name).or_insert(most));
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
