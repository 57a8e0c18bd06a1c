//! Secrets are taken out of whatever a command or a server says, before anything is kept or shown.
//!
//! What is said may be JSON, and is decoded later: a secret is found in every form that JSON has for it (RFC 8259, section 7), such as
//! `\/` and `\u002B`.

use std::sync::Arc;

/// What must not be shown: secrets, and the forms that JSON gives them.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The longest first, so that of two of which one begins the other, the whole goes.
    secrets: Arc<Vec<String>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({})", self.secrets.len())
    }
}

/// What stands in place of a secret.
const MARK: &[u8] = b"***";

impl Redactor {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        let secrets = Arc::make_mut(&mut self.secrets);
        let in_json = serde_json::to_string(secret).unwrap_or_default();
        let in_json = in_json.trim_start_matches('"').trim_end_matches('"').to_owned();
        // What reads line by line sees the lines of a secret one by one.
        let lines = secret.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES_MIN).map(str::to_owned);
        for form in [secret.to_owned(), in_json].into_iter().chain(lines.collect::<Vec<_>>()) {
            if !form.is_empty() && !secrets.contains(&form) {
                secrets.push(form);
            }
        }
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// A text without them.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut stream = self.stream();
        let mut clean = stream.take(text.as_bytes());
        clean.extend(stream.finish());
        String::from_utf8_lossy(&clean).into_owned()
    }

    /// A stream without them, wherever its chunks end.
    pub(crate) fn stream(&self) -> Stream {
        Stream { secrets: Arc::clone(&self.secrets), held: Vec::new() }
    }
}

/// A stream on its way.
pub(crate) struct Stream {
    secrets: Arc<Vec<String>>,
    /// What may be the beginning of a secret.
    held: Vec<u8>,
}

impl Stream {
    /// Takes a chunk, and answers what can be shown by now.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() {
            return chunk.to_vec();
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(chunk);
        let (mut clean, mut at) = (Vec::with_capacity(bytes.len()), 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            // A longer one that may still come is waited for before a shorter one is taken.
            let found = look_for_all(&self.secrets, rest);
            if found.contains(&Found::Begun) {
                self.held = rest.to_vec();
                return clean;
            }
            match whole(&found) {
                Some(length) => {
                    clean.extend_from_slice(MARK);
                    at += length;
                }
                None => {
                    clean.push(rest[0]);
                    at += 1;
                }
            }
        }
        clean
    }

    /// What is left when the stream has ended.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut clean = Vec::new();
        let mut held = std::mem::take(&mut self.held);
        while let Some(first) = held.first().copied() {
            match whole(&look_for_all(&self.secrets, &held)) {
                Some(length) => {
                    clean.extend_from_slice(MARK);
                    held.drain(..length);
                }
                None => {
                    clean.push(first);
                    held.remove(0);
                }
            }
        }
        clean
    }
}

/// What of a secret stands at the beginning of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// Nothing.
    No,
    /// The text ends before the secret does.
    Begun,
    /// All of it, in so many bytes.
    Whole(usize),
}

fn look_for_all(secrets: &[String], text: &[u8]) -> Vec<Found> {
    secrets.iter().map(|secret| look_for(secret, text)).filter(|found| *found != Found::No).collect()
}

/// The length of the longest secret that is there.
fn whole(found: &[Found]) -> Option<usize> {
    let length = |found: &Found| if let Found::Whole(length) = found { Some(*length) } else { None };
    found.iter().filter_map(length).max()
}

/// Looks for a secret as it is, and then character by character, each as it is or escaped.
fn look_for(secret: &str, text: &[u8]) -> Found {
    if text.starts_with(secret.as_bytes()) {
        return Found::Whole(secret.len());
    }
    if secret.as_bytes().starts_with(text) {
        return Found::Begun;
    }
    let mut at = 0;
    for wanted in secret.chars() {
        let rest = &text[at..];
        let mut utf8 = [0; 4];
        let plain = wanted.encode_utf8(&mut utf8).as_bytes();
        match unescaped(rest) {
            Escape::Of(said, length) if said == wanted => at += length,
            Escape::Cut => return Found::Begun,
            _ if rest.starts_with(plain) => at += plain.len(),
            _ if plain.starts_with(rest) => return Found::Begun,
            _ => return Found::No,
        }
    }
    Found::Whole(at)
}

/// What an escape at the beginning of a text stands for.
enum Escape {
    /// There is none.
    No,
    /// The text ends in it.
    Cut,
    /// A character, in so many bytes.
    Of(char, usize),
}

fn unescaped(text: &[u8]) -> Escape {
    let [b'\\', rest @ ..] = text else { return Escape::No };
    let Some(kind) = rest.first() else { return Escape::Cut };
    let short = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return by_number(text),
        _ => return Escape::No,
    };
    Escape::Of(short, 2)
}

/// `\uXXXX`, or two of them for a character beyond the first 65,536.
fn by_number(text: &[u8]) -> Escape {
    let unit = |at: usize| -> Result<u16, Escape> {
        let part = &text[at.min(text.len())..text.len().min(at + 6)];
        let fits = part.iter().zip(0..).all(|(byte, place)| match place {
            0 => *byte == b'\\',
            1 => *byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        });
        let number = part.get(2..6).and_then(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (fits, number) {
            (true, Some(number)) => Ok(number),
            (true, None) => Err(Escape::Cut),
            (false, _) => Err(Escape::No),
        }
    };
    let first = match unit(0) {
        Ok(first) => first,
        Err(escape) => return escape,
    };
    if let Some(said) = char::from_u32(u32::from(first)) {
        return Escape::Of(said, 6);
    }
    match unit(6) {
        Ok(second) => match char::decode_utf16([first, second]).next() {
            Some(Ok(said)) => Escape::Of(said, 12),
            _ => Escape::No,
        },
        Err(escape) => escape,
    }
}

/// Shorter lines of a secret, such as a bracket, stand in many texts.
const LINE_BYTES_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(secrets: &[&str], text: &str, chunk: usize) -> String {
        let mut redactor = Redactor::default();
        secrets.iter().for_each(|secret| redactor.add(secret));
        let mut stream = redactor.stream();
        let mut clean: Vec<u8> = text.as_bytes().chunks(chunk).flat_map(|chunk| stream.take(chunk)).collect();
        clean.extend(stream.finish());
        String::from_utf8(clean).unwrap()
    }

    #[test]
    fn secrets_are_taken_out_wherever_chunks_end() {
        for chunk in 1..12 {
            assert_eq!(clean(&["hunter2"], "a hunter2 b hunter hunter2", chunk), "a *** b hunter ***");
            assert_eq!(clean(&["ab", "abcd"], "abcd abc ab a", chunk), "*** ***c *** a");
            assert_eq!(clean(&["a\"b\\"], r#"{"x":"a\"b\\"}"#, chunk), r#"{"x":"***"}"#);
            assert_eq!(clean(&["first-line\nsecond-line"], "x second-line\n", chunk), "x ***\n");
            assert_eq!(clean(&[], "nothing", chunk), "nothing");
            assert_eq!(clean(&["aab"], "aaab aa", chunk), "a*** aa");
            assert_eq!(
                clean(&["aG8/d29+bG="], r#"{"a":"aG8\/d29+bG=","b":"aG8/d29\u002BbG\u003d"}"#, chunk),
                r#"{"a":"***","b":"***"}"#
            );
            assert_eq!(
                clean(&["süß🙂"], r#""s\u00FC\u00df\ud83d\ude42" süß🙂 s\u00fcX"#, chunk),
                r#""***" *** s\u00fcX"#
            );
            assert_eq!(clean(&["a\\b"], r"a\b a\\b a\tb \", chunk), r"*** *** a\tb \");
        }
    }

    #[test]
    fn a_redactor_shows_nothing_of_itself() {
        let mut redactor = Redactor::default();
        redactor.add("hunter2");
        assert_eq!(format!("{redactor:?}"), "Redactor(1)");
        assert_eq!(redactor.text("the word hunter2"), "the word ***");
    }
}
