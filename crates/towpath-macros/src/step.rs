//! `#[step]`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Error, Expr, Ident, LitStr, Result};

use crate::function::{Definition, Function, Parameter};
use crate::literal;

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    setters: Vec<TokenStream>,
    /// The options seen so far, which may stand once.
    seen: Vec<String>,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut given = Options::default();
    syn::meta::parser(|meta| given.take(&meta)).parse2(options)?;
    let function: Function = syn::parse2(item)?;
    let parameters = function.parameters("a step", "StepCx")?;
    for parameter in &function.signature.inputs {
        refuse_cx(parameter)?;
    }
    let name = function.journal_name(given.name)?;
    let states: Vec<_> = parameters.iter().filter_map(state).collect();
    let mut setters = given.setters;
    if !states.is_empty() {
        setters.push(quote! { .needs(const { &[#(::towpath::durable::NeededState::of::<#states>()),*] }) });
    }
    let definition = Definition {
        what: "step",
        kind: "Step",
        context: quote! { ::towpath::StepCx },
        name,
        parameters: &parameters,
        more: TokenStream::new(),
        setters,
    };
    Ok(function.define(&definition))
}

fn state(parameter: &Parameter) -> Option<&syn::Type> {
    if let Parameter::State(state) = parameter { Some(state) } else { None }
}

/// A step has no operations: its work is done again as a whole.
fn refuse_cx(parameter: &syn::FnArg) -> Result<()> {
    let syn::FnArg::Typed(parameter) = parameter else { return Ok(()) };
    let syn::Type::Path(path) = &*parameter.ty else { return Ok(()) };
    match path.path.segments.last() {
        Some(segment) if segment.ident == "Cx" => {
            let problem = "a step takes `StepCx`: operations of a run are for its durable function";
            Err(Error::new(segment.ident.span(), problem))
        }
        _ => Ok(()),
    }
}

impl Options {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = literal::option(meta, &KNOWN, &self.seen)?;
        let span = meta.path.span();
        let excluded = match name.as_str() {
            "at_most_once" => Some("attempts"),
            "attempts" => Some("at_most_once"),
            _ => None,
        };
        if excluded.is_some_and(|other| self.seen.iter().any(|seen| seen == other)) {
            let problem = "attempts and at_most_once exclude each other: what is begun once is tried once";
            return Err(Error::new(span, problem));
        }
        let setter = Ident::new(&name, span);
        match name.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "version" => {
                let number = literal::count(meta.value()?.parse()?, u16::MAX.into())?;
                self.setters.push(quote! { .version(#number) });
            }
            "attempts" => {
                let number = literal::count(meta.value()?.parse()?, u32::MAX.into())?;
                self.setters.push(quote! { .attempts(#number) });
            }
            "timeout" => {
                let limit = duration(&meta.value()?.parse()?)?;
                self.setters.push(quote! { .timeout(#limit) });
            }
            "backoff" => {
                let (base, cap) = backoff(&meta.value()?.parse()?)?;
                self.setters.push(quote! { .backoff(#base, #cap) });
            }
            "retry_if" => {
                let rule: Expr = meta.value()?.parse()?;
                self.setters.push(quote_spanned! { rule.span() => .retry_if(#rule) });
            }
            _ => self.setters.push(quote! { .#setter() }),
        }
        self.seen.push(name);
        Ok(())
    }
}

fn duration(text: &LitStr) -> Result<TokenStream> {
    let millis = literal::millis(text)?;
    Ok(quote! { ::core::time::Duration::from_millis(#millis) })
}

/// `1s..10m`: the wait after the first failure, and the longest.
fn backoff(text: &LitStr) -> Result<(TokenStream, TokenStream)> {
    let value = text.value();
    let Some((base, cap)) = value.split_once("..") else {
        let problem = "a backoff is the wait after the first failure and the longest, such as \"1s..10m\"";
        return Err(Error::new(text.span(), problem));
    };
    let part = |part: &str| LitStr::new(part.trim(), text.span());
    let (base, cap) = (part(base), part(cap));
    if literal::millis(&base)? > literal::millis(&cap)? {
        return Err(Error::new(text.span(), "the first wait is longer than the longest: exchange them"));
    }
    Ok((duration(&base)?, duration(&cap)?))
}

const KNOWN: [&str; 7] = ["name", "version", "attempts", "timeout", "backoff", "at_most_once", "retry_if"];
