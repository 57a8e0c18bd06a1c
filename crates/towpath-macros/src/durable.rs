//! `#[durable]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{Error, LitInt, LitStr, Result};

use crate::function::{Definition, Function, Parameter};
use crate::literal;

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    version: Option<LitInt>,
    max_duration: Option<u64>,
    /// The options seen so far, which may stand once.
    seen: Vec<String>,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut given = Options::default();
    syn::meta::parser(|meta| given.take(&meta)).parse2(options)?;
    let function: Function = syn::parse2(item)?;
    let parameters = function.parameters("a durable function", "Cx")?;
    let ident = &function.signature.ident;
    if !matches!(parameters.first(), Some(Parameter::Context)) {
        return Err(Error::new(ident.span(), "a durable function takes `cx: Cx<'_>` first"));
    }
    for (parameter, as_written) in parameters.iter().zip(&function.signature.inputs).skip(1) {
        let problem = match parameter {
            Parameter::State(_) => {
                "a state differs from process to process, so no replay can rely on it: use it in a step"
            }
            Parameter::Context => "one `cx` is enough",
            Parameter::Input(_) => continue,
        };
        return Err(Error::new(as_written.span(), problem));
    }
    let Some(millis) = given.max_duration else {
        let problem = "a durable function needs a limit of time, asleep or not: add max_duration = \"96h\"";
        return Err(Error::new(ident.span(), problem));
    };
    let version = given.version.map_or_else(|| quote! { 1 }, |version| quote! { #version });
    let definition = Definition {
        what: "durable function",
        kind: "Durable",
        context: quote! { ::towpath::Cx<'static> },
        name: function.journal_name(given.name)?,
        parameters: &parameters,
        more: quote! { #version, ::core::time::Duration::from_millis(#millis), },
        setters: Vec::new(),
    };
    Ok(function.define(&definition))
}

impl Options {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = literal::option(meta, &KNOWN, &self.seen)?;
        match name.as_str() {
            "name" => self.name = Some(meta.value()?.parse()?),
            "version" => self.version = Some(literal::count(meta.value()?.parse()?, u16::MAX.into())?),
            _ => self.max_duration = Some(literal::millis(&meta.value()?.parse()?)?),
        }
        self.seen.push(name);
        Ok(())
    }
}

const KNOWN: [&str; 3] = ["name", "version", "max_duration"];
