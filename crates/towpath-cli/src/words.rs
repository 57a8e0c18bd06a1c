//! Times and durations as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use towpath::{End, Timestamp};

/// A duration with one unit or two: `0.4s`, `12.0s`, `3m 05s`, `2h 10m`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", duration.as_secs_f64()),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The time of day here and now.
pub(crate) fn time_of_day() -> String {
    jiff::ZonedDateTime::now().strftime("%H:%M:%S").to_string()
}

/// What the clock here says.
pub(crate) fn here_and_now() -> Timestamp {
    Timestamp::ZERO + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// How something ended, as a verb.
pub(crate) fn ended(end: End) -> &'static str {
    match end {
        End::Succeeded => "succeeded",
        End::Dead => "died",
        End::Cancelled => "was cancelled",
        End::Quarantined => "was set aside",
        End::Skipped(_) => "was skipped",
    }
}

/// An instant in UTC, as RFC 3339 has it.
pub(crate) fn instant(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(at) => format!("{at:.3}"),
        Err(_) => "never".to_owned(),
    }
}

/// A text for a cell: of a long one, the head and the tail.
pub(crate) fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHORT_CHARS {
        return text.to_owned();
    }
    let head = text.chars().take(SHORT_CHARS / 2 - 1);
    head.chain(['…']).chain(text.chars().skip(count - SHORT_CHARS / 2)).collect()
}

/// More than most names have, and less than one that ends in an id.
const SHORT_CHARS: usize = 24;

/// A count with its noun.
pub(crate) fn count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well_at_every_size() {
        let of = |millis| duration(Duration::from_millis(millis));
        assert_eq!(of(40), "0.0s");
        assert_eq!(of(59_940), "59.9s");
        assert_eq!(of(185_000), "3m 05s");
        assert_eq!(of(7_800_000), "2h 10m");
    }

    #[test]
    fn long_texts_keep_their_ends() {
        assert_eq!(short("default"), "default");
        assert_eq!(short("abcdefghijklmnopqrstuvwx"), "abcdefghijklmnopqrstuvwx");
        assert_eq!(short("abcdefghijklmnopqrstuvwxy"), "abcdefghijk…nopqrstuvwxy");
    }

    #[test]
    fn instants_are_utc_with_milliseconds() {
        assert_eq!(instant(Timestamp::from_micros(1_700_000_000_123_456)), "2023-11-14T22:13:20.123Z");
    }
}
