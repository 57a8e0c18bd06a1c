//! The derive macros of Towpath. Thin: they only write what could be written by hand.

mod branch;
mod job;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Job` for a type that implements serde's `Serialize` and `Deserialize`.
///
/// `#[job(kind = "send-mail")]` is required. Optional: `version = 2`, `output = Type` (default `()`),
/// `queue = "mail"`, `priority = 5`, `attempts = 5`, `timeout = "30s"`, `crash_limit = 3`, `tag = "billing"` (may
/// be repeated), and `gate = Type` in place of `output`, for a job whose output is a `Branch`. Durations are a whole number and `ms`, `s`, `m`, `h` or `d`.
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
