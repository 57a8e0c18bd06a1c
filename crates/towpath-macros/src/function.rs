//! A function as a step or a durable function sees it: which of its parameters the engine gives, which are its input.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, LitStr, PathArguments, Result, ReturnType, Signature, Type,
    Visibility,
};

use crate::literal;

/// A function, whose body is of no interest.
pub(crate) struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    pub(crate) signature: Signature,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse()?;
        let _body: TokenStream = input.parse()?;
        Ok(Self { attributes, visibility, signature })
    }
}

/// What a parameter is.
pub(crate) enum Parameter {
    /// `Cx` or `StepCx`: what the engine is called with.
    Context,
    /// `State<T>`, with its `T`.
    State(Box<Type>),
    /// A part of the input.
    Input(Box<Type>),
}

impl Function {
    /// Refuses what no definition can hold, and sorts the parameters.
    pub(crate) fn parameters(&self, what: &str, context: &str) -> Result<Vec<Parameter>> {
        let signature = &self.signature;
        if signature.asyncness.is_none() {
            return Err(Error::new(signature.fn_token.span(), format!("{what} is an `async fn`")));
        }
        if let Some(parameter) = signature.generics.params.first() {
            let problem = format!("{what} has no parameters of its own: its name in the journal stands for one code");
            return Err(Error::new(parameter.span(), problem));
        }
        if let ReturnType::Default = signature.output {
            let problem = format!("{what} returns a `Result`: add `-> Result<(), towpath::Failure>`");
            return Err(Error::new(signature.ident.span(), problem));
        }
        signature.inputs.iter().map(|parameter| sort(parameter, what, context)).collect()
    }

    /// The name in the journal: as given, or the function's with hyphens.
    pub(crate) fn journal_name(&self, given: Option<LitStr>) -> Result<LitStr> {
        if let Some(given) = given {
            return literal::hyphenated(given);
        }
        let ident = &self.signature.ident;
        let name = LitStr::new(&plain(ident).replace('_', "-"), ident.span());
        literal::hyphenated(name).map_err(|e| Error::new(ident.span(), format!("{e}: add name = \"…\"")))
    }

    /// The definition beside the function.
    pub(crate) fn define(&self, parts: &Definition) -> TokenStream {
        let Definition { what, kind, context, name, parameters, more, setters } = parts;
        let ident = &self.signature.ident;
        let constant = Ident::new(&plain(ident).to_uppercase(), ident.span());
        let visibility = &self.visibility;
        let conditions = self.attributes.iter().filter(|a| a.path().is_ident("cfg"));
        let doc = format!("The {what} `{}`: [`{}`].", name.value(), plain(ident));
        let input = input_type(parameters);
        let returned = match &self.signature.output {
            // Refused before.
            ReturnType::Default => quote_spanned! { ident.span() => () },
            ReturnType::Type(_, returned) => quote! { #returned },
        };
        // The spans make the compiler tell at the return type what it lacks, and at the name what the function does.
        // Code of a macro it stays: lints of style are not for it.
        let span = Span::call_site().located_at(returned.span());
        let kind = Ident::new(kind, span);
        let output = quote_spanned! { span => <#returned as ::towpath::durable::Outcome> };
        let ty = quote_spanned! { span => ::towpath::#kind<#input, #output::Ok, #output::Err> };
        let call = self.call(parameters, context);
        let call = quote_spanned! { Span::call_site().located_at(ident.span()) => &#call };
        quote! {
            #(#conditions)*
            #[doc = #doc]
            #visibility const #constant: #ty = ::towpath::#kind::new(#name, #more #call) #(#setters)*;
        }
    }

    /// The function as the engine calls it, with its context and one input.
    fn call(&self, parameters: &[Parameter], context: &TokenStream) -> TokenStream {
        let ident = &self.signature.ident;
        if let [Parameter::Context, Parameter::Input(_)] = parameters {
            return quote! { #ident };
        }
        // Hygiene keeps these names apart from the user's.
        let span = Span::mixed_site().located_at(ident.span());
        let cx = Ident::new("cx", span);
        let names: Vec<Ident> = (0..parameters.len()).map(|at| format_ident!("input_{at}", span = span)).collect();
        let given = parameters.iter().zip(&names).map(|(parameter, name)| match parameter {
            Parameter::Context => quote! { #cx.clone() },
            Parameter::State(state) => quote_spanned! { state.span() => #cx.state::<#state>() },
            Parameter::Input(_) => quote! { #name },
        });
        let inputs: Vec<&Ident> =
            parameters.iter().zip(&names).filter(|(p, _)| input(p).is_some()).map(|(_, name)| name).collect();
        let pattern = match &inputs[..] {
            [one] => quote! { #one },
            all => quote! { (#(#all),*) },
        };
        let input = input_type(parameters);
        quote_spanned! { span => |#cx: #context, #pattern: #input| #ident(#(#given),*) }
    }
}

/// What a definition is made of.
pub(crate) struct Definition<'a> {
    /// For people.
    pub(crate) what: &'static str,
    /// The type of the constant.
    pub(crate) kind: &'static str,
    /// The type that the engine calls with.
    pub(crate) context: TokenStream,
    pub(crate) name: LitStr,
    pub(crate) parameters: &'a [Parameter],
    /// Arguments between the name and the function, with a comma after each.
    pub(crate) more: TokenStream,
    pub(crate) setters: Vec<TokenStream>,
}

/// One input, or the tuple of them.
fn input_type(parameters: &[Parameter]) -> TokenStream {
    let inputs: Vec<&Type> = parameters.iter().filter_map(input).collect();
    match &inputs[..] {
        [one] => quote! { #one },
        all => quote! { (#(#all),*) },
    }
}

fn input(parameter: &Parameter) -> Option<&Type> {
    if let Parameter::Input(input) = parameter { Some(input) } else { None }
}

fn sort(parameter: &FnArg, what: &str, context: &str) -> Result<Parameter> {
    let parameter = match parameter {
        FnArg::Receiver(receiver) => {
            let problem = format!("{what} has no `self`: give what it needs as its input, or as a state");
            return Err(Error::new(receiver.span(), problem));
        }
        FnArg::Typed(parameter) => parameter,
    };
    match &*parameter.ty {
        Type::Reference(reference) => {
            let problem = if last_segment(&reference.elem).is_some_and(|s| s.ident == context) {
                format!("take `{context}` itself: it is cheap to clone")
            } else {
                "an input is read from where it is stored, so there is nothing to borrow it from: take it owned"
                    .to_owned()
            };
            Err(Error::new(reference.span(), problem))
        }
        Type::ImplTrait(any) => {
            Err(Error::new(any.span(), "an input is read from where it is stored: name its one type"))
        }
        ty => Ok(match last_segment(ty) {
            Some(segment) if segment.ident == context => Parameter::Context,
            Some(segment) if segment.ident == "State" => match &segment.arguments {
                PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                    Some(GenericArgument::Type(state)) => Parameter::State(Box::new(state.clone())),
                    _ => Parameter::Input(parameter.ty.clone()),
                },
                // A type of the user's own.
                _ => Parameter::Input(parameter.ty.clone()),
            },
            _ => Parameter::Input(parameter.ty.clone()),
        }),
    }
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    if let Type::Path(path) = ty { path.path.segments.last() } else { None }
}

fn plain(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
