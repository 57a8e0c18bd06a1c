//! Who is who: ids of jobs and graphs, the incarnation of a worker, and the fence of a claim.
//!
//! Ids are drawn by the caller before anything is written, so that they can be stored beside the
//! caller's own rows. Nothing here reads a clock or draws randomness: both are parameters.

use crate::fingerprint::mix;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

use crate::name::NodeName;
use crate::time::Timestamp;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Makes a time-ordered id (UUID version 7, RFC 9562 §5.7) from an instant and ten
            /// random bytes.
            pub fn from_parts(at: Timestamp, random: [u8; 10]) -> Self {
                let millis = u64::try_from(at.as_micros() / 1_000).unwrap_or(0);
                Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
            }

            /// Takes sixteen bytes as they are.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The sixteen bytes, as stores keep them.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The id as a UUID.
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text)
                    .map(Self)
                    .map_err(|_| InvalidId { text: text.chars().take(64).collect() })
            }
        }
    };
}

uuid_id! {
    /// A job, for as long as it is stored.
    JobId
}

uuid_id! {
    /// A graph of jobs.
    GraphId
}

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id: expected a UUID such as 018f3c1e-7a2b-7c3d-9e4f-5a6b7c8d9e0f")]
pub struct InvalidId {
    /// The text, cut at 64 characters.
    pub text: String,
}

impl JobId {
    /// The id of a graph's hidden `end` node, which follows from the graph's own.
    ///
    /// The id's last eight bytes are inverted: the graph's id is random there, so the two never meet.
    pub fn end_of(graph: GraphId) -> Self {
        let mut bytes = *graph.as_bytes();
        for byte in &mut bytes[8..] {
            *byte = !*byte;
        }
        Self::from_bytes(bytes)
    }

    /// The id of what a run starts at a place in one of its chapters: the same whenever the run is rebuilt. `part` tells
    /// several jobs of one place apart.
    pub fn child_of(parent: Self, chapter: u32, place: u32, part: u32) -> Self {
        Self::from_bytes(derived(parent, chapter, place, part))
    }

    /// The id of a node of a graph that draws none itself, such as one that is written as JSON: the same graph's id and
    /// name always give the same, so that a graph enqueued twice under one id is one graph.
    ///
    /// It begins with the graph's instant, as a drawn id would; the rest is a hash (FNV-1a, 128 bits) of both.
    pub fn of_node(graph: GraphId, name: &NodeName) -> Self {
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        let bytes = graph.as_bytes().iter().chain(name.as_str().as_bytes());
        let hash = bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step).to_be_bytes();
        let mut id = *graph.as_bytes();
        id[6..].copy_from_slice(&hash[6..]);
        Self(
            uuid::Builder::from_bytes(id)
                .with_version(uuid::Version::SortRand)
                .with_variant(uuid::Variant::RFC4122)
                .into_uuid(),
        )
    }
}

impl GraphId {
    /// The same for a graph.
    pub fn child_of(parent: JobId, chapter: u32, place: u32) -> Self {
        Self::from_bytes(derived(parent, chapter, place, u32::MAX))
    }
}

/// 16 bytes that follow from a run and a place in it; two places never share them but by chance, as two random ids do.
fn derived(parent: JobId, chapter: u32, place: u32, part: u32) -> [u8; 16] {
    let (high, low) = parent.as_uuid().as_u64_pair();
    let (at, part) = (u64::from(chapter) << 32 | u64::from(place), u64::from(part) + 1);
    let half = |seed: u64, salt: u64| mix(mix(seed ^ salt, at), mix(part, salt));
    let (left, right) = (half(high, low.rotate_left(32)), half(low, !high));
    (u128::from(left) << 64 | u128::from(right)).to_be_bytes()
}

/// One life of a worker: sixteen random bytes drawn when it starts, never reused.
///
/// A process that restarts under the same name is another incarnation, so it cannot take back what
/// its earlier life has lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(Uuid);

impl Incarnation {
    /// Takes sixteen random bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The sixteen bytes, as stores keep them.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The incarnation as a UUID.
    pub const fn as_uuid(&self) -> Uuid {
        self.0
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incarnation({})", self.0)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// What a claim is known by: new at each claim, never reused.
///
/// It is not derived from a stored counter: a requeue resets counters, and a claim that was lost in
/// a crash of the database would otherwise be drawn twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The worker's life that claimed.
    pub worker: Incarnation,
    /// The number of the turn in which it claimed.
    pub turn: u64,
    /// The place within that turn's claims.
    pub index: u16,
}

/// A job under a claim. Every write of a worker carries one, and a stale one changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence {
    /// The store's own number of the job: opaque, valid in the store that gave it.
    pub key: i64,
    /// The claim.
    pub token: Token,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_a_run_have_ids_of_their_own() {
        let parents = [JobId::from_bytes([0; 16]), JobId::from_bytes([7; 16])];
        let mut seen = std::collections::HashSet::new();
        for parent in parents {
            for (chapter, place, part) in
                (0..12).flat_map(|n| (0..12).flat_map(move |m| (0..3).map(move |p| (n, m, p))))
            {
                let id = JobId::child_of(parent, chapter, place, part);
                assert_eq!(id, JobId::child_of(parent, chapter, place, part));
                assert!(seen.insert(*id.as_bytes()));
            }
        }
    }

    #[test]
    fn ids_sort_by_time_and_round_trip_as_text() {
        let early = JobId::from_parts(Timestamp::from_micros(1_000_000), [0xff; 10]);
        let late = JobId::from_parts(Timestamp::from_micros(2_000_000), [0; 10]);
        assert!(early < late);
        assert_eq!(late.to_string().parse::<JobId>(), Ok(late));
        assert_eq!(late.as_uuid().get_version_num(), 7);
    }

    #[test]
    fn a_text_that_is_no_id_is_named() {
        let refused = "daily".parse::<JobId>().unwrap_err();
        assert!(refused.to_string().starts_with("\"daily\" is not an id"));
    }

    #[test]
    fn the_end_of_a_graph_is_neither_the_graph_nor_shared() {
        let a = GraphId::from_parts(Timestamp::from_micros(5), [1; 10]);
        let b = GraphId::from_parts(Timestamp::from_micros(5), [2; 10]);
        assert_ne!(JobId::end_of(a).as_bytes(), a.as_bytes());
        assert_ne!(JobId::end_of(a), JobId::end_of(b));
    }

    #[test]
    fn the_id_of_a_node_follows_from_its_graph_and_name() {
        let (a, b) = (GraphId::from_bytes([1; 16]), GraphId::from_bytes([2; 16]));
        let (one, two) = (NodeName::from_stored("one"), NodeName::from_stored("two"));
        assert_eq!(JobId::of_node(a, &one), JobId::of_node(a, &one));
        assert_ne!(JobId::of_node(a, &one), JobId::of_node(a, &two));
        assert_ne!(JobId::of_node(a, &one).as_bytes()[6..], JobId::of_node(b, &one).as_bytes()[6..]);
        assert_eq!(JobId::of_node(a, &one).as_bytes()[..6], [1; 6]);
        assert_eq!(JobId::of_node(a, &one).as_uuid().get_version_num(), 7);
    }
}
