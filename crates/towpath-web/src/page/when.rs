//! Instants and durations in few characters.

use std::time::Duration;

use maud::{Markup, html};
use towpath::Timestamp;

use crate::look;
use crate::shape;

/// An instant, as how long ago it is. The script keeps it so, and says it whole in the reader's zone.
pub(crate) fn ago(at: Timestamp) -> Markup {
    let Some(exact) = shape::instant(at) else { return html! { "never" } };
    // What changes by itself is no news: the text is of seconds only where the script writes it.
    html! { time datetime=(exact) title=(exact) { (exact[..19].replace('T', " ")) } }
}

pub(crate) fn ago_or_none(at: Option<Timestamp>) -> Markup {
    at.map_or_else(|| html! { span.dim { "–" } }, ago)
}

/// A duration with one unit or two.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 if duration.as_millis() < 1 => "<1 ms".into(),
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// How long something took, or has taken so far.
pub(crate) fn took(from: Option<Timestamp>, to: Option<Timestamp>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => duration(to.since(from)),
        _ => "–".into(),
    }
}

/// Whether an instant lies ahead.
pub(crate) fn is_ahead(at: Timestamp) -> bool {
    at > look::here_and_now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well_at_every_size() {
        let of = |micros| duration(Duration::from_micros(micros));
        assert_eq!(of(400), "<1 ms");
        assert_eq!(of(42_000), "42 ms");
        assert_eq!(of(1_540_000), "1.5 s");
        assert_eq!(of(185_000_000), "3 min 05 s");
        assert_eq!(of(7_800_000_000), "2 h 10 min");
        assert_eq!(of(200_000_000_000), "2 d 07 h");
    }
}
