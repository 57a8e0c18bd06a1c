//! Nodes that the product performs itself, as every worker serves them: gates of expressions, waits, timers, graphs inside a
//! graph, and maps over lists.

mod again;
mod before;
#[cfg(feature = "cel")]
mod gate;
mod held;
mod map;
mod nested;
mod source;

#[cfg(feature = "cel")]
pub use gate::ExpressionGate;

pub use held::{Each, EachEnded, ElementEnd, ElementGraph, InnerGraph, InnerOutputs};

pub(crate) use source::{Path, Root};

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use towpath_core::Label;
use towpath_core::builtin::{self, Map, Nested, Wait};

use crate::durable::{Cx, Durable, Race2};
use crate::failure::Failure;
use crate::job::Job;
use crate::middleware::Left;
use crate::registry::Registry;

/// A node that waits for a signal: its output is what the signal carries. Read it by name,
/// `cx.ancestor_named::<WaitFor<Approval>>("approve")`.
pub struct WaitFor<T> {
    pub(crate) wait: Wait,
    output: PhantomData<fn() -> T>,
}

impl<T> WaitFor<T> {
    pub(crate) fn new(signal: Label) -> Self {
        Self { wait: Wait { signal, timeout_us: None }, output: PhantomData }
    }
}

/// A node that is a run of a durable function: what it has left is the function's value. Read it by name,
/// `cx.ancestor_named::<Ran<u64>>("sell")`; its kind is the function's own.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Ran<O> {
    #[serde(skip)]
    output: PhantomData<fn() -> O>,
}

impl<O> fmt::Debug for Ran<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ran")
    }
}

impl<O: Serialize + DeserializeOwned + Send + 'static> Job for Ran<O> {
    /// Of no job that is stored: functions have kinds of their own.
    const KIND: &'static str = RAN;
    type Output = O;
}

/// What stands for the kind of any durable function.
pub(crate) const RAN: &str = "towpath.run";

impl<T> fmt::Debug for WaitFor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitFor").field(&self.wait).finish()
    }
}

impl<T> Serialize for WaitFor<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.wait.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for WaitFor<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { wait: Wait::deserialize(deserializer)?, output: PhantomData })
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Job for WaitFor<T> {
    const KIND: &'static str = builtin::SIGNAL;
    type Output = T;
}

/// A node that does nothing when it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timer;

impl Serialize for Timer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Timer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self)
    }
}

impl Job for Timer {
    const KIND: &'static str = builtin::TIMER;
    type Output = ();
}

/// What every worker serves beside its own.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_builtin(|_: Timer, _| async { Ok(Left { output: None, branches: Vec::new() }) });
    #[cfg(feature = "cel")]
    registry.add_builtin(gate::choose);
    registry.durable(WAIT);
    registry.durable(NESTED);
    registry.durable(MAP);
    registry
}

const WAIT: Durable<Wait, Box<RawValue>, Failure> = Durable::builtin(builtin::SIGNAL, WAIT_MAX, &wait);

async fn wait(cx: Cx<'_>, wait: Wait) -> Result<Box<RawValue>, Failure> {
    let signal = cx.signal_named::<Box<RawValue>>(wait.signal.clone());
    let Some(limit) = wait.timeout_us.map(Duration::from_micros) else { return Ok(signal.await) };
    match cx.race((signal, cx.sleep(limit))).await {
        Race2::A(payload) => Ok(payload),
        Race2::B(()) => Err(Failure::new(format!("no signal {} came within {limit:?}", wait.signal))),
    }
}

const NESTED: Durable<Nested, Box<RawValue>, Failure> = Durable::builtin(builtin::GRAPH, WAIT_MAX, &nested::run);
const MAP: Durable<Map, Box<RawValue>, Failure> = Durable::builtin(builtin::MAP, WAIT_MAX, &map::run);

/// Whether this build fits a history of one of these functions; `None` if it is of another one.
pub(crate) fn replay(history: &towpath_core::replay::History) -> Option<Result<(), String>> {
    let replayed = match (history.header.function.as_str(), history.header.version) {
        (builtin::SIGNAL, 1) => crate::testing::replay(WAIT, history),
        (builtin::GRAPH, 1) => crate::testing::replay(NESTED, history),
        (builtin::MAP, 1) => crate::testing::replay(MAP, history),
        _ => return None,
    };
    Some(replayed.map(|_| ()))
}

#[cfg(test)]
mod tests;

/// A wait without a limit of its own ends with its graph; a function must have one.
const WAIT_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);
