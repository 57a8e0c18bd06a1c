//! Progress as it happens: on a terminal a line per running node and a bar, elsewhere plain lines.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use towpath::core::State;
use towpath::core::store::GraphDetail;

use crate::{say, words};

/// A node that has ended.
pub(crate) struct NodeEnd<'a> {
    pub(crate) name: &'a str,
    pub(crate) state: State,
    /// Unknown for what never ran here.
    pub(crate) took: Option<Duration>,
    pub(crate) why: Option<String>,
}

/// Where progress is shown.
pub(crate) struct Progress {
    name_width: usize,
    screen: Option<Screen>,
}

/// The terminal's moving part.
struct Screen {
    lines: MultiProgress,
    bar: ProgressBar,
    running: HashMap<String, ProgressBar>,
}

impl Progress {
    /// Shows a graph on stdout, live if that is a terminal.
    pub(crate) fn new(detail: &GraphDetail) -> Self {
        let is_live = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let name_width = detail.nodes.iter().map(|n| n.name.as_str().chars().count()).max().unwrap_or(0);
        let ended = detail.nodes.iter().filter(|n| matches!(n.state, State::Ended(_))).count();
        Self {
            name_width: name_width.min(NAME_CHARS_MAX),
            screen: is_live.then(|| Screen::new(detail.line.name.as_str(), detail.nodes.len(), ended)),
        }
    }

    /// A command of the node runs. `earlier` is how the attempt before went.
    pub(crate) fn started(&mut self, name: &str, attempt: u32, earlier: Option<String>) {
        if attempt > 1 {
            let earlier = earlier.map(|how| format!(", after {how}")).unwrap_or_default();
            self.line(&format!("{}  attempt {attempt}{earlier}", self.padded(name)));
        }
        if let Some(screen) = &mut self.screen {
            screen.add(name, attempt);
        }
    }

    /// Its command is over; what became of it is not known yet.
    pub(crate) fn over(&mut self, name: &str) {
        if let Some(screen) = &mut self.screen {
            screen.remove(name);
        }
    }

    /// A node has ended.
    pub(crate) fn ended(&mut self, end: &NodeEnd<'_>) {
        let took = end.took.map(words::duration).unwrap_or_default();
        let why = end.why.as_deref().unwrap_or_default();
        let state = self.painted(end.state);
        self.line(format!("{}  {state}  {took:>6}  {why}", self.padded(end.name)).trim_end());
        if let Some(screen) = &mut self.screen {
            screen.remove(end.name);
            screen.bar.inc(1);
        }
    }

    /// An undo was not needed: nothing worth a line.
    pub(crate) fn passed_over(&mut self) {
        if let Some(screen) = &self.screen {
            screen.bar.inc(1);
        }
    }

    /// A node that had ended runs again.
    pub(crate) fn reopened(&mut self) {
        if let Some(screen) = &self.screen {
            screen.bar.dec(1);
        }
    }

    /// Something worth knowing.
    pub(crate) fn note(&mut self, text: &str) {
        self.line(text);
    }

    /// Nothing more will happen.
    pub(crate) fn finish(&mut self) {
        if let Some(screen) = self.screen.take() {
            let _ = screen.lines.clear();
        }
    }

    fn padded(&self, name: &str) -> String {
        format!("{name:<width$}", width = self.name_width)
    }

    fn painted(&self, state: State) -> String {
        let word = format!("{:<9}", state.word());
        if self.screen.is_none() || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) {
            return word;
        }
        let color = match state.word() {
            "succeeded" => 32,
            "dead" | "quarantined" => 31,
            _ => 33,
        };
        format!("\x1b[{color}m{word}\x1b[0m")
    }

    fn line(&self, text: &str) {
        let line = format!("{} {text}", words::time_of_day());
        match &self.screen {
            Some(screen) => screen.lines.suspend(|| say::line(&line)),
            None => say::line(&line),
        }
    }
}

impl Screen {
    fn new(name: &str, nodes: usize, ended: usize) -> Self {
        let lines = MultiProgress::new();
        let bar = lines.add(ProgressBar::new(nodes as u64).with_position(ended as u64));
        bar.set_style(style("{prefix:.bold} [{bar:30}] {pos}/{len} nodes  {elapsed}").progress_chars("=> "));
        bar.set_prefix(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { lines, bar, running: HashMap::new() }
    }

    fn add(&mut self, name: &str, attempt: u32) {
        if self.running.len() >= LINES_MAX || self.running.contains_key(name) {
            return;
        }
        let line = self.lines.insert_before(&self.bar, ProgressBar::new_spinner());
        line.set_style(style("{spinner} {prefix}  {msg}{elapsed}"));
        line.set_prefix(name.to_owned());
        if attempt > 1 {
            line.set_message(format!("attempt {attempt}  "));
        }
        line.enable_steady_tick(Duration::from_millis(200));
        self.running.insert(name.to_owned(), line);
    }

    fn remove(&mut self, name: &str) {
        if let Some(line) = self.running.remove(name) {
            line.finish_and_clear();
            self.lines.remove(&line);
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that cannot be read would only cost the looks.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

const NAME_CHARS_MAX: usize = 32;
/// Running nodes shown at once; the bar counts all.
const LINES_MAX: usize = 16;
