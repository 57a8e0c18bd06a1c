//! Durations as people write them: `500ms`, `30s`, `5m`, `2h`, `1d`.

use std::time::Duration;

/// Reads a whole number and a unit.
///
/// # Errors
/// Says what is wrong with the text.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
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
        other => return Err(format!("{other:?} is no unit")),
    };
    let millis = number.parse::<u64>().ok().and_then(|n| n.checked_mul(millis_per_unit));
    match millis {
        Some(0) => Err("it is zero".into()),
        Some(millis) if millis <= MILLIS_MAX => Ok(Duration::from_millis(millis)),
        _ => Err("it is longer than ten years".into()),
    }
}

/// Ten years: longer ones are typing errors.
const MILLIS_MAX: u64 = 3_650 * 86_400_000;

/// What to do about a bad one.
pub(super) const HELP: &str = "write a whole number and a unit (ms, s, m, h, d), such as \"500ms\" or \"30s\"";

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
    fn what_is_no_duration_says_why() {
        for (text, why) in [
            ("", "a duration begins with a whole number"),
            ("-1s", "a duration begins with a whole number"),
            ("30", "the unit is missing"),
            ("30 s", "\" s\" is no unit"),
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
