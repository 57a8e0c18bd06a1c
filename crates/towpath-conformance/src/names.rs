//! Short names for ids: a script says `a` or `g/b`, the store sees an id that follows from the name.

use std::collections::{BTreeSet, HashMap};

use towpath_core::{GraphId, Incarnation, JobId};

/// Every name that a script has used, and the way back from an id.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: HashMap<String, String>,
    graphs: BTreeSet<String>,
}

impl Names {
    /// The id of a job. `g/b` is node `b` of graph `g`, and `g/end` its hidden last node.
    pub(crate) fn job(&mut self, name: &str) -> JobId {
        let id = match name.strip_suffix("/end") {
            Some(graph) => JobId::end_of(self.graph(graph)),
            None => JobId::from_bytes(bytes("job", name)),
        };
        self.known.insert(id.to_string(), name.to_owned());
        id
    }

    /// A job whose id follows from something else.
    pub(crate) fn learn_job(&mut self, id: JobId, name: &str) {
        self.known.insert(id.to_string(), name.to_owned());
    }

    /// The id of a graph.
    pub(crate) fn graph(&mut self, name: &str) -> GraphId {
        let id = GraphId::from_bytes(bytes("graph", name));
        self.graphs.insert(name.to_owned());
        self.known.insert(id.to_string(), name.to_owned());
        self.known.insert(JobId::end_of(id).to_string(), format!("{name}/end"));
        id
    }

    /// The names of all graphs.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = &str> {
        self.graphs.iter().map(String::as_str)
    }

    /// The life of a worker.
    pub(crate) fn worker(&mut self, name: &str) -> Incarnation {
        let id = Incarnation::from_bytes(bytes("worker", name));
        self.known.insert(id.to_string(), name.to_owned());
        id
    }

    /// Notes the name of an id that does not follow from it.
    pub(crate) fn tell(&mut self, id: impl ToString, name: &str) {
        self.known.insert(id.to_string(), name.to_owned());
    }

    /// Takes over the names that others have used.
    pub(crate) fn learn(&mut self, other: &Self) {
        self.graphs.extend(other.graphs.iter().cloned());
        self.known.extend(other.known.iter().map(|(id, name)| (id.clone(), name.clone())));
    }

    /// The name of an id, or the id itself.
    pub(crate) fn of(&self, id: impl ToString) -> String {
        let id = id.to_string();
        self.known.get(&id).cloned().unwrap_or(id)
    }

    /// A text with every known id replaced by its name.
    pub(crate) fn within(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(name) = rest.get(..36).and_then(|id| self.known.get(id)) {
                out.push_str(name);
                rest = &rest[36..];
            } else {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }
}

/// Sixteen well-spread bytes from a name (FNV-1a, then splitmix64).
fn bytes(what: &str, name: &str) -> [u8; 16] {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in what.bytes().chain([b':']).chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let high = crate::chance::mix(hash);
    let low = crate::chance::mix(hash ^ high);
    let mut out = [0; 16];
    out[..8].copy_from_slice(&high.to_be_bytes());
    out[8..].copy_from_slice(&low.to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_a_text_read_as_names() {
        let mut names = Names::default();
        let (job, graph) = (names.job("g/b"), names.graph("g"));
        assert_ne!(job, names.job("g/end"));
        assert_eq!(names.within(&format!("ü {job} of {graph}.")), "ü g/b of g.");
        assert_eq!(names.of(job), "g/b");
    }
}
