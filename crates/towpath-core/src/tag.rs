//! Tags: labels and `key=value` texts by which people find jobs. What one may be, and how many a job may have.

use crate::limits;

/// A tag of a key and a value, as it is kept: `key=value`.
///
/// ```
/// assert_eq!(towpath_core::tag::pair("customer", 7), "customer=7");
/// ```
pub fn pair(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key}={value}")
}

/// Checks what tags may be: at most [`TAGS_MAX`](limits::TAGS_MAX), each of 1 to [`TAG_BYTES_MAX`](limits::TAG_BYTES_MAX)
/// bytes without control characters.
///
/// # Errors
/// What is wrong with the first that cannot be, or that there are too many, with both numbers.
pub fn check(tags: &[String]) -> Result<(), String> {
    problems(tags).next().map_or(Ok(()), Err)
}

/// All that is wrong with tags, of which [`check`] says the first.
pub fn problems(tags: &[String]) -> impl Iterator<Item = String> + '_ {
    let too_many = tags.len() > limits::TAGS_MAX;
    let too_many = too_many.then(|| format!("{} tags, at most {} are allowed", tags.len(), limits::TAGS_MAX));
    too_many.into_iter().chain(tags.iter().filter_map(|tag| problem(tag)))
}

fn problem(tag: &str) -> Option<String> {
    if tag.is_empty() {
        return Some("an empty tag: leave it out".into());
    }
    if tag.len() > limits::TAG_BYTES_MAX {
        let (bytes, max) = (tag.len(), limits::TAG_BYTES_MAX);
        return Some(format!("the tag {:?} of {bytes} bytes, at most {max} are allowed", limits::cut(tag, 60)));
    }
    let has_control = tag.contains(char::is_control);
    has_control.then(|| format!("the tag {tag:?}, which holds a control character: remove it"))
}

/// The least text that is greater than everything that begins with `prefix`, in the order of bytes; `None` if there is none.
/// With it a store looks through the tags of a prefix as a range of its index.
pub fn after_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // Past the surrogates, which are no characters.
        let next = if last == '\u{D7FF}' { Some('\u{E000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_at_the_limits_pass_and_past_them_do_not() {
        let texts = |count: usize, bytes: usize| vec!["x".repeat(bytes); count];
        assert_eq!(check(&texts(32, 128)), Ok(()));
        assert!(check(&texts(33, 1)).unwrap_err().contains("33 tags, at most 32"));
        assert!(check(&texts(1, 129)).unwrap_err().contains("129 bytes, at most 128"));
        assert!(check(&texts(1, 0)).unwrap_err().contains("empty"));
        assert!(check(&["a\nb".into()]).unwrap_err().contains("control"));
        let wrong: Vec<String> = problems(&["".into(), "fine".into(), "a\nb".into(), "x".repeat(129)]).collect();
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }

    #[test]
    fn what_comes_after_a_prefix_is_behind_all_that_begin_with_it() {
        for prefix in ["a", "customer=", "ü", "a\u{10FFFF}", "\u{D7FF}"] {
            let after = after_prefix(prefix).unwrap();
            assert!(after.as_str() > format!("{prefix}\u{10FFFF}\u{10FFFF}").as_str(), "{prefix:?} {after:?}");
            assert!(!after.starts_with(prefix));
        }
        assert_eq!((after_prefix(""), after_prefix("\u{10FFFF}")), (None, None));
    }
}
