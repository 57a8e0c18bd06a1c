//! What is wrong with a flow file, with its places in the text.

use std::fmt;
use std::ops::Range;

use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};
use serde_json::{Value, json};

/// One thing wrong with a flow file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// What, in one line.
    pub(crate) message: String,
    /// Where, and what stands there. The first is the main one.
    pub(crate) labels: Vec<(Range<usize>, String)>,
    /// What to do.
    pub(crate) help: Option<String>,
    /// Which of the files its places are in.
    source: usize,
}

/// A file that problems point into.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// As its author named it.
    pub(super) name: String,
    pub(super) text: String,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), labels: Vec::new(), help: None, source: 0 }
    }

    pub(crate) fn at(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says which of the files its places are in.
    pub(super) fn in_source(mut self, source: usize) -> Self {
        self.source = source;
        self
    }

    /// Adds the nearest of some names, if one is near.
    pub(crate) fn did_you_mean<'a>(self, name: &str, names: impl Iterator<Item = &'a str>, otherwise: &str) -> Self {
        match nearest(name, names) {
            Some(near) => self.help(format!("did you mean `{near}`?")),
            None => self.help(otherwise.to_owned()),
        }
    }

    fn diagnostic(&self) -> MietteDiagnostic {
        let labels = self.labels.iter().map(|(span, label)| LabeledSpan::at(span.clone(), label.clone()));
        let mut diagnostic = MietteDiagnostic::new(self.message.clone()).with_labels(labels);
        diagnostic.help = self.help.clone();
        diagnostic
    }
}

/// The name most like `name`, if it is like it at all.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = name.chars().count().div_ceil(3).max(1);
    names
        .take(CANDIDATES_MAX)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A flow may have 20,000 nodes; measuring against the first ones is help enough.
const CANDIDATES_MAX: usize = 2_000;

/// Everything that is wrong with a flow file.
#[derive(Debug)]
pub(crate) struct FlowProblems {
    /// The file, and those that it includes.
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

impl FlowProblems {
    pub(super) fn new(sources: Vec<Source>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|p| (p.source, p.labels.first().map(|(span, _)| span.start)));
        // A file that is used twice is wrong once.
        let name = |problem: &Problem| sources.get(problem.source).map(|source| source.name.clone());
        let mut seen: Vec<(Option<String>, Problem)> = Vec::new();
        problems.retain(|problem| {
            let this = (name(problem), Problem { source: 0, ..problem.clone() });
            let is_new = !seen.contains(&this);
            seen.extend(is_new.then_some(this));
            is_new
        });
        Self { sources, problems }
    }

    /// The problems as people read them, in the order of the files.
    pub(crate) fn reports(&self) -> impl Iterator<Item = Report> + '_ {
        self.problems.iter().map(|problem| {
            let report = Report::new(problem.diagnostic());
            match self.sources.get(problem.source) {
                Some(source) => report.with_source_code(NamedSource::new(&source.name, source.text.clone())),
                None => report,
            }
        })
    }
}

impl FlowProblems {
    /// The problems as programs read them, in the order of the files. Lines and columns count from 1, columns in characters.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let line = |problem: &Problem| {
            let source = self.sources.get(problem.source);
            let place = problem.labels.first().zip(source).map(|((span, _), source)| {
                let before = source.text.get(..span.start).unwrap_or(&source.text);
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                (line, column)
            });
            json!({
                "problem": problem.message,
                "help": problem.help,
                "file": source.map(|source| &source.name),
                "line": place.map(|(line, _)| line),
                "column": place.map(|(_, column)| column),
            })
        };
        self.problems.iter().map(line).collect()
    }
}

impl fmt::Display for FlowProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        let problems = if count == 1 { "problem" } else { "problems" };
        let file = self.sources.first().map_or("the flow", |source| source.name.as_str());
        write!(f, "{file} has {count} {problems}; nothing was started")
    }
}

impl std::error::Error for FlowProblems {}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_near_name_is_found_and_a_far_one_is_not() {
        let names = ["build", "test", "deploy"];
        assert_eq!(nearest("biuld", names.into_iter()), Some("build"));
        assert_eq!(nearest("tests", names.into_iter()), Some("test"));
        assert_eq!(nearest("lint", names.into_iter()), None);
    }
}
