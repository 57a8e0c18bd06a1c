//! Signals: what a run waits for by name, and what comes with it.

use std::fmt;
use std::marker::PhantomData;

use super::function::check_name;

/// The name and type of a signal.
///
/// ```
/// use towpath::Signal;
/// const CONFIRMED: Signal<u32> = Signal::new("confirmed");
/// ```
///
/// A bad name does not compile:
///
/// ```compile_fail
/// # use towpath::Signal;
/// const CONFIRMED: Signal<u32> = Signal::new("Confirmed!");
/// ```
pub struct Signal<T> {
    pub(super) name: &'static str,
    payload: PhantomData<fn() -> T>,
}

impl<T> Signal<T> {
    /// A signal of this name: 1 to 64 of a-z 0-9 and inner hyphens.
    pub const fn new(name: &'static str) -> Self {
        check_name(name);
        Self { name, payload: PhantomData }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Signal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Signal<T> {}

impl<T> fmt::Debug for Signal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signal {}", self.name)
    }
}
