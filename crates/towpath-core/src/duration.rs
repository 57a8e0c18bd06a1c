//! Durations as people write them: `500ms`, `30s`, `5m`, `2h`, `1d`.

use std::time::Duration;

/// Reads a whole number and a unit, at least 1 ms and at most ten years.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(towpath_core::duration::parse("90s"), Ok(Duration::from_secs(90)));
/// ```
///
/// # Errors
/// Says what is wrong with the text.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("a duration begins with a whole number".into());
    }
    let millis_per_unit: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" => return Err("the unit is missing".into()),
        other if UNITS.contains(&other.trim()) => return Err(format!("{:?} stands apart", other.trim())),
        other => return Err(format!("{:?} is no unit", other.trim())),
    };
    let millis = number.parse::<u64>().ok().and_then(|n| n.checked_mul(millis_per_unit));
    match millis {
        Some(0) => Err("it is zero".into()),
        Some(millis) if millis <= MILLIS_MAX => Ok(Duration::from_millis(millis)),
        _ => Err("it is longer than ten years".into()),
    }
}

/// What to do about a text that is none: what was meant, if that can be seen.
pub fn help(text: &str) -> String {
    match meant(text) {
        Some(meant) => format!("did you mean {meant:?}? {HELP}"),
        None => HELP.to_owned(),
    }
}

/// A number and a unit as people say it: `10 minutes` is `10m`, `1.5h` is `90m`.
fn meant(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim().trim_end_matches('s') {
        "" if unit.trim().is_empty() => "s",
        "" | "sec" | "second" => "s",
        "m" if unit.trim() == "ms" => "ms",
        "milli" | "msec" | "millisecond" => "ms",
        "m" | "min" | "minute" => "m",
        "h" | "hr" | "hour" => "h",
        "d" | "day" => "d",
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return (whole > 0).then(|| format!("{whole}{unit}"));
    }
    let (finer, ratio) = match unit {
        "s" => ("ms", 1_000.0),
        "m" => ("s", 60.0),
        "h" => ("m", 60.0),
        "d" => ("h", 24.0),
        _ => return None,
    };
    let finer_count = number.parse::<f64>().ok()? * ratio;
    (finer_count >= 1.0 && finer_count.fract() == 0.0).then(|| format!("{finer_count}{finer}"))
}

const UNITS: [&str; 5] = ["ms", "s", "m", "h", "d"];
/// Ten years: longer ones are typing errors.
const MILLIS_MAX: u64 = 3_650 * 86_400_000;

/// What to do about a bad one.
const HELP: &str = "write a whole number and a unit (ms, s, m, h, d), such as \"500ms\" or \"30s\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_count_as_they_say() {
        for (text, millis) in [("1ms", 1), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000)] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_was_meant_is_told_where_it_can_be_seen() {
        for (text, meaning) in [
            ("10 minutes", Some("10m")),
            ("1 minute", Some("1m")),
            ("30", Some("30s")),
            ("30 s", Some("30s")),
            ("5 MS", Some("5ms")),
            ("2hrs", Some("2h")),
            ("1.5h", Some("90m")),
            ("0.5 seconds", Some("500ms")),
            ("3 days", Some("3d")),
            ("soon", None),
            ("0 minutes", None),
            ("2 fortnights", None),
            ("1.5ms", None),
            ("", None),
        ] {
            assert_eq!(meant(text).as_deref(), meaning, "{text}");
            if let Some(meaning) = meaning {
                assert!(parse(meaning).is_ok(), "{meaning}");
            }
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        for (text, why) in [
            ("", "a duration begins with a whole number"),
            ("-1s", "a duration begins with a whole number"),
            ("30", "the unit is missing"),
            ("30 s", "\"s\" stands apart"),
            ("10 minutes", "\"minutes\" is no unit"),
            ("1.5h", "\".5h\" is no unit"),
            ("0s", "it is zero"),
            ("99999999999999999999d", "it is longer than ten years"),
            ("3651d", "it is longer than ten years"),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()), "{text}");
        }
        assert!(parse("3650d").is_ok());
    }
}
