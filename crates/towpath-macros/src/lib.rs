//! The macros of Towpath. Thin: they only write what could be written by hand.

mod branch;
mod durable;
mod function;
mod job;
mod literal;
mod step;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Job` for a type that implements serde's `Serialize` and `Deserialize`.
///
/// `#[job(kind = "send-mail")]` is required. Optional: `version = 2`, `output = Type` (default `()`),
/// `alias = "older-name"` (may stand more than once), `upcast = function` (from an older version's input to the next),
/// `queue = "mail"`, `priority = 5`, `attempts = 5`, `timeout = "30s"`, `crash_limit = 3`, `keep = "24h"` and
/// `keep_failed = "30d"` (how long a lone job stays stored once it has ended), `tag = "billing"` (may be repeated), and `gate = Type` in place of `output`, for a job whose output is a `Branch`. Durations are a whole number
/// and `ms`, `s`, `m`, `h` or `d`. The type has no parameters: a kind names one type of input.
#[proc_macro_derive(Job, attributes(job))]
pub fn derive_job(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    job::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Branch` for an enum without fields: each variant is a branch, named in kebab case or as
/// `#[branch("name")]` says.
#[proc_macro_derive(Branch, attributes(branch))]
pub fn derive_branch(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    branch::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Defines a step beside an `async fn`, which stays as it is: `#[step] async fn send_mail(..)` adds
/// `const SEND_MAIL: Step<I, O, E>`, as visible as the function.
///
/// The function takes, in any order, a `StepCx`, a `State<T>` for each thing that the worker gives, and its inputs: none
/// is `()`, several are a tuple. It returns a `Result` (or an alias of one). Options: `name = "send-mail"` (the
/// function's name with hyphens), `version = 2` (1), `attempts = 5` (10), `backoff = "1s..10m"`, `timeout = "30s"`,
/// `retry_if = path` (a `fn(&E) -> bool`), `at_most_once`. Durations are a whole number and `ms`, `s`, `m`, `h` or `d`.
#[proc_macro_attribute]
pub fn step(options: TokenStream, item: TokenStream) -> TokenStream {
    beside(item, |item| step::expand(options.into(), item))
}

/// Defines a durable function beside an `async fn`, which stays as it is:
/// `#[durable(max_duration = "96h")] async fn onboard(cx: Cx<'_>, ..)` adds `const ONBOARD: Durable<I, O, E>`, as visible
/// as the function.
///
/// The function takes `cx: Cx<'_>` and its inputs: none is `()`, several are a tuple. It returns a `Result` (or an alias
/// of one). `max_duration` is required: how long a run may take, asleep or not. Options: `name = "onboard"` (the
/// function's name with hyphens), `version = 2` (1).
#[proc_macro_attribute]
pub fn durable(options: TokenStream, item: TokenStream) -> TokenStream {
    beside(item, |item| durable::expand(options.into(), item))
}

/// The item as written, then what is defined beside it, or why it cannot be.
fn beside(
    item: TokenStream,
    define: impl FnOnce(proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let mut all = item.clone();
    all.extend(TokenStream::from(define(item.into()).unwrap_or_else(syn::Error::into_compile_error)));
    all
}
