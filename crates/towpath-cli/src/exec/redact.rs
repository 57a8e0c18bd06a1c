//! Secrets are taken out of whatever a command or a server says, before anything is kept or shown.

use std::sync::Arc;

/// What must not be shown: secrets, and the forms that JSON gives them.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The longest first, so that of two of which one begins the other, the whole goes.
    secrets: Arc<Vec<Vec<u8>>>,
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
            if !form.is_empty() && !secrets.contains(&form.as_bytes().to_vec()) {
                secrets.push(form.into_bytes());
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
    secrets: Arc<Vec<Vec<u8>>>,
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
            let begun = self.secrets.iter().find(|secret| secret.len() > rest.len() && secret.starts_with(rest));
            if begun.is_some() {
                self.held = rest.to_vec();
                return clean;
            }
            match self.secrets.iter().find(|secret| rest.starts_with(secret)) {
                Some(secret) => {
                    clean.extend_from_slice(MARK);
                    at += secret.len();
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
            match self.secrets.iter().find(|secret| held.starts_with(secret)) {
                Some(secret) => {
                    clean.extend_from_slice(MARK);
                    held.drain(..secret.len());
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
