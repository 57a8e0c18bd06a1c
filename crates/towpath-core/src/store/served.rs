//! What a worker serves: kinds, each with the versions that it takes.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::Kind;

/// A kind that a worker serves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Served {
    /// The kind.
    pub kind: Kind,
    /// The versions of it that the worker takes.
    pub versions: Versions,
}

impl Served {
    /// A kind up to a version of its input.
    pub fn up_to(kind: Kind, version: u16) -> Self {
        Self { kind, versions: Versions::UpTo(version) }
    }
}

/// The versions of a kind that a worker takes. In JSON a number, or a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Versions {
    /// Of a job: this one and all older ones, since a handler understands old inputs.
    UpTo(u16),
    /// Of a durable function: these and no others, since a run is pinned to the one on which it began.
    Only(BTreeSet<u16>),
}

impl Versions {
    /// Whether a job of this version is taken.
    pub fn has(&self, version: u16) -> bool {
        match self {
            Self::UpTo(newest) => version <= *newest,
            Self::Only(versions) => versions.contains(&version),
        }
    }

    /// The same as ranges, both ends included, that share nothing.
    pub fn ranges(&self) -> Vec<(u16, u16)> {
        match self {
            Self::UpTo(newest) => vec![(0, *newest)],
            Self::Only(versions) => versions.iter().map(|version| (*version, *version)).collect(),
        }
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpTo(newest) => write!(f, "up to version {newest}"),
            Self::Only(versions) => {
                let list: Vec<String> = versions.iter().map(u16::to_string).collect();
                let word = if list.len() == 1 { "version" } else { "versions" };
                write!(f, "in {word} {} only", list.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_taken_up_to_a_version_and_a_run_in_its_own_only() {
        let taken = |versions: &Versions| (0..6).filter(|version| versions.has(*version)).collect::<Vec<u16>>();
        let (old, exact) = (Versions::UpTo(2), Versions::Only([1, 4].into()));
        assert_eq!((taken(&old), taken(&exact)), (vec![0, 1, 2], vec![1, 4]));
        assert_eq!((old.ranges(), exact.ranges()), (vec![(0, 2)], vec![(1, 1), (4, 4)]));
        assert_eq!(exact.to_string(), "in versions 1, 4 only");
    }

    #[test]
    fn json_is_a_number_or_a_list() {
        for (versions, json) in [(Versions::UpTo(2), "2"), (Versions::Only([1, 4].into()), "[1,4]")] {
            assert_eq!(serde_json::to_string(&versions).unwrap(), json);
            assert_eq!(serde_json::from_str::<Versions>(json).unwrap(), versions);
        }
    }
}
