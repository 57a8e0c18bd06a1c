//! The two types of a `Result`, whichever alias it is written as.

/// What a step and a durable function return: a `Result`, or an alias of one. The macros read its two types by this, so
/// that `-> Answer<u32>` is as good as `-> Result<u32, MyError>`.
#[diagnostic::on_unimplemented(
    message = "a step or a durable function returns a `Result`",
    label = "this is no `Result`",
    note = "without an output it is `Result<(), towpath::Failure>`"
)]
pub trait Outcome {
    /// What success leaves.
    type Ok;
    /// What a failure says.
    type Err;
}

impl<O, E> Outcome for Result<O, E> {
    type Ok = O;
    type Err = E;
}
