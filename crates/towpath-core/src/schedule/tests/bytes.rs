//! Any bytes at all, and mutations of good texts: the parser neither panics nor lets anything through that it cannot show.

use proptest::prelude::*;
use std::time::{Duration, Instant};

use super::expressions::expression;
use super::{at, zone};
use crate::schedule::Spec;

/// What a text that is understood must keep, and how long both may take.
fn check(text: &str) -> Result<(), TestCaseError> {
    let began = Instant::now();
    match Spec::parse(text) {
        Ok(spec) => {
            let normal = spec.to_string();
            prop_assert_eq!(Spec::parse(&normal), Ok(spec.clone()), "{:?} is shown as {:?}", text, normal);
            for name in ["UTC", "Europe/Berlin"] {
                let (zone, now) = (zone(name), at("2026-03-28T12:00"));
                let tick = spec.next_after(&zone, now);
                prop_assert!(tick.is_some_and(|tick| tick > now), "{:?} has no tick", text);
            }
        }
        Err(refused) => {
            prop_assert!(refused.at >= 1 && refused.at <= text.chars().count() + 1, "{:?}", refused);
            let rest: String = text.chars().skip(refused.at - 1).collect();
            prop_assert!(rest.starts_with(&refused.found) || refused.found.len() >= 60, "{:?}", refused);
        }
    }
    // Microseconds in truth; the bound is for a machine that does much else.
    prop_assert!(began.elapsed() < Duration::from_secs(2), "{:?} took {:?}", text, began.elapsed());
    Ok(())
}

/// Words that expressions are made of, and some that nearly are.
const WORDS: &[&str] = &[
    "*", "?", "/", "-", ",", "#", "L", "W", "LW", "L-", "0", "1", "5", "7", "29", "30", "31", "59", "60", "99999",
    "MON", "sun", "FEB", "dec", "@every ", "@daily", "1h", "30m", "ms", " ", "\t", "ü", "\0", "+", "٣",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_of_any_sort_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(words in prop::collection::vec(prop::sample::select(WORDS), 0..30)) {
        check(&words.concat())?;
    }

    #[test]
    fn expressions_with_a_place_changed_are_read_or_refused(
        good in expression(true), word in prop::sample::select(WORDS), place in any::<prop::sample::Index>(), cut in 0_usize..3,
    ) {
        let good: Vec<char> = good.text().chars().collect();
        let place = place.index(good.len() + 1);
        let text: String = good[..place].iter().copied().chain(word.chars()).chain(good[(place + cut).min(good.len())..].iter().copied()).collect();
        check(&text)?;
    }

    #[test]
    fn expressions_are_shown_as_what_they_are(good in expression(false)) {
        check(&good.text())?;
    }
}
