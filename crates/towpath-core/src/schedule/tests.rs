//! Proof of schedules: texts and refusals, six zones by hand, a naive oracle, a peer, bytes, and sequences of looks.

mod bytes;
mod cost;
mod dates;
mod expressions;
mod looks;
mod oracle;
mod peer;
mod plans;
mod texts;
mod zones;

use super::{Spec, Zone};
use crate::time::Timestamp;

fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

/// `2026-03-29T01:00`, in UTC, with seconds or without.
fn at(text: &str) -> Timestamp {
    let text = if text.len() == 16 { format!("{text}:00Z") } else { format!("{text}Z") };
    Timestamp::from_micros(text.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}

fn shown(instant: Timestamp) -> String {
    let text = jiff::Timestamp::from_microsecond(instant.as_micros()).unwrap().to_string();
    let text = text.trim_end_matches('Z');
    text.strip_suffix(":00").unwrap_or(text).to_string()
}

/// The first so many ticks after an instant, as text.
fn ticks(text: &str, zone_name: &str, after: &str, count: usize) -> String {
    let (spec, zone) = (spec(text), zone(zone_name));
    spec.ticks_after(&zone, at(after)).take(count).map(shown).collect::<Vec<_>>().join(" ")
}
