//! Where a run stopped that is blocked: read back out of the text of its interrupt, which is all that is stored of it.

use super::entry::Pos;

/// The place that an [`Interrupt`](super::Interrupt)'s text names, and what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped<'t> {
    /// The operation's place.
    pub pos: Pos,
    /// What the journal has there, if it and the code disagree and it has anything.
    pub journal: Option<&'t str>,
    /// What the code has there, and where it does.
    pub code: Option<&'t str>,
}

impl<'t> Stopped<'t> {
    /// Reads it; `None` if the text names no operation, as that of a function that panicked.
    pub fn read(text: &'t str) -> Option<Self> {
        let after = text.split_once("operation ")?.1;
        let word = after.split([':', ',']).next()?;
        let pos = match word {
            "cancel" => Pos::CANCEL,
            "deadline" => Pos::DEADLINE,
            number => Pos(number.parse::<u32>().ok()?.checked_add(1)?),
        };
        let line = |of: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(of)).map(str::trim);
        Some(Self { pos, journal: line("journal:"), code: line("code:") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{Disagreement, Ident, Interrupt, Mismatch, OpKind};

    #[test]
    fn what_an_interrupt_says_is_read_back() {
        let ident = |name: &str| Ident { kind: OpKind::Step, name: name.to_owned().into(), version: 1, input: 7 };
        let (journal, code) = (ident("charge"), ident("refund"));
        let mismatch = |pos, journal: Option<Ident>, code: Option<Ident>| {
            let how = Disagreement::Name;
            Interrupt::Mismatch(Box::new(Mismatch { pos, how, journal, code, place: None })).to_string()
        };
        let text = mismatch(Pos(12), Some(journal.clone()), Some(code.clone()));
        let (journal, code) = (journal.to_string(), code.to_string());
        let told = Stopped { pos: Pos(12), journal: Some(&journal), code: Some(&code) };
        assert_eq!(Stopped::read(&text), Some(told));
        let text = mismatch(Pos::DEADLINE, None, None);
        assert_eq!(Stopped::read(&text), Some(Stopped { pos: Pos::DEADLINE, journal: None, code: None }));
        let unfit = Interrupt::Undecodable { pos: Pos(3), op: ident("charge"), problem: "no number".into() };
        assert_eq!(Stopped::read(&unfit.to_string()).map(|told| told.pos), Some(Pos(3)));
        let panicked = Interrupt::Panicked { text: "operation failed".into() };
        assert_eq!(Stopped::read(&panicked.to_string()), None);
    }
}
