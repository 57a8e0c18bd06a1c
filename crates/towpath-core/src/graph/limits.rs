//! How large a graph may be. A client has these limits and judges by them whatever it enqueues; the numbers that nobody may
//! exceed are in [`crate::limits`].

use std::fmt;
use std::str::FromStr;

use super::nested;
use super::problem::GraphProblem;
use crate::job::NewJob;
use crate::limits;
use crate::name::NodeName;
use crate::payload::Payload;

/// What a graph may come to: refused is what is more, before anything is written. Appends are judged with what is stored.
///
/// ```
/// use towpath_core::GraphLimits;
/// let limits = GraphLimits::default().nodes(50_000).depth(2);
/// assert_eq!(limits, "nodes=50000,depth=2".parse()?);
/// assert!(GraphLimits::default().nodes(1_000_000).check().is_err());
/// # Ok::<_, towpath_core::InvalidGraphLimits>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct GraphLimits {
    /// Most nodes, the hidden `end` left out.
    pub nodes: u32,
    /// Most edges, those to `end` left out.
    pub edges: u32,
    /// How deep graphs may stand inside graphs; 0 for none.
    pub depth: u32,
    /// Most elements of a list that a node goes through. The worker that runs the node judges it, when it begins.
    pub elements: u32,
    /// Longest name of a node or the graph, in bytes.
    pub name_bytes: u32,
    /// Largest input of a node or the graph, in bytes.
    pub input_bytes: u32,
}

impl Default for GraphLimits {
    fn default() -> Self {
        Self {
            nodes: limits::GRAPH_NODES_MAX as u32,
            edges: limits::GRAPH_EDGES_MAX as u32,
            depth: limits::GRAPH_DEPTH_MAX as u32,
            elements: limits::MAP_ELEMENTS_MAX as u32,
            ..Self::HIGHEST
        }
    }
}

impl GraphLimits {
    /// The highest of each: what no client may exceed.
    pub const HIGHEST: Self = Self {
        nodes: limits::GRAPH_NODES_CEILING as u32,
        edges: limits::GRAPH_EDGES_CEILING as u32,
        depth: limits::GRAPH_DEPTH_CEILING as u32,
        elements: limits::MAP_ELEMENTS_CEILING as u32,
        name_bytes: limits::NODE_NAME_BYTES_MAX as u32,
        input_bytes: limits::PAYLOAD_BYTES_MAX as u32,
    };

    /// The same with at most so many nodes.
    pub const fn nodes(self, nodes: u32) -> Self {
        Self { nodes, ..self }
    }

    /// The same with at most so many edges.
    pub const fn edges(self, edges: u32) -> Self {
        Self { edges, ..self }
    }

    /// The same with graphs inside graphs at most so deep.
    pub const fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }

    /// The same with at most so many elements of a list.
    pub const fn elements(self, elements: u32) -> Self {
        Self { elements, ..self }
    }

    /// The same with names of at most so many bytes.
    pub const fn name_bytes(self, name_bytes: u32) -> Self {
        Self { name_bytes, ..self }
    }

    /// The same with inputs of at most so many bytes.
    pub const fn input_bytes(self, input_bytes: u32) -> Self {
        Self { input_bytes, ..self }
    }

    /// Checks the limits themselves.
    ///
    /// # Errors
    /// Some are 0 that may not be, or higher than they may be: all of them are named.
    pub fn check(&self) -> Result<(), InvalidGraphLimits> {
        InvalidGraphLimits::of(self.problems().collect())
    }

    fn problems(self) -> impl Iterator<Item = String> {
        self.fields().into_iter().zip(Self::HIGHEST.fields()).filter_map(|((name, have), (_, most))| {
            let least = u32::from(name != DEPTH);
            (!(least..=most).contains(&have)).then(|| format!("{name} is {have}: use {least} to {most}"))
        })
    }

    fn fields(&self) -> [(&'static str, u32); 6] {
        let Self { nodes, edges, depth, elements, name_bytes, input_bytes } = *self;
        [
            (NODES, nodes),
            (EDGES, edges),
            (DEPTH, depth),
            (ELEMENTS, elements),
            (NAME_BYTES, name_bytes),
            (INPUT_BYTES, input_bytes),
        ]
    }

    fn field(&mut self, name: &str) -> Option<&mut u32> {
        Some(match name {
            NODES => &mut self.nodes,
            EDGES => &mut self.edges,
            DEPTH => &mut self.depth,
            ELEMENTS => &mut self.elements,
            NAME_BYTES => &mut self.name_bytes,
            INPUT_BYTES => &mut self.input_bytes,
            _ => return None,
        })
    }

    /// What is too much about a graph or an append by its size.
    pub(super) fn size(&self, nodes: usize, edges: usize) -> Vec<GraphProblem> {
        let over = |(what, have, max): (&'static str, usize, u32)| {
            (have > max as usize).then_some(GraphProblem::TooMany { what, have, max: max as usize })
        };
        [(NODES, nodes, self.nodes), (EDGES, edges, self.edges)].into_iter().filter_map(over).collect()
    }

    /// What is too much about a node, and wrong with the graph that it holds, which stands inside so many others.
    pub(super) fn node(&self, name: &NodeName, job: &NewJob, depth: u32, mut problem: impl FnMut(String)) {
        let name_bytes = name.as_str().len();
        if name_bytes > self.name_bytes as usize {
            problem(self.bytes("its name", name_bytes, NAME_BYTES, self.name_bytes));
        }
        // What is over the highest is said by who checks the job.
        let input = job.input.bytes.len();
        if input > self.input_bytes as usize && self.input_bytes < Self::HIGHEST.input_bytes {
            problem(self.bytes("the input", input, INPUT_BYTES, self.input_bytes));
        }
        nested::check(job, depth, self, problem);
    }

    /// What is too much about what every node can read.
    pub(super) fn input(&self, input: &Payload) -> Option<GraphProblem> {
        let bytes = input.bytes.len();
        let over = || GraphProblem::Input(self.bytes("it", bytes, INPUT_BYTES, self.input_bytes));
        (bytes > self.input_bytes as usize).then(over)
    }

    fn bytes(&self, what: &str, have: usize, name: &'static str, max: u32) -> String {
        format!("{what} has {have} bytes, at most {max} are allowed{}", remedy(name, max as usize, "make it shorter"))
    }
}

/// What to do about what is over a limit: the limit is named where a client may have a higher one.
pub(super) fn remedy(name: &str, max: usize, otherwise: &str) -> String {
    let highest = GraphLimits::HIGHEST.fields().into_iter().find(|(field, _)| *field == name);
    match highest {
        Some((_, highest)) if max >= highest as usize => format!(": {otherwise}"),
        _ => format!(": {otherwise}, or raise the graph limit `{name}`"),
    }
}

pub(super) const NODES: &str = "nodes";
pub(super) const EDGES: &str = "edges";
pub(super) const DEPTH: &str = "depth";
const ELEMENTS: &str = "elements";
const NAME_BYTES: &str = "name_bytes";
const INPUT_BYTES: &str = "input_bytes";

/// Those that differ from the defaults, as they are read: `nodes=50000,depth=2`; empty if none does.
impl fmt::Display for GraphLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for ((name, have), (_, default)) in self.fields().into_iter().zip(Self::default().fields()) {
            if have != default {
                write!(f, "{comma}{name}={have}")?;
                comma = ",";
            }
        }
        Ok(())
    }
}

/// `nodes=50000,depth=2`: the others are the defaults.
impl FromStr for GraphLimits {
    type Err = InvalidGraphLimits;

    fn from_str(text: &str) -> Result<Self, InvalidGraphLimits> {
        let mut read = Self::default();
        let mut problems = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if let Err(problem) = read.set(part) {
                problems.push(problem);
            }
        }
        problems.extend(read.problems());
        InvalidGraphLimits::of(problems).map(|()| read)
    }
}

impl GraphLimits {
    /// Sets one limit as it is written.
    fn set(&mut self, part: &str) -> Result<(), String> {
        let (name, number) =
            part.split_once('=').ok_or_else(|| format!("{part:?} has no `=`: write it as nodes=50000"))?;
        let name = name.trim();
        let known = || Self::default().fields().map(|(name, _)| name).join(", ");
        let field = self.field(name).ok_or_else(|| format!("there is no limit {name:?}: it is one of {}", known()))?;
        *field = number.trim().replace('_', "").parse().map_err(|_| format!("{name}: {number:?} is no number"))?;
        Ok(())
    }
}

/// Limits that nobody may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidGraphLimits(Vec<String>);

impl InvalidGraphLimits {
    fn of(problems: Vec<String>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }
}

impl fmt::Display for InvalidGraphLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph limits: {}", self.0.join("; "))
    }
}

impl std::error::Error for InvalidGraphLimits {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_are_written_and_wrong_ones_say_why() {
        for text in ["", "nodes=50000,depth=0", "edges=1,elements=7,name_bytes=8,input_bytes=9"] {
            assert_eq!(text.parse::<GraphLimits>().unwrap().to_string(), text);
        }
        assert_eq!("nodes = 50_000, ".parse(), Ok(GraphLimits::default().nodes(50_000)));
        let refused = |text: &str| text.parse::<GraphLimits>().unwrap_err().to_string();
        assert_eq!(refused("nodes"), "graph limits: \"nodes\" has no `=`: write it as nodes=50000");
        assert!(refused("node=1").contains("there is no limit \"node\": it is one of nodes, edges, depth"));
        assert_eq!(refused("nodes=-1"), "graph limits: nodes: \"-1\" is no number");
        assert_eq!(refused("nodes=0"), "graph limits: nodes is 0: use 1 to 100000");
        assert_eq!(refused("name_bytes=129"), "graph limits: name_bytes is 129: use 1 to 128");
        assert_eq!(
            refused("nods=1, edges=x, nodes=0, name_bytes=129"),
            "graph limits: there is no limit \"nods\": it is one of nodes, edges, depth, elements, name_bytes, input_bytes; \
             edges: \"x\" is no number; nodes is 0: use 1 to 100000; name_bytes is 129: use 1 to 128"
        );
        assert_eq!(GraphLimits::HIGHEST.check(), Ok(()));
        assert_eq!(GraphLimits::default().check(), Ok(()));
    }
}
