//! The derive macros of Towpath. Thin: they only write what could be written by hand.

mod job;
mod literal;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Job` for a type that implements serde's `Serialize` and `Deserialize`.
///
/// `#[job(kind = "send-mail")]` is required. Optional: `version = 2`, `output = Type` (default `()`),
/// `queue = "mail"`, `priority = 5`, `attempts = 5`, `timeout = "30s"`, `crash_limit = 3`, `tag = "billing"` (may
/// be repeated). Durations are a whole number and `ms`, `s`, `m`, `h` or `d`. The type has no parameters: a kind names
/// one type of input.
#[proc_macro_derive(Job, attributes(job))]
pub fn derive_job(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    job::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
