//! Names, numbers and durations as they stand in an attribute, refused at compile time: by the rules that would refuse
//! them when a job is enqueued or a worker starts, and what only a typing error says, such as an empty tag.

use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Error, LitInt, LitStr, Result};

/// The option that stands here: a known one, and for the first time.
pub(crate) fn option(meta: &ParseNestedMeta<'_>, known: &[&str], seen: &[String]) -> Result<String> {
    let path: Vec<String> = meta.path.segments.iter().map(|s| s.ident.to_string()).collect();
    let name = path.join("::");
    let span = meta.path.span();
    if !known.contains(&name.as_str()) {
        return Err(Error::new(span, format!("unknown option {name:?}: use one of {}", known.join(", "))));
    }
    if seen.contains(&name) && name != "tag" {
        return Err(Error::new(span, format!("{name} is there twice: remove one")));
    }
    Ok(name)
}

/// A kind: a token that is not the product's own.
pub(crate) fn kind(text: LitStr) -> Result<LitStr> {
    if text.value().starts_with("towpath.") {
        return Err(Error::new(text.span(), "kinds that begin with \"towpath.\" are kept for the product"));
    }
    token(text, "a kind")
}

/// A name that stands in addresses, SQL and command lines.
pub(crate) fn token(text: LitStr, what: &str) -> Result<LitStr> {
    let name = text.value();
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let problem = match name.chars().find(|c| !is_allowed(*c)) {
        _ if name.is_empty() => "this one is empty".to_owned(),
        _ if name.len() > 64 => format!("this one has {} bytes", name.len()),
        Some(c) => format!("this one has {c:?}"),
        None => return Ok(text),
    };
    Err(Error::new(text.span(), format!("{what} is 1 to 64 of a-z 0-9 . _ -, {problem}")))
}

/// A name of a step or a durable function.
pub(crate) fn hyphenated(text: LitStr) -> Result<LitStr> {
    let name = text.value();
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let problem = match name.chars().find(|c| !is_allowed(*c)) {
        _ if name.is_empty() => "this one is empty".to_owned(),
        _ if name.len() > 64 => format!("this one has {} bytes", name.len()),
        Some(c) => format!("this one has {c:?}"),
        None if name.starts_with('-') || name.ends_with('-') => format!("this one is {name:?}"),
        None => return Ok(text),
    };
    Err(Error::new(text.span(), format!("a name is 1 to 64 of a-z 0-9 and inner hyphens, {problem}")))
}

/// A label for people.
pub(crate) fn tag(text: LitStr) -> Result<LitStr> {
    match text.value().len() {
        1..=128 => Ok(text),
        bytes => Err(Error::new(text.span(), format!("a tag has 1 to 128 bytes, this one has {bytes}"))),
    }
}

/// A number from 1 to a limit.
pub(crate) fn count(number: LitInt, max: u64) -> Result<LitInt> {
    match number.base10_parse::<u64>() {
        Ok(value) if (1..=max).contains(&value) => Ok(number),
        _ => Err(Error::new(number.span(), format!("use a number from 1 to {max}"))),
    }
}

/// A duration such as `30s`, in milliseconds.
pub(crate) fn millis(text: &LitStr) -> Result<u64> {
    let value = text.value();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let millis_per_unit = UNITS.iter().find(|(name, _)| *name == unit).map_or(0, |(_, millis)| *millis);
    match number.parse::<u64>().ok().and_then(|n| n.checked_mul(millis_per_unit)) {
        Some(millis) if millis > 0 => Ok(millis),
        _ => {
            let meant = meant(number, unit).map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
            let rule = "a duration is a whole number, at least 1, and ms, s, m, h or d, such as \"30s\"";
            Err(Error::new(text.span(), format!("{rule}{meant}")))
        }
    }
}

/// What somebody meant who wrote a unit as a word: `10 minutes` is `10m`.
fn meant(number: &str, unit: &str) -> Option<String> {
    let unit = unit.trim().to_ascii_lowercase();
    let unit = match unit.trim_end_matches('s') {
        "" => "s",
        "m" if unit == "ms" => "ms",
        "milli" | "msec" | "millisecond" => "ms",
        "sec" | "second" => "s",
        "m" | "min" | "minute" => "m",
        "h" | "hr" | "hour" => "h",
        "d" | "day" => "d",
        _ => return None,
    };
    number.parse::<u64>().ok().filter(|n| *n > 0).map(|n| format!("{n}{unit}"))
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
