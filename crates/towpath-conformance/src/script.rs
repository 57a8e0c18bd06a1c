//! A script: commands and the answers expected of them.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::ScriptError;

/// A file of commands.
#[derive(Clone, Debug)]
pub struct Script {
    /// Where it was read from.
    pub path: PathBuf,
    /// Which behaviour it holds fast, and what broke elsewhere.
    pub why: String,
    /// Its commands, in order.
    pub commands: Vec<Command>,
    /// The file as it was read.
    lines: Vec<String>,
}

/// One command with its indented lines and the answer expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The line it stands on, from 1.
    pub line: usize,
    /// The command.
    pub text: String,
    /// The indented lines below it, two spaces taken off.
    pub body: Vec<String>,
    /// The lines of the answer expected.
    pub expected: Vec<String>,
}

impl Command {
    /// A command that stands in no file.
    pub fn bare(text: impl Into<String>, body: Vec<String>) -> Self {
        Self { line: 0, text: text.into(), body, expected: Vec::new() }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.body.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// A store that answered otherwise than a script expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The script.
    pub path: PathBuf,
    /// The line of the command.
    pub line: usize,
    /// The command.
    pub command: String,
    /// What was expected.
    pub expected: Vec<String>,
    /// What the store answered, or why the command cannot be carried out.
    pub answered: Result<Vec<String>, ScriptError>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.path.display(), self.line, self.command)?;
        let answered = match &self.answered {
            Ok(answered) => answered,
            Err(error) => return write!(f, "  cannot be carried out: {error}"),
        };
        for (title, lines, other) in [("expected", &self.expected, answered), ("got", answered, &self.expected)] {
            writeln!(f, "  {title}:")?;
            for (at, line) in lines.iter().enumerate() {
                let mark = if other.get(at) == Some(line) { ' ' } else { '!' };
                writeln!(f, "  {mark} > {line}")?;
            }
            if lines.is_empty() {
                writeln!(f, "      (nothing)")?;
            }
        }
        Ok(())
    }
}

impl Script {
    /// Reads a script's text.
    ///
    /// # Errors
    /// It does not open with `# Why:`, or a line stands where it means nothing.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScriptError> {
        let lines: Vec<String> = text.lines().map(|l| l.trim_end().to_owned()).collect();
        let at = |line: usize, problem: &str| ScriptError::new(format!("{}:{}: {problem}", path.display(), line + 1));
        let mut why = String::new();
        for line in lines.iter().take_while(|l| l.starts_with('#')) {
            why.push_str(line.trim_start_matches('#').trim());
            why.push(' ');
        }
        let Some(why) = why.strip_prefix("Why:").map(|w| w.trim().to_owned()) else {
            return Err(at(0, "a script opens with `# Why: …`"));
        };
        let mut commands: Vec<Command> = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(answer) = line.strip_prefix('>') {
                let Some(command) = commands.last_mut() else { return Err(at(number, "an answer without a command")) };
                command.expected.push(answer.strip_prefix(' ').unwrap_or(answer).to_owned());
            } else if let Some(body) = line.strip_prefix("  ") {
                match commands.last_mut() {
                    Some(command) if command.expected.is_empty() => command.body.push(body.to_owned()),
                    _ => return Err(at(number, "an indented line that belongs to no command")),
                }
            } else {
                let command = Command { line: number + 1, ..Command::bare(line.clone(), Vec::new()) };
                commands.push(command);
            }
        }
        if commands.is_empty() {
            return Err(at(0, "a script without commands proves nothing"));
        }
        Ok(Self { path: path.to_owned(), why, commands, lines })
    }

    /// The file's text with these answers in place of the expected ones.
    pub fn with_answers(&self, answers: &[Vec<String>]) -> String {
        let mut out = String::new();
        let mut push = |line: &str| {
            out.push_str(line);
            out.push('\n');
        };
        let mut answers = answers.iter();
        let mut pending: Option<&Vec<String>> = None;
        for line in self.lines.iter().filter(|l| !l.starts_with('>')) {
            let continues = line.starts_with("  ");
            if !continues && let Some(answer) = pending.take() {
                answer.iter().for_each(|a| push(format!("> {a}").trim_end()));
            }
            push(line);
            if !continues && !line.is_empty() && !line.starts_with('#') {
                pending = answers.next();
            }
        }
        if let Some(answer) = pending {
            answer.iter().for_each(|a| push(format!("> {a}").trim_end()));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why: it\n# matters\n\nenqueue job a\n> old\nturn w1\n  a ok\n\n# note\njobs\n> x\n";

    fn script() -> Script {
        Script::parse(Path::new("s.txt"), TEXT).unwrap()
    }

    #[test]
    fn a_script_reads_into_commands() {
        let script = script();
        assert_eq!(script.why, "it matters");
        let shape: Vec<_> = script.commands.iter().map(|c| (c.line, c.body.len(), c.expected.len())).collect();
        assert_eq!(shape, [(4, 0, 1), (6, 1, 0), (10, 0, 1)]);
    }

    #[test]
    fn answers_are_rewritten_in_place_and_nothing_else_changes() {
        let same = script().with_answers(&[vec!["old".into()], vec![], vec!["x".into()]]);
        assert_eq!(same, TEXT);
        let other = script().with_answers(&[vec![], vec!["a done".into()], vec!["y".into()]]);
        let expected = "# Why: it\n# matters\n\nenqueue job a\nturn w1\n  a ok\n> a done\n\n# note\njobs\n> y\n";
        assert_eq!(other, expected);
    }

    #[test]
    fn a_script_without_a_reason_is_refused() {
        assert!(Script::parse(Path::new("s.txt"), "jobs\n").is_err());
        assert!(Script::parse(Path::new("s.txt"), "# Why: x\n> y\n").is_err());
        assert!(Script::parse(Path::new("s.txt"), "# Why: x\n").is_err());
    }
}
