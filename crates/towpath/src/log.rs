//! What an attempt logs: bounded, head and tail.

use towpath_core::limits::LOG_BYTES_MAX;

/// Lines of an attempt. Costs nothing until there is one.
#[derive(Default)]
pub(crate) struct Log {
    head: String,
    tail: String,
    dropped: usize,
}

const HALF: usize = LOG_BYTES_MAX / 2 - 64;

impl Log {
    pub(crate) fn line(&mut self, line: &str) {
        // A NUL cannot be kept by every store.
        let line = line.trim_end_matches('\n').replace('\0', "\u{2400}");
        if self.tail.is_empty() && self.head.len() + line.len() < HALF {
            self.head.push_str(&line);
            self.head.push('\n');
            return;
        }
        self.tail.push_str(&line);
        self.tail.push('\n');
        // Twice the half before it is cut: each byte is moved once at most.
        if self.tail.len() > 2 * HALF {
            let mut from = self.tail.len() - HALF;
            while !self.tail.is_char_boundary(from) {
                from += 1;
            }
            self.dropped += from;
            self.tail.drain(..from);
        }
    }

    pub(crate) fn into_text(mut self) -> Option<String> {
        if self.head.is_empty() && self.tail.is_empty() {
            return None;
        }
        if self.tail.len() > HALF {
            let mut from = self.tail.len() - HALF;
            while !self.tail.is_char_boundary(from) {
                from += 1;
            }
            self.dropped += from;
            self.tail.drain(..from);
        }
        if self.dropped > 0 {
            self.head.push_str(&format!("… {} bytes left out …\n", self.dropped));
        }
        self.head.push_str(&self.tail);
        Some(self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay_within_the_limit() {
        let mut log = Log::default();
        for n in 0..20_000 {
            log.line(&format!("line {n} ü"));
        }
        let text = log.into_text().unwrap();
        assert!(text.len() <= LOG_BYTES_MAX, "{}", text.len());
        assert!(text.starts_with("line 0 ü\nline 1 ü\n"));
        assert!(text.ends_with("line 19999 ü\n"));
        assert!(text.contains(" bytes left out …"));
    }

    #[test]
    fn without_a_line_there_is_none() {
        assert_eq!(Log::default().into_text(), None);
        let mut log = Log::default();
        log.line("a\0b\n");
        assert_eq!(log.into_text().as_deref(), Some("a\u{2400}b\n"));
    }
}
