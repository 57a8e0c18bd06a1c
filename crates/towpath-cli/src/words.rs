//! Times and durations as people read them.

use std::time::Duration;

use towpath::Timestamp;

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

/// An instant in UTC, as RFC 3339 has it.
pub(crate) fn instant(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(at) => format!("{at:.3}"),
        Err(_) => "never".to_owned(),
    }
}

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
    fn instants_are_utc_with_milliseconds() {
        assert_eq!(instant(Timestamp::from_micros(1_700_000_000_123_456)), "2023-11-14T22:13:20.123Z");
    }
}
