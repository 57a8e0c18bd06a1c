//! `#[derive(Job)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{DeriveInput, Error, LitInt, LitStr, Result, Type};

#[derive(Default)]
struct Options {
    kind: Option<LitStr>,
    version: Option<LitInt>,
    output: Option<Type>,
    gate: Option<Type>,
    setters: Vec<TokenStream>,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let options = parse(input)?;
    let Some(kind) = options.kind else {
        return Err(Error::new(input.ident.span(), "a job needs a kind: add #[job(kind = \"…\")]"));
    };
    check_kind(&kind)?;
    let name = &input.ident;
    let (generics, type_generics, clause) = input.generics.split_for_impl();
    let version = options.version.map(|v| quote! { const VERSION: u16 = #v; });
    if let (Some(output), Some(_)) = (&options.output, &options.gate) {
        return Err(Error::new(output.span(), "a gate's output is its branch: leave out `output`"));
    }
    let gate = options.gate.is_some().then(|| {
        quote! { impl #generics ::towpath::Gate for #name #type_generics #clause {} }
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
    let setters = options.setters;
    let defaults = (!setters.is_empty()).then(|| {
        quote! {
            fn defaults() -> ::towpath::JobDefaults {
                ::towpath::JobDefaults::new() #(#setters)*
            }
        }
    });
    Ok(quote! {
        impl #generics ::towpath::Job for #name #type_generics #clause {
            const KIND: &'static str = #kind;
            #version
            type Output = #output;
            #defaults
            #branches
        }
        #gate
    })
}

fn parse(input: &DeriveInput) -> Result<Options> {
    let mut options = Options::default();
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("job")) {
        attribute.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let span = meta.path.span();
            match name.as_str() {
                "kind" => options.kind = Some(meta.value()?.parse()?),
                "version" => options.version = Some(meta.value()?.parse()?),
                "output" => options.output = Some(meta.value()?.parse()?),
                "gate" => options.gate = Some(meta.value()?.parse()?),
                "queue" | "tag" => {
                    let text: LitStr = meta.value()?.parse()?;
                    let setter = syn::Ident::new(&name, span);
                    options.setters.push(quote! { .#setter(#text) });
                }
                "priority" => {
                    let number: syn::Expr = meta.value()?.parse()?;
                    options.setters.push(quote! { .priority(#number) });
                }
                "attempts" | "crash_limit" => {
                    let number: LitInt = meta.value()?.parse()?;
                    if number.base10_parse::<u32>()? == 0 {
                        return Err(Error::new(number.span(), "use at least 1"));
                    }
                    let setter = syn::Ident::new(&name, span);
                    options.setters.push(quote! { .#setter(#number) });
                }
                "timeout" => {
                    let text: LitStr = meta.value()?.parse()?;
                    let millis = millis(&text)?;
                    options.setters.push(quote! { .timeout(::core::time::Duration::from_millis(#millis)) });
                }
                _ => {
                    let known = "kind, version, output, gate, queue, priority, attempts, timeout, crash_limit, tag";
                    return Err(Error::new(span, format!("unknown option {name:?}: use one of {known}")));
                }
            }
            Ok(())
        })?;
    }
    Ok(options)
}

fn check_kind(kind: &LitStr) -> Result<()> {
    let text = kind.value();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    if text.is_empty() || text.len() > 64 || !text.chars().all(allowed) {
        return Err(Error::new(kind.span(), "a kind is 1 to 64 of a-z 0-9 . _ -"));
    }
    Ok(())
}

fn millis(text: &LitStr) -> Result<u64> {
    let value = text.value();
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &value[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => 0,
    };
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(millis) if millis > 0 => Ok(millis),
        _ => Err(Error::new(text.span(), "a duration is a whole number and ms, s, m, h or d, such as \"30s\"")),
    }
}
