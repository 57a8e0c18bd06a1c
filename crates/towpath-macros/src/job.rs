//! `#[derive(Job)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, LitInt, LitStr, Path, Result, Type};

use crate::literal;

#[derive(Default)]
struct Options {
    kind: Option<LitStr>,
    version: Option<LitInt>,
    output: Option<Type>,
    gate: Option<Type>,
    aliases: Vec<LitStr>,
    upcast: Option<Path>,
    setters: Vec<TokenStream>,
    /// The options seen so far that may stand only once.
    seen: Vec<String>,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    check_shape(input)?;
    let options = parse(input)?;
    let Some(kind) = options.kind else {
        return Err(Error::new(input.ident.span(), "a job needs a kind: add #[job(kind = \"…\")]"));
    };
    let name = &input.ident;
    let version = options.version.map(|v| quote! { const VERSION: u16 = #v; });
    if let (Some(output), Some(_)) = (&options.output, &options.gate) {
        return Err(Error::new(output.span(), "a gate's output is its branch: leave out `output`"));
    }
    let gate = options.gate.is_some().then(|| {
        quote! { impl ::towpath::Gate for #name {} }
    });
    let branches = options.gate.as_ref().map(|branch| {
        quote! {
            fn labels() -> &'static [&'static str] {
                <#branch as ::towpath::Branch>::LABELS
            }
            fn chosen(output: &Self::Output) -> ::core::option::Option<&'static str> {
                ::core::option::Option::Some(::towpath::Branch::label(output))
            }
        }
    });
    let output = options.output.or(options.gate).map_or_else(|| quote! { () }, |t| quote! { #t });
    let aliases = options.aliases;
    let aliases = (!aliases.is_empty()).then(|| {
        quote! { const ALIASES: &'static [&'static str] = &[#(#aliases),*]; }
    });
    let upcast = options.upcast.map(|upcast| {
        quote! {
            fn upcast(
                from: u16,
                input: ::towpath::JsonValue,
            ) -> ::core::result::Result<::towpath::JsonValue, ::std::string::String> {
                #upcast(from, input)
            }
        }
    });
    let setters = options.setters;
    let defaults = (!setters.is_empty()).then(|| {
        quote! {
            fn defaults() -> ::towpath::JobDefaults {
                ::towpath::JobDefaults::new() #(#setters)*
            }
        }
    });
    Ok(quote! {
        impl ::towpath::Job for #name {
            const KIND: &'static str = #kind;
            #version
            #aliases
            type Output = #output;
            #upcast
            #defaults
            #branches
        }
        #gate
    })
}

/// A kind names one input that can be kept: not a family of types, and nothing borrowed.
fn check_shape(input: &DeriveInput) -> Result<()> {
    if let Data::Union(data) = &input.data {
        return Err(Error::new(
            data.union_token.span(),
            "a job is a struct or an enum: what a union holds is not known",
        ));
    }
    if let Some(parameter) = input.generics.params.first() {
        let problem = "a job has no parameters: its kind names one type of input, which owns all that it holds";
        return Err(Error::new(parameter.span(), problem));
    }
    Ok(())
}

fn parse(input: &DeriveInput) -> Result<Options> {
    let mut options = Options::default();
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("job")) {
        attribute.parse_nested_meta(|meta| options.take(&meta))?;
    }
    Ok(options)
}

impl Options {
    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let name = literal::option(meta, &KNOWN, &self.seen)?;
        let span = meta.path.span();
        let value = meta.value()?;
        let setter = syn::Ident::new(&name, span);
        match name.as_str() {
            "kind" => self.kind = Some(literal::kind(value.parse()?)?),
            "alias" => self.aliases.push(literal::kind(value.parse()?)?),
            "upcast" => self.upcast = Some(value.parse()?),
            "version" => self.version = Some(literal::count(value.parse()?, u16::MAX.into())?),
            "output" => self.output = Some(value.parse()?),
            "gate" => self.gate = Some(value.parse()?),
            "queue" => {
                let queue = literal::token(value.parse()?, "a queue")?;
                self.setters.push(quote! { .queue(#queue) });
            }
            "tag" => {
                let tag = literal::tag(value.parse()?)?;
                self.setters.push(quote! { .tag(#tag) });
            }
            "priority" => {
                let number: Expr = value.parse()?;
                self.setters.push(quote! { .priority(#number) });
            }
            "attempts" | "crash_limit" => {
                let number = literal::count(value.parse()?, u32::MAX.into())?;
                self.setters.push(quote! { .#setter(#number) });
            }
            _ => {
                let millis = literal::millis(&value.parse()?)?;
                self.setters.push(quote! { .#setter(::core::time::Duration::from_millis(#millis)) });
            }
        }
        if !matches!(name.as_str(), "alias" | "tag") {
            self.seen.push(name);
        }
        Ok(())
    }
}

const KNOWN: [&str; 14] = [
    "kind",
    "alias",
    "version",
    "upcast",
    "output",
    "gate",
    "queue",
    "priority",
    "attempts",
    "timeout",
    "crash_limit",
    "keep",
    "keep_failed",
    "tag",
];
