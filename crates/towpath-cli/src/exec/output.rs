//! A command's output: its last line, if that is JSON.

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use towpath::Payload;
use towpath::core::limits;

/// The last line with something in it, and the one being written.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    done: Line,
    current: Line,
}

/// A line, kept as far as it may matter.
#[derive(Debug, Default)]
struct Line {
    kept: Vec<u8>,
    bytes: usize,
    /// The last byte that is not white space, also where the line is not kept any more.
    last: u8,
}

/// What a command's last line means.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is JSON.
    Output(Box<RawValue>),
    /// It is not, or there is none.
    None {
        /// What may surprise the author.
        note: Option<String>,
    },
    /// It is JSON that cannot be kept.
    Refused(String),
}

impl LastLine {
    pub(super) fn take(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            match piece.split_last() {
                Some((b'\n', text)) => {
                    self.current.take(text);
                    let line = std::mem::take(&mut self.current);
                    if !line.is_blank() {
                        self.done = line;
                    }
                }
                _ => self.current.take(piece),
            }
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        let line = if self.current.is_blank() { &self.done } else { &self.current };
        line.verdict()
    }
}

impl Line {
    fn take(&mut self, text: &[u8]) {
        self.bytes += text.len();
        let room = LINE_BYTES_KEPT - self.kept.len();
        self.kept.extend_from_slice(&text[..room.min(text.len())]);
        if let Some(last) = text.iter().rfind(|byte| !byte.is_ascii_whitespace()) {
            self.last = *last;
        }
    }

    fn is_blank(&self) -> bool {
        self.last == 0 && self.kept.iter().all(u8::is_ascii_whitespace)
    }

    fn verdict(&self) -> Verdict {
        let bytes = self.kept.trim_ascii();
        if bytes.is_empty() {
            return Verdict::None { note: None };
        }
        if self.bytes > self.kept.len() {
            return if self.looks_like_json(bytes) { too_large(self.bytes) } else { Verdict::None { note: None } };
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            let note = "the last line of stdout is not UTF-8: no output".to_owned();
            return Verdict::None { note: Some(note) };
        };
        if let Some(at) = text.find('\0') {
            // A NUL is never JSON; where it is all that is wrong, the author should know.
            let note = format!("the last line of stdout holds a NUL character at byte {at}");
            let is_json = serde_json::from_str::<IgnoredAny>(&text.replace('\0', " ")).is_ok();
            return if is_json { Verdict::Refused(note) } else { Verdict::None { note: Some(note + ": no output") } };
        }
        if serde_json::from_str::<IgnoredAny>(text).is_err() {
            return Verdict::None { note: None };
        }
        if text.len() > limits::PAYLOAD_BYTES_MAX {
            return too_large(text.len());
        }
        if let Err(e) = Payload::json_bytes(text.to_owned()).check_text() {
            return Verdict::Refused(format!("the last line of stdout cannot be its output: {e}"));
        }
        match RawValue::from_string(text.to_owned()) {
            Ok(output) => Verdict::Output(output),
            Err(_) => Verdict::None { note: None },
        }
    }

    /// A line too long to be kept is judged by its ends.
    fn looks_like_json(&self, start: &[u8]) -> bool {
        matches!((start.first(), self.last), (Some(b'{'), b'}') | (Some(b'['), b']') | (Some(b'"'), b'"'))
    }
}

fn too_large(bytes: usize) -> Verdict {
    let max = limits::PAYLOAD_BYTES_MAX;
    Verdict::Refused(format!(
        "its output has {bytes} bytes, at most {max} are allowed: write it to a file and print the file's name as JSON"
    ))
}

/// What is kept of a line: enough to see that an output is too large, and bounded.
const LINE_BYTES_KEPT: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(stdout: &[u8]) -> String {
        let mut line = LastLine::default();
        // Chunks end anywhere.
        for chunk in stdout.chunks(7) {
            line.take(chunk);
        }
        match line.verdict() {
            Verdict::Output(output) => format!("output {}", output.get()),
            Verdict::None { note } => format!("none {}", note.unwrap_or_default()),
            Verdict::Refused(why) => format!("refused {why}"),
        }
    }

    #[test]
    fn the_last_line_with_something_in_it_is_the_output_if_it_is_json() {
        assert_eq!(verdict(b"working\n{\"a\": [1, 2.50]}\n \n\n"), "output {\"a\": [1, 2.50]}");
        assert_eq!(verdict(b"42"), "output 42");
        assert_eq!(verdict(b"{\"a\":1}\ndone\n"), "none ");
        assert_eq!(verdict(b""), "none ");
        assert_eq!(verdict(b"\xff\n{}\n"), "output {}");
    }

    #[test]
    fn what_cannot_be_kept_says_why() {
        assert_eq!(verdict(b"{\"a\":\"\xff\"}\n"), "none the last line of stdout is not UTF-8: no output");
        assert_eq!(verdict(b"{\"a\":\"\0\"}\n"), "refused the last line of stdout holds a NUL character at byte 6");
        assert_eq!(verdict(b"a\0b\n"), "none the last line of stdout holds a NUL character at byte 1: no output");
        assert_eq!(
            verdict(b"\"a\\u0000\"\n"),
            "refused the last line of stdout cannot be its output: its JSON holds a NUL character at byte 2: remove it"
        );
    }

    #[test]
    fn an_output_at_the_limit_passes_and_one_past_it_does_not() {
        let json = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2)).into_bytes();
        assert!(verdict(&json(1 << 20)).starts_with("output "));
        assert!(verdict(&json((1 << 20) + 1)).starts_with("refused its output has 1048577 bytes"));
        assert!(verdict(&json(LINE_BYTES_KEPT + 9)).starts_with("refused its output has 4194313 bytes"));
        assert_eq!(verdict(&vec![b'x'; LINE_BYTES_KEPT + 9]), "none ");
    }
}
