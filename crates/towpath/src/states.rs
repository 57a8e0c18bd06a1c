//! What an application gives its worker for its handlers, by type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A value that the application gave its worker ([`WorkerBuilder::state`](crate::WorkerBuilder::state)), in the hands of
/// a step. Cheap to clone.
///
/// ```
/// use towpath::{Failure, State, step};
///
/// struct Prices {
///     tea_cents: u32,
/// }
///
/// #[step]
/// async fn price(prices: State<Prices>, cups: u32) -> Result<u32, Failure> {
///     Ok(prices.tea_cents * cups)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Failure> {
/// // The function is an ordinary one, in a test of it as well.
/// assert_eq!(price(State::new(Prices { tea_cents: 250 }), 2).await?, 500);
/// # Ok(())
/// # }
/// ```
pub struct State<T>(Arc<T>);

impl<T> State<T> {
    /// A state of this value, for calling a step as the function that it is.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// The value, shared.
    pub fn into_arc(self) -> Arc<T> {
        self.0
    }
}

impl<T> From<Arc<T>> for State<T> {
    fn from(value: Arc<T>) -> Self {
        Self(value)
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for State<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A state that a step cannot do without, so that a worker can say before it starts that it has none.
#[derive(Clone, Copy)]
pub struct NeededState {
    name: fn() -> &'static str,
    is_in: fn(&States) -> bool,
}

impl NeededState {
    /// The state of this type.
    pub const fn of<T: Send + Sync + 'static>() -> Self {
        Self { name: type_name::<T>, is_in: |states| states.get::<T>().is_some() }
    }

    pub(crate) fn name(&self) -> &'static str {
        (self.name)()
    }

    pub(crate) fn is_in(&self, states: &States) -> bool {
        (self.is_in)(states)
    }
}

impl fmt::Debug for NeededState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state {}", self.name())
    }
}

/// Values by type. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct States {
    by_type: Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl States {
    /// Adds a value, in place of another of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        Arc::make_mut(&mut self.by_type).insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<State<T>> {
        self.by_type.get(&TypeId::of::<T>())?.clone().downcast().ok().map(State)
    }
}
