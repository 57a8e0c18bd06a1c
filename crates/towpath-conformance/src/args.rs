//! The words of a command: bare words in order, and `key=value` options.

use std::collections::VecDeque;

use crate::error::ScriptError;

/// What stands on one line. What nobody takes is an error, so that a misspelt option is found.
#[derive(Clone, Debug)]
pub(crate) struct Args {
    line: String,
    words: VecDeque<String>,
    options: Vec<(String, String)>,
}

impl Args {
    /// Splits a line at spaces outside quotes and brackets.
    pub(crate) fn parse(line: &str) -> Result<Self, ScriptError> {
        let mut words = VecDeque::new();
        let mut options = Vec::new();
        for token in split(line)? {
            let key_len = token.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            match key_len {
                Some(at) if at > 0 && token[at..].starts_with('=') => {
                    options.push((token[..at].to_owned(), token[at + 1..].to_owned()));
                }
                _ => words.push_back(token),
            }
        }
        Ok(Self { line: line.to_owned(), words, options })
    }

    /// The next bare word, unquoted.
    pub(crate) fn word(&mut self, what: &str) -> Result<String, ScriptError> {
        match self.words.pop_front() {
            Some(word) => unquote(&word),
            None => Err(ScriptError::new(format!("{:?} lacks {what}", self.line))),
        }
    }

    /// The next bare word, if there is one.
    pub(crate) fn word_maybe(&mut self) -> Result<Option<String>, ScriptError> {
        self.words.pop_front().map(|word| unquote(&word)).transpose()
    }

    /// Whether this bare word is there; it is taken.
    pub(crate) fn flag(&mut self, word: &str) -> bool {
        match self.words.iter().position(|w| w == word) {
            Some(at) => self.words.remove(at).is_some(),
            None => false,
        }
    }

    /// Takes an option's text as it stands.
    pub(crate) fn raw(&mut self, key: &str) -> Option<String> {
        let at = self.options.iter().position(|(k, _)| k == key)?;
        Some(self.options.remove(at).1)
    }

    /// Takes an option, unquoted.
    pub(crate) fn text(&mut self, key: &str) -> Result<Option<String>, ScriptError> {
        self.raw(key).map(|value| unquote(&value)).transpose()
    }

    /// Takes an option that is a list with commas; `none` is the empty list.
    pub(crate) fn list(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.raw(key)?;
        if value == "none" || value.is_empty() {
            return Some(Vec::new());
        }
        Some(value.split(',').map(str::to_owned).collect())
    }

    /// Takes an option and reads it.
    pub(crate) fn read<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, ScriptError>,
    ) -> Result<Option<T>, ScriptError> {
        self.raw(key).map(|value| read(&value)).transpose()
    }

    /// Takes an option that is a number.
    pub(crate) fn number<T: std::str::FromStr>(&mut self, key: &str) -> Result<Option<T>, ScriptError> {
        self.read(key, |value| {
            value.parse().map_err(|_| ScriptError::new(format!("{key}={value} is not a number that fits")))
        })
    }

    /// Refuses what nobody has taken.
    pub(crate) fn finish(self) -> Result<(), ScriptError> {
        if let Some(word) = self.words.front() {
            return Err(ScriptError::new(format!("{:?} has a word too many: {word}", self.line)));
        }
        if let Some((key, _)) = self.options.first() {
            return Err(ScriptError::new(format!("{:?} has an option that it does not know: {key}", self.line)));
        }
        Ok(())
    }
}

/// Splits at spaces, but not within quotes or brackets.
fn split(line: &str) -> Result<Vec<String>, ScriptError> {
    let mut tokens = Vec::new();
    let mut token = String::new();
    let (mut depth, mut quoted, mut escaped) = (0_i32, false, false);
    for c in line.chars() {
        if c == ' ' && depth == 0 && !quoted {
            if !token.is_empty() {
                tokens.push(std::mem::take(&mut token));
            }
            continue;
        }
        token.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' | '(' if !quoted => depth += 1,
            '}' | ']' | ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    if quoted || depth != 0 {
        return Err(ScriptError::new(format!("{line:?} has a quote or bracket that is not closed")));
    }
    if !token.is_empty() {
        tokens.push(token);
    }
    Ok(tokens)
}

/// A JSON string's text, or the word itself.
fn unquote(word: &str) -> Result<String, ScriptError> {
    if !word.starts_with('"') {
        return Ok(word.to_owned());
    }
    serde_json::from_str(word).map_err(|e| ScriptError::new(format!("{word} is no JSON string: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_brackets_hold_a_word_together() {
        let mut args = Args::parse(r#"a fail "no route" input={"x": [1, 2]} retry=5s"#).unwrap();
        assert_eq!(args.word("a name").unwrap(), "a");
        assert_eq!(args.raw("input").unwrap(), r#"{"x": [1, 2]}"#);
        assert!(args.flag("fail"));
        assert_eq!(args.word("an error").unwrap(), "no route");
        assert!(args.clone().finish().is_err(), "retry is still there");
        assert_eq!(args.raw("retry").unwrap(), "5s");
        assert!(args.finish().is_ok());
        assert!(Args::parse(r#"a "open"#).is_err());
    }
}
