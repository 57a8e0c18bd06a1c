//! Payloads as people read them: JSON in lines, everything else by its size, and nothing of what may not be seen.

use maud::{Markup, html};
use towpath::core::BlobRef;
use towpath::{Kind, Payload};

use crate::app::Ctx;
use crate::options::{Action, Part};

/// Characters that are shown; the API has the whole.
const SHOWN_CHARS: usize = 20_000;

pub(crate) fn payload(ctx: &Ctx, kind: &Kind, part: Part, payload: &Payload) -> Markup {
    if payload.bytes.is_empty() {
        return html! { span.dim { "none" } };
    }
    if !ctx.may(Action::SeePayloads) {
        return hidden(ctx);
    }
    if let Ok(Some(blob)) = BlobRef::of(payload) {
        return html! {
            p.dim.small { (blob.bytes) " bytes, kept elsewhere as " (blob.name.as_str()) ", which begin so:" }
            (text(ctx, kind, part, &blob.preview))
        };
    }
    match payload.decode::<Box<serde_json::value::RawValue>>() {
        Ok(json) => json_text(ctx, kind, part, json.get()),
        Err(_) => html! { span.dim { (payload.bytes.len()) " bytes that only the application understands" } },
    }
}

/// JSON in lines, to be changed and given back; `None` of what is no JSON, or is not shown as it is.
pub(crate) fn editable(ctx: &Ctx, kind: &Kind, part: Part, payload: &Payload) -> Option<String> {
    let json = payload.decode::<Box<serde_json::value::RawValue>>().ok()?;
    // What was replaced for the eyes of some must not be written back in place of what there is.
    ctx.shown(kind, part, json.get()).filter(|shown| shown == json.get()).map(|shown| in_lines(&shown))
}

/// JSON in lines. Its numbers are not read, so that they stay as they are.
pub(crate) fn json_text(ctx: &Ctx, kind: &Kind, part: Part, json: &str) -> Markup {
    match ctx.shown(kind, part, json) {
        None => hidden(ctx),
        Some(text) => pre(&in_lines(&text)),
    }
}

pub(crate) fn text(ctx: &Ctx, kind: &Kind, part: Part, text: &str) -> Markup {
    ctx.shown(kind, part, text).map_or_else(|| hidden(ctx), |text| pre(&text))
}

fn pre(text: &str) -> Markup {
    let cut = text.char_indices().nth(SHOWN_CHARS).map(|(at, _)| at);
    html! {
        pre tabindex="0" { (&text[..cut.unwrap_or(text.len())]) }
        @if cut.is_some() { p.dim.small { "The first " (SHOWN_CHARS) " characters; the API has the whole." } }
    }
}

fn hidden(ctx: &Ctx) -> Markup {
    html! { span.dim { "hidden: " (ctx.user.name) " may not see payloads" } }
}

/// Puts JSON text into lines by its brackets and commas alone.
pub(crate) fn in_lines(json: &str) -> String {
    let (mut out, mut depth, mut in_text, mut escaped) = (String::with_capacity(json.len() * 2), 0_usize, false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            (in_text, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' if chars.peek().is_some_and(|next| *next == '}' || *next == ']') => {
                out.push(c);
                out.extend(chars.next());
            }
            '{' | '[' => {
                depth += 1;
                out.push(c);
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(40)));
}

#[cfg(test)]
mod tests {
    use super::in_lines;

    #[test]
    fn json_is_put_into_lines_and_its_numbers_and_texts_stay() {
        let text = in_lines(r#"{"a":[18446744073709551615,1.50],"b\",{":"x: [y], \\","c":{} ,"d":[]}"#);
        let lines = "{\n  \"a\": [\n    18446744073709551615,\n    1.50\n  ],\n  \"b\\\",{\": \"x: [y], \\\\\",\n  \"c\": {},\n  \"d\": []\n}";
        assert_eq!(text, lines);
    }
}
