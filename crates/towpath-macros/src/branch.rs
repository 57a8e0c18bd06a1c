//! `#[derive(Branch)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "branches are the variants of an enum: make it one"));
    };
    if data.variants.is_empty() {
        return Err(Error::new(input.ident.span(), "a gate needs a branch: add a variant"));
    }
    let mut labels: Vec<String> = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(variant.fields.span(), "a branch has no fields: pass data on in a node's output"));
        }
        let label = label(variant)?;
        if labels.contains(&label) {
            return Err(Error::new(variant.span(), format!("two branches are named {label:?}: rename one")));
        }
        labels.push(label);
    }
    let name = &input.ident;
    let (generics, type_generics, clause) = input.generics.split_for_impl();
    let variants = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        impl #generics ::towpath::Branch for #name #type_generics #clause {
            const LABELS: &'static [&'static str] = &[#(#labels),*];

            fn label(&self) -> &'static str {
                match self {
                    #(Self::#variants => #labels,)*
                }
            }
        }
    })
}

/// What `#[branch("…")]` says, or the variant's name in kebab case.
fn label(variant: &Variant) -> Result<String> {
    let mut label = None;
    for attribute in variant.attrs.iter().filter(|a| a.path().is_ident("branch")) {
        let text: LitStr = attribute.parse_args()?;
        let value = text.value();
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if value.is_empty() || value.len() > 64 || !value.chars().all(allowed) {
            return Err(Error::new(text.span(), "a branch is named by 1 to 64 of a-z 0-9 . _ -"));
        }
        label = Some(value);
    }
    let name = variant.ident.to_string();
    let label = label.unwrap_or_else(|| kebab(name.trim_start_matches("r#")));
    if label.len() > 64 || !label.is_ascii() {
        return Err(Error::new(variant.span(), "name this branch: add #[branch(\"…\")] with 1 to 64 of a-z 0-9 . _ -"));
    }
    Ok(label)
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 && !kebab.ends_with('_') {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}
