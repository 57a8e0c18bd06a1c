//! `@every`: a period on the UTC clock.
//!
//! Ticks are the multiples of the period since 1970-01-01T00:00:00Z: no start has to be kept, and every worker finds the
//! same ones. No zone moves them, so they are even through every change of a clock.

use std::fmt;

use crate::limits;

/// A period of whole seconds, from 1 to [`limits::EVERY_SECONDS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Every(i64);

impl Every {
    /// Reads a period such as `1h30m`.
    ///
    /// # Errors
    /// What is wrong, where it stands in the text in bytes, and which part it is.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, &str, String)> {
        let mut seconds = 0_i64;
        let mut rest = text;
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            let unit = after.bytes().take_while(u8::is_ascii_alphabetic).count();
            let part = &rest[..digits + unit];
            let refuse = |problem: &str| Err((at, if part.is_empty() { rest } else { part }, problem.to_string()));
            let scale = match after[..unit].to_ascii_lowercase().as_str() {
                "s" => 1,
                "m" => 60,
                "h" => 3_600,
                "d" => 86_400,
                "ms" | "us" | "ns" => return refuse("a tick is a whole second: use s, m, h or d"),
                _ => return refuse("write numbers with s, m, h or d, such as 1h30m"),
            };
            let Some(length) = number.parse::<i64>().ok().and_then(|n| n.checked_mul(scale)) else {
                return refuse("write numbers with s, m, h or d, such as 1h30m");
            };
            seconds = seconds.saturating_add(length);
            rest = &after[unit..];
        }
        if seconds == 0 || seconds > limits::EVERY_SECONDS_MAX {
            let days = limits::EVERY_SECONDS_MAX / 86_400;
            return Err((0, text, format!("a period is 1s to {days}d, such as 1h30m")));
        }
        Ok(Self(seconds))
    }

    /// The first tick after a second since the epoch.
    pub(super) fn next_after(self, second: i64) -> Option<i64> {
        (second.div_euclid(self.0) + 1).checked_mul(self.0)
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("@every ")?;
        let mut rest = self.0;
        for (scale, unit) in [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')] {
            if rest >= scale {
                write!(f, "{}{unit}", rest / scale)?;
                rest %= scale;
            }
        }
        Ok(())
    }
}
