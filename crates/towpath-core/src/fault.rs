//! Faults that a test puts back, to see itself turn red.
//!
//! A check that cannot fail proves nothing. Each fault here is one that systems of this kind have had. Without the
//! feature `faults` nothing of it is compiled in; with it, a fault is there only after [`put_back`], for as long as
//! the process lives.

use std::fmt;

/// A fault that can be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A store takes an outcome without a look at its claim.
    SkipFence,
    /// A store counts what ended twice for its children.
    ReleaseTwice,
    /// The PostgreSQL store locks nodes as they come, not by their keys.
    LockOutOfOrder,
    /// A store does not count again when it is asked to.
    NoRecount,
    /// A worker rescues others although it has not spoken to the store for a lease itself.
    RescueWithoutContact,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SkipFence, Self::ReleaseTwice, Self::LockOutOfOrder, Self::NoRecount, Self::RescueWithoutContact];

    /// The name under which a test asks for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SkipFence => "skip-fence",
            Self::ReleaseTwice => "release-twice",
            Self::LockOutOfOrder => "lock-out-of-order",
            Self::NoRecount => "no-recount",
            Self::RescueWithoutContact => "rescue-without-contact",
        }
    }

    /// The fault of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "faults")]
mod switch {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Fault;

    static PUT_BACK: AtomicU8 = AtomicU8::new(0);

    /// Puts a fault back, for the rest of the process.
    pub fn put_back(fault: Fault) {
        PUT_BACK.fetch_or(1 << fault as u8, Ordering::SeqCst);
    }

    /// Whether a fault was put back.
    pub fn is_put_back(fault: Fault) -> bool {
        PUT_BACK.load(Ordering::Relaxed) & (1 << fault as u8) != 0
    }
}

#[cfg(feature = "faults")]
pub use switch::{is_put_back, put_back};

/// Whether a fault was put back: none can be.
#[cfg(not(feature = "faults"))]
#[inline(always)]
pub const fn is_put_back(_: Fault) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_by_its_name() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(fault));
            assert!(!is_put_back(fault), "nobody has put it back");
        }
        assert_eq!(Fault::named("none"), None);
    }
}
