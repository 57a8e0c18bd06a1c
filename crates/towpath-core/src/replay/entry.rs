//! The lines of a run's journal: what was delivered to the function, in order, and what it had open.
//!
//! A line is stored as JSON and outlives releases: fields are only added, with a default.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::carried::Carried;
use crate::payload::{DecodeError, EncodeError, Payload};
use crate::time::Timestamp;

/// The place of an operation in its run: operations are numbered in the order in which they are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pos(pub u32);

impl Pos {
    /// Where a run listens for its cancel.
    pub const CANCEL: Self = Self(0);
    /// The timer of the longest time that it may take.
    pub const DEADLINE: Self = Self(1);
    /// The first operation of the function itself.
    pub const FIRST: Self = Self(2);
    /// Of an operation that was built where none can be; it never resolves.
    pub const NOWHERE: Self = Self(u32::MAX);

    /// Whether it belongs to the frame around the function.
    pub const fn is_reserved(self) -> bool {
        self.0 < Self::FIRST.0
    }
}

impl fmt::Display for Pos {
    /// As people count: the function's own operations from 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CANCEL => f.write_str("cancel"),
            Self::DEADLINE => f.write_str("deadline"),
            Self(n) => write!(f, "{}", n - 1),
        }
    }
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OpKind {
    /// The wait for a cancel.
    Cancel,
    /// The limit of the run's time.
    Deadline,
    /// Work outside, recorded when it is done.
    Step,
    /// Work in the store's database, recorded with what it wrote.
    Transact,
    /// A wait for an instant.
    Timer,
    /// A wait for a signal.
    Signal,
    /// A wait for an update, which the function answers.
    Update,
    /// A job, graph or run that was started, and the wait for its end.
    Child,
    /// The same without the wait.
    Detached,
}

impl OpKind {
    /// The word that people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Deadline => "deadline",
            Self::Step => "step",
            Self::Transact => "transaction",
            Self::Timer => "timer",
            Self::Signal => "signal",
            Self::Update => "update",
            Self::Child => "child",
            Self::Detached => "detached child",
        }
    }
}

/// Who an operation is: what replay compares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ident {
    /// What it is.
    pub kind: OpKind,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub name: Cow<'static, str>,
    /// Its version.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u16,
    /// The fingerprint of its input.
    #[serde(default, with = "hex")]
    pub input: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(version: &u16) -> bool {
    *version == 0
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        if self.version > 0 {
            write!(f, " v{}", self.version)?;
        }
        write!(f, " (input {:016x})", self.input)
    }
}

/// A line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// The first line: when the function was first entered.
    Began {
        /// The instant.
        at: Timestamp,
        /// The version of the function.
        version: u16,
        /// What the function is given, if it is not what its job was: in a later chapter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Outcome>,
        /// What lines behind this one were carried over from another journal, by a retry or a fork.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carried: Option<Box<Carried>>,
    },
    /// An operation was opened, and is waited for.
    Opened {
        /// Its place.
        pos: Pos,
        /// Who it is.
        op: Ident,
        /// When it is over, if it is a timer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due: Option<Timestamp>,
    },
    /// The child of an operation is stored: it need not be started again.
    Started {
        /// The place of the operation.
        pos: Pos,
    },
    /// An attempt of a step has failed and it is to be tried again.
    Failed {
        /// Its place.
        pos: Pos,
        /// How many attempts have failed so far.
        failures: u32,
        /// When it is tried again.
        due: Timestamp,
        /// What went wrong.
        error: String,
    },
    /// The function asked whether a patch is in, and it is.
    Patched {
        /// The patch.
        id: String,
    },
    /// An operation is done, and the function was told.
    Done {
        /// Its place.
        pos: Pos,
        /// Who it is.
        op: Ident,
        /// When the function was told.
        at: Timestamp,
        /// What it came to.
        outcome: Outcome,
        /// The number in the inbox of the signal that it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrival: Option<i64>,
        /// Whether the line was committed by itself, with rows of the application's: what it has caused comes after it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
        /// Of a failure: the place of the operation that was to be built next. What has a lower one, and is none of those below, follows
        /// from none of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Pos>,
        /// Of a failure: the operations that were built and not waited for yet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unopened: Vec<Pos>,
    },
    /// The function is over, by itself or because it was stopped, and its run is not: children are waited for, or undone is
    /// what it did.
    Left {
        /// When.
        at: Timestamp,
    },
    /// The function goes on in the next chapter.
    Continued {
        /// When.
        at: Timestamp,
    },
    /// The function returned.
    Ended {
        /// When.
        at: Timestamp,
        /// Its error, if it returned one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Outcome>,
    },
}

impl Entry {
    /// The line as it is stored.
    ///
    /// # Errors
    /// It holds a NUL character, which not every store can keep.
    pub fn encode(&self) -> Result<Payload, EncodeError> {
        Payload::json(self)
    }

    /// A stored line.
    ///
    /// # Errors
    /// It is of a newer release, or damaged.
    pub fn decode(payload: &Payload) -> Result<Self, DecodeError> {
        payload.decode()
    }

    /// A line as a store gives it.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub fn read(line: &crate::store::Entry) -> Result<Self, DecodeError> {
        let mut entry = Self::decode(&line.payload)?;
        if let Self::Began { at, carried: Some(carried), .. } = &mut entry {
            carried.written(at, line.at);
        }
        Ok(entry)
    }
}

/// What an operation came to, as JSON text.
#[derive(Clone)]
pub struct Outcome(Arc<RawValue>);

impl Outcome {
    /// Encodes a value.
    ///
    /// # Errors
    /// It has no JSON form.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, EncodeError> {
        let raw = serde_json::value::to_raw_value(value)
            .map_err(|e| EncodeError { problem: format!("it has no JSON form: {e}") })?;
        Ok(Self(raw.into()))
    }

    /// Nothing.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned().into())
    }

    /// Takes JSON text.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn from_json(text: &[u8]) -> Result<Self, DecodeError> {
        let raw: Box<RawValue> = serde_json::from_slice(text).map_err(|e| DecodeError { problem: e.to_string() })?;
        Ok(Self(raw.into()))
    }

    /// The JSON text.
    pub fn json(&self) -> &str {
        self.0.get()
    }

    /// Decodes it.
    ///
    /// # Errors
    /// It is of another shape.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, DecodeError> {
        serde_json::from_str(self.0.get()).map_err(|e| DecodeError { problem: e.to_string() })
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get())
    }
}

impl PartialEq for Outcome {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for Outcome {}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(deserializer)?.into()))
    }
}

/// Numbers of 64 bits as text: what reads JSON elsewhere often has only 53.
pub(super) mod hex {
    use serde::{Deserializer, Serializer, de};

    pub(in super::super) fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:016x}"))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = u64;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("16 hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
                u64::from_str_radix(text, 16).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_json_and_comes_back() {
        let op = Ident { kind: OpKind::Step, name: "charge".into(), version: 2, input: 0xfb95 };
        let entry = Entry::Done {
            pos: Pos(3),
            op,
            at: Timestamp::from_micros(7),
            outcome: Outcome::of(&("a", 1)).unwrap(),
            arrival: None,
            alone: false,
            next: None,
            unopened: Vec::new(),
        };
        let payload = entry.encode().unwrap();
        let text = r#"{"done":{"pos":3,"op":{"kind":"step","name":"charge","version":2,"input":"000000000000fb95"},"at":7,"outcome":["a",1]}}"#;
        assert_eq!(std::str::from_utf8(&payload.bytes).unwrap(), text);
        assert_eq!(Entry::decode(&payload).unwrap().encode().unwrap(), payload);
    }

    #[test]
    fn people_count_from_one() {
        assert_eq!([Pos::CANCEL, Pos::DEADLINE, Pos::FIRST].map(|pos| pos.to_string()), ["cancel", "deadline", "1"]);
    }
}
