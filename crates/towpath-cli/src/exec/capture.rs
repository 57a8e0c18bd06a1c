//! What a command writes, bounded: its first and its last part, and its last line.

use std::collections::VecDeque;

use super::output::LastLine;

/// Bytes kept of each end of a stream: 256 KiB in all.
const END_BYTES: usize = 128 << 10;

/// A stream as far as it is kept.
#[derive(Debug, Default)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    last_line: LastLine,
}

impl Capture {
    pub(super) fn take(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        self.last_line.take(chunk);
        let room = END_BYTES - self.head.len();
        let (head, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(END_BYTES)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(END_BYTES);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn last_line(&self) -> &LastLine {
        &self.last_line
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// About `max` bytes of it as text, the middle left out and said so. Invalid UTF-8 becomes U+FFFD.
    pub(super) fn text(&self, max: usize) -> String {
        let (first, second) = self.tail.as_slices();
        let kept = [&self.head[..], first, second].concat();
        if kept.len() as u64 == self.bytes && kept.len() <= max {
            return String::from_utf8_lossy(&kept).into_owned();
        }
        let end = (max / 2).min(END_BYTES).min(kept.len() / 2);
        let left_out = self.bytes - 2 * end as u64;
        format!(
            "{}\n… {left_out} bytes left out …\n{}",
            String::from_utf8_lossy(&kept[..end]),
            String::from_utf8_lossy(&kept[kept.len() - end..])
        )
    }

    /// The last line with something in it, as text.
    pub(super) fn last_words(&self) -> Option<String> {
        let (first, second) = self.tail.as_slices();
        let kept = [&self.head[..], first, second].concat();
        let end = &kept[kept.len().saturating_sub(4_096)..];
        let text = String::from_utf8_lossy(end);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stream_is_kept_whole_and_a_long_one_at_both_ends() {
        let mut short = Capture::default();
        short.take(b"one\n");
        short.take(b"two\n\n");
        assert_eq!(short.text(1_000), "one\ntwo\n\n");
        assert_eq!(short.last_words().as_deref(), Some("two"));

        let mut long = Capture::default();
        for number in 0..100_000 {
            long.take(format!("line {number}\n").as_bytes());
        }
        assert_eq!(long.head.len() + long.tail.len(), 2 * END_BYTES);
        let text = long.text(64);
        assert!(text.starts_with("line 0\nline 1\n"), "{text}");
        assert!(text.ends_with("line 99999\n"), "{text}");
        assert!(text.contains("… 1088826 bytes left out …"), "{text}");
    }

    #[test]
    fn one_chunk_may_be_longer_than_all_that_is_kept() {
        let mut capture = Capture::default();
        capture.take(&vec![b'a'; 3 * END_BYTES]);
        capture.take(b"z");
        assert_eq!((capture.head.len(), capture.tail.len()), (END_BYTES, END_BYTES));
        assert_eq!(capture.tail.back(), Some(&b'z'));
    }
}
