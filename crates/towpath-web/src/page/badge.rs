//! States as people see them: by colour, by shape and by word, so that none of the three is needed.

use maud::{Markup, html};
use towpath::core::store::{JobLine, NodeLine};
use towpath::core::{End, GraphEnd, SkipKind, State, StopReason};

use crate::look;
use crate::shape::graph_state;

/// A shape per state, defined once per page.
pub(crate) const SPRITE: &str = r##"<svg class="sprite" aria-hidden="true"><defs>
<symbol id="i-waiting" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="3 2.3"/></symbol>
<symbol id="i-ready" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/></symbol>
<symbol id="i-later" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="2"/><path d="M8 4.4V8l2.6 1.8" fill="none" stroke="currentColor" stroke-width="1.8"/></symbol>
<symbol id="i-paused" viewBox="0 0 16 16"><path d="M5.2 2.5v11M10.8 2.5v11" stroke="currentColor" stroke-width="3"/></symbol>
<symbol id="i-running" viewBox="0 0 16 16"><path d="M4 2.2v11.6L13.5 8z" fill="currentColor"/></symbol>
<symbol id="i-blocked" viewBox="0 0 16 16"><path d="M8 1.2 15.3 14.4H.7z" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round"/><path d="M8 6v4M8 11.4v1.3" stroke="currentColor" stroke-width="1.8"/></symbol>
<symbol id="i-succeeded" viewBox="0 0 16 16"><path d="m2.2 8.6 3.8 4 7.8-9" fill="none" stroke="currentColor" stroke-width="2.6"/></symbol>
<symbol id="i-dead" viewBox="0 0 16 16"><path d="m3 3 10 10M13 3 3 13" stroke="currentColor" stroke-width="2.8"/></symbol>
<symbol id="i-quarantined" viewBox="0 0 16 16"><path d="M8 .8 14.4 4.4v7.2L8 15.2 1.6 11.6V4.4z" fill="none" stroke="currentColor" stroke-width="1.8"/><path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="currentColor" stroke-width="1.6"/></symbol>
<symbol id="i-cancelled" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/><path d="m3.8 12.2 8.4-8.4" stroke="currentColor" stroke-width="2"/></symbol>
<symbol id="i-skipped" viewBox="0 0 16 16"><path d="m2 3 5 5-5 5M8.5 3l5 5-5 5" fill="none" stroke="currentColor" stroke-width="2"/></symbol>
</defs></svg>"##;

/// How a job stands, in the words of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The class, by which it is coloured.
    pub(crate) class: &'static str,
    /// The shape.
    pub(crate) shape: &'static str,
    pub(crate) word: &'static str,
}

pub(crate) fn of_state(state: State) -> Look {
    let word = state.word();
    Look { class: word, shape: word, word }
}

/// Ready with a later due is scheduled, retrying, sleeping or parked.
pub(crate) fn of_line(line: &JobLine) -> Look {
    of_word(line.state, line.word(look::here_and_now()))
}

/// A node as its job.
pub(crate) fn of_node(node: &NodeLine) -> Look {
    match node.state {
        State::Ended(End::Skipped(SkipKind::Untaken)) => Look { word: "untaken", ..of_state(node.state) },
        state => of_word(state, node.word(look::here_and_now())),
    }
}

fn of_word(state: State, word: &'static str) -> Look {
    match state {
        State::Ready if word != state.word() => {
            Look { class: if word == "retrying" { word } else { "ready" }, shape: "later", word }
        }
        state => of_state(state),
    }
}

pub(crate) fn of_graph(end: Option<GraphEnd>, stop: Option<StopReason>) -> Look {
    let word = graph_state(end);
    match end {
        None if stop == Some(StopReason::Cancel) => Look { class: "cancelled", shape: "cancelled", word: "cancelling" },
        None => Look { class: "open", shape: "running", word },
        Some(GraphEnd::Failed) => Look { class: "failed", shape: "dead", word },
        Some(_) => Look { class: word, shape: word, word },
    }
}

impl Look {
    pub(crate) fn badge(self) -> Markup {
        badge(self.class, self.shape, self.word)
    }
}

pub(crate) fn badge(class: &str, shape: &str, word: &str) -> Markup {
    html! {
        span class={ "st st-" (class) } { svg aria-hidden="true" { use href={ "#i-" (shape) } {} } (word) }
    }
}
