//! Durations and instants as scripts write them: `1h30m`, `0.25s`, `+10s` from the script's start.

use std::time::Duration;

use towpath_core::Timestamp;

use crate::error::ScriptError;

/// Reads a duration such as `10s`, `250ms` or `1h30m`.
pub(crate) fn parse(text: &str) -> Result<Duration, ScriptError> {
    let bad = || ScriptError::new(format!("{text:?} is not a duration: write such as 10s, 250ms, 1h30m"));
    let mut rest = text;
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let (number, tail) = rest.split_at(digits);
        let unit_len = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_len);
        let seconds = match unit {
            "us" => 0.000_001,
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return Err(bad()),
        };
        let number: f64 = number.parse().map_err(|_| bad())?;
        total += Duration::from_micros((number * seconds * 1e6).round() as u64);
        rest = tail;
    }
    Ok(total)
}

/// Writes a duration so that [`parse`] reads it back.
pub(crate) fn show(duration: Duration) -> String {
    let micros = duration.as_micros();
    if micros == 0 {
        return "0s".into();
    }
    let mut out = String::new();
    let mut left = micros;
    for (unit, size) in [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000)] {
        if left >= size {
            out.push_str(&format!("{}{unit}", left / size));
            left %= size;
        }
    }
    if left > 0 {
        let fraction = left % 1_000_000;
        let mut seconds = (left / 1_000_000).to_string();
        if fraction > 0 {
            seconds.push_str(format!(".{fraction:06}").trim_end_matches('0'));
        }
        out.push_str(&format!("{seconds}s"));
    }
    out
}

/// Reads an instant such as `+10s`, counted from the script's start.
pub(crate) fn parse_instant(text: &str, start: Timestamp) -> Result<Timestamp, ScriptError> {
    match text.strip_prefix('+') {
        Some(offset) => Ok(start + parse(offset)?),
        None => Err(ScriptError::new(format!("{text:?} is not an instant: write such as +10s, from the start"))),
    }
}

/// Writes an instant as an offset from the script's start.
pub(crate) fn show_instant(at: Timestamp, start: Timestamp) -> String {
    if at == Timestamp::NEVER {
        return "never".into();
    }
    if at < start {
        return format!("-{}", show(start.since(at)));
    }
    format!("+{}", show(at.since(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_reads_back_as_it_was_written() {
        for text in ["0s", "10s", "0.25s", "1h30m", "2d1h1.5s", "0.000001s", "30d"] {
            assert_eq!(show(parse(text).unwrap()), text);
        }
        assert_eq!(show(parse("90s").unwrap()), "1m30s");
        assert_eq!(show(parse("250ms").unwrap()), "0.25s");
        for text in ["", "10", "s", "1y", "x5s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_instant_counts_from_the_start() {
        let start = Timestamp::from_micros(5_000_000);
        assert_eq!(parse_instant("+10s", start).unwrap().as_micros(), 15_000_000);
        assert!(parse_instant("10s", start).is_err());
        assert_eq!(show_instant(Timestamp::ZERO, start), "-5s");
    }
}
