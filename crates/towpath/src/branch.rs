//! Gates: jobs whose output is the branch that a graph goes on with.

use towpath_core::Label;

use crate::job::Job;

/// The branches of a gate, one value each. Derive it for an enum without fields:
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use towpath::{Branch, Job};
///
/// #[derive(Serialize, Deserialize, Branch)]
/// enum Shipping {
///     Express,
///     #[branch("by-hand")]
///     Pickup,
/// }
///
/// #[derive(Serialize, Deserialize, Job)]
/// #[job(kind = "choose-shipping", gate = Shipping)]
/// struct ChooseShipping {
///     weight: u32,
/// }
///
/// assert_eq!(Shipping::LABELS, ["express", "by-hand"]);
/// ```
///
/// `bool` is one too, with the branches `yes` and `no`: an `if`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no branch of a gate",
    note = "derive `Branch` for an enum without fields, or use `bool`"
)]
pub trait Branch {
    /// The names of all branches: 1 to 64 of `a-z 0-9 . _ -`. A stored graph asks for them by name.
    const LABELS: &'static [&'static str];

    /// The name of this one.
    fn label(&self) -> &'static str;
}

impl Branch for bool {
    const LABELS: &'static [&'static str] = &["yes", "no"];

    fn label(&self) -> &'static str {
        if *self { "yes" } else { "no" }
    }
}

/// A job whose output is a branch. `#[job(gate = Shipping)]` implements it, and [`Job::labels`] and [`Job::chosen`]
/// with it, which whoever writes it out by hand must not forget:
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// use towpath::{Branch, Gate, Job};
///
/// #[derive(Serialize, Deserialize)]
/// struct IsLarge(u64);
///
/// impl Job for IsLarge {
///     const KIND: &'static str = "is-large";
///     type Output = bool;
///
///     fn labels() -> &'static [&'static str] {
///         bool::LABELS
///     }
///     fn chosen(output: &bool) -> Option<&'static str> {
///         Some(output.label())
///     }
/// }
///
/// impl Gate for IsLarge {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no gate, so it has no branches",
    note = "a gate is a job whose output is a branch: `#[job(gate = Type)]`, where `Type` derives `Branch`"
)]
pub trait Gate: Job<Output: Branch> {}

/// The labels of a kind, as its jobs carry them.
pub(crate) fn labels<J: Job>() -> Result<Vec<Label>, towpath_core::InvalidName> {
    J::labels().iter().map(|label| Label::new(label)).collect()
}
