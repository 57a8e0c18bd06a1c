//! Names: parsed once at the edge, trusted afterwards.
//!
//! Kinds and queues stand in URLs, SQL and command lines, so their alphabet is small. Names of nodes
//! come from users' own tables, so they may hold anything that can be printed.

use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::limits;

/// A name that was refused, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name:?} {problem}")]
pub struct InvalidName {
    /// What it was to name, such as `queue`.
    pub what: &'static str,
    /// The name, cut at 200 characters.
    pub name: String,
    /// What is wrong with it and what is allowed.
    pub problem: String,
}

impl InvalidName {
    fn new(what: &'static str, name: &str, problem: impl Into<String>) -> Self {
        Self { what, name: name.chars().take(200).collect(), problem: problem.into() }
    }
}

fn check_token(what: &'static str, name: &str) -> Result<(), InvalidName> {
    let max = limits::TOKEN_NAME_BYTES_MAX;
    if name.is_empty() {
        return Err(InvalidName::new(what, name, format!("is empty: use 1 to {max} of a-z 0-9 . _ -")));
    }
    if name.len() > max {
        return Err(InvalidName::new(what, name, format!("has {} bytes, at most {max} are allowed", name.len())));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    match name.chars().find(|c| !allowed(*c)) {
        Some(c) => Err(InvalidName::new(what, name, format!("contains {c:?}: use only a-z 0-9 . _ -"))),
        None => Ok(()),
    }
}

fn check_text(what: &'static str, name: &str, max: usize) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::new(what, name, format!("is empty: use 1 to {max} bytes")));
    }
    if name.len() > max {
        return Err(InvalidName::new(what, name, format!("has {} bytes, at most {max} are allowed", name.len())));
    }
    match name.chars().find(|c| c.is_control()) {
        Some(c) => Err(InvalidName::new(what, name, format!("contains the control character {c:?}"))),
        None => Ok(()),
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a name.
            ///
            /// # Errors
            /// Says which rule it breaks; the caller should ask for another name.
            pub fn new(name: &str) -> Result<Self, InvalidName> {
                let check: fn(&str) -> Result<(), InvalidName> = $check;
                check(name)?;
                Ok(Self(Arc::from(name)))
            }

            /// Takes a name that a store has kept, and that was checked when it was written.
            pub fn from_stored(name: &str) -> Self {
                Self(Arc::from(name))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(name: String) -> Result<Self, InvalidName> {
                Self::new(&name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            fn from_str(name: &str) -> Result<Self, InvalidName> {
                Self::new(name)
            }
        }
    };
}

name_type! {
    /// The stable name that routes a job to its handler: 1 to 64 of `a-z 0-9 . _ -`.
    Kind, "kind", |name| check_token("kind", name)
}

name_type! {
    /// A named stream of jobs: 1 to 64 of `a-z 0-9 . _ -`. It exists from its first use.
    Queue, "queue", |name| check_token("queue", name)
}

name_type! {
    /// A node's name, unique in its graph: 1 to 128 bytes without control characters.
    NodeName, "node", |name| check_text("node", name, limits::NODE_NAME_BYTES_MAX)
}

name_type! {
    /// A graph's name, for people: 1 to 128 bytes without control characters, not unique.
    GraphName, "graph", |name| check_text("graph", name, limits::NODE_NAME_BYTES_MAX)
}

name_type! {
    /// The name of a branch that a gate may take: 1 to 64 of `a-z 0-9 . _ -`.
    Label, "branch", |name| check_token("branch", name)
}

name_type! {
    /// The caller's or a generated name of a run, unique in the store: 1 to 200 bytes without control characters.
    RunId, "run", |name| check_text("run", name, limits::RUN_ID_BYTES_MAX)
}

name_type! {
    /// A key that one live job of a kind, or one live graph of a name, may have: 1 to 256 bytes without control characters.
    UniqueKey, "unique key", |name| check_text("unique key", name, limits::UNIQUE_KEY_BYTES_MAX)
}

name_type! {
    /// The name of a schedule: 1 to 64 of `a-z 0-9 . _ -`.
    ScheduleName, "schedule", |name| check_token("schedule", name)
}

impl NodeName {
    /// The name of the hidden last node of every graph. No node of a user's may bear it.
    pub const END: &'static str = "end";
}

impl Kind {
    /// The kind of a graph's hidden last node. No handler serves it: the core decides it.
    pub const END: &'static str = "towpath.end";

    /// The kind of what was sent by SQL in another form than a job's: every worker serves it, and the core judges what it
    /// was given.
    pub const INTAKE: &'static str = "towpath.intake";

    /// Whether the name is kept for the product's own jobs.
    pub fn is_reserved(&self) -> bool {
        self.0.starts_with("towpath.")
    }
}

impl Queue {
    /// The queue of jobs that name none.
    pub const DEFAULT: &'static str = "default";
}

impl Default for Queue {
    fn default() -> Self {
        Self::from_stored(Self::DEFAULT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_limit_pass_and_one_past_it_do_not() {
        assert!(Kind::new(&"k".repeat(64)).is_ok());
        let refused = Kind::new(&"k".repeat(65)).unwrap_err();
        assert_eq!(refused.problem, "has 65 bytes, at most 64 are allowed");
        assert!(NodeName::new(&"ü".repeat(64)).is_ok());
        assert!(NodeName::new(&"ü".repeat(65)).is_err());
        assert!(RunId::new(&"r".repeat(200)).is_ok());
        assert!(RunId::new(&"r".repeat(201)).is_err());
    }

    #[test]
    fn a_refused_name_says_what_is_allowed() {
        assert_eq!(
            Queue::new("Mail Out").unwrap_err().to_string(),
            "queue \"Mail Out\" contains 'M': use only a-z 0-9 . _ -"
        );
        assert_eq!(
            NodeName::new("a\nb").unwrap_err().to_string(),
            "node \"a\\nb\" contains the control character '\\n'"
        );
        assert!(NodeName::new("").unwrap_err().to_string().contains("is empty"));
    }

    #[test]
    fn a_name_from_json_is_checked() {
        assert!(serde_json::from_str::<Queue>("\"mail\"").is_ok());
        assert!(serde_json::from_str::<Queue>("\"Mail\"").is_err());
    }
}
