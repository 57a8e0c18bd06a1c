//! What a graph must do, written down from the design alone: no counter, no verdict table, no rule of the product's own
//! code is used. It looks at all parents of all nodes again after every step, which no store could afford.

use towpath_core::{Cause, End, GraphEnd, NodeName, SkipKind, StopReason};

/// How a parent must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Succeeded,
    Finished,
    Failed,
    Branch(u8),
    Joined,
}

/// How a node ended. A success says which branches it chose, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Succeeded(u8),
    Dead,
    Quarantined,
    Cancelled,
    Untaken,
    Upstream,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    Waiting,
    Ready,
    Running,
    Ended(How, Option<Cause>),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    /// Waited for, in the order of the edges.
    pub(super) parents: Vec<(usize, On)>,
    /// Waited for besides since a retry.
    pub(super) behind: Vec<(usize, On)>,
    pub(super) at_least: Option<u32>,
    pub(super) may_fail: bool,
    /// It is a run: a stop tells it, and it ends as it says itself.
    pub(super) is_run: bool,
    /// Which write it came with: what a node is to its graph is fixed then, and no append makes it more or less.
    pub(super) write: usize,
    pub(super) stands: Stands,
    /// What it undoes.
    pub(super) guards: Option<usize>,
    /// It was with a handler at least once.
    pub(super) started: bool,
    /// A cancel has ended it here while it waited for something that runs: it waits until that has ended.
    pub(super) ahead: bool,
}

impl Node {
    /// All that it waits for, in the order of the edges.
    fn awaited(&self) -> impl Iterator<Item = (usize, On)> {
        self.parents.iter().chain(&self.behind).copied()
    }
}

/// What an end means to an edge.
enum Means {
    Ok,
    Spoil,
    Untaken,
    Pass,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) nodes: Vec<Node>,
    pub(super) cancelled: bool,
    pub(super) fail_fast: bool,
    /// A failure has stopped it.
    pub(super) failed: bool,
    /// How it had ended when its undos were looked at.
    pub(super) verdict: Option<GraphEnd>,
    /// Undos have begun.
    pub(super) undone: bool,
    /// How often it is tried; 0 for once, and no policy.
    pub(super) attempts: u32,
    /// Retries so far, by its policy and by hand.
    pub(super) retries: u32,
}

impl Model {
    pub(super) fn add(&mut self, nodes: Vec<Node>) {
        self.verdict = None;
        self.nodes.extend(nodes);
        self.go_on();
    }

    /// Ends what a turn has settled; what one of them stops does not touch the others.
    pub(super) fn end(&mut self, ends: Vec<(usize, How, Option<Cause>)>) {
        for (node, how, cause) in ends {
            self.nodes[node].stands = Stands::Ended(how, cause);
            let is_first = self.nodes[node].write == 0 && self.nodes[node].guards.is_none();
            let counts = !self.nodes[node].may_fail && !self.could_be_spared(node) && is_first;
            self.failed |= self.fail_fast && counts && matches!(how, How::Dead | How::Quarantined);
        }
        self.go_on();
    }

    /// What holds a node back, or asks it to stop if it runs.
    pub(super) fn stop_of(&self, node: usize) -> Option<StopReason> {
        if self.nodes[node].guards.is_some() {
            return None;
        }
        if self.cancelled {
            return Some(StopReason::Cancel);
        }
        (self.failed && !self.is_handler(node)).then_some(StopReason::Fail)
    }

    /// Whether an edge that asks for a failure, or for any end, leads to it by some path. Of what is appended later no
    /// node is one, nor does its failure stop anything.
    fn is_handler(&self, node: usize) -> bool {
        let edges = &self.nodes[node].parents;
        self.nodes[node].write == 0
            && edges.iter().any(|(parent, on)| matches!(on, On::Failed | On::Finished) || self.is_handler(*parent))
    }

    /// What has not started never will.
    pub(super) fn cancel(&mut self) {
        self.cancelled = true;
        self.go_on();
    }

    /// Runs again what is meant, with what was skipped because of it, lifts what stops the graph, and lets what has not
    /// started be looked at anew; answers how many nodes had ended and wait again. `from` is a node, else only what failed
    /// is meant, or all.
    ///
    /// What was undone is meant as what failed is, and begins as if it had never been started; its undo waits again, and so
    /// do those that were not needed. `None` if that cannot be: undos run, or a node would run again whose undo was passed
    /// over for good, or one that was undone would not.
    pub(super) fn retry(&mut self, from: Option<usize>, only_failed: bool) -> Option<usize> {
        if self.verdict.is_some()
            && self.nodes.iter().any(|n| n.guards.is_some() && !matches!(n.stands, Stands::Ended(..)))
        {
            return None;
        }
        self.verdict = None;
        self.retries += 1;
        self.revive_waiting();
        let had_ended: Vec<bool> = (0..self.nodes.len()).map(|at| !self.runs_again(at)).collect();
        let undone = |at: usize| {
            self.nodes.iter().any(|undo| {
                undo.guards == Some(at) && matches!(&undo.stands, Stands::Ended(_, cause) if !is_passed_over(cause))
            })
        };
        let below = |at: usize| from.is_none_or(|from| at == from || self.is_below(at, from));
        let is_meant = |at: usize| match &self.nodes[at].stands {
            Stands::Ended(_, cause) if self.nodes[at].guards.is_some() => *cause != Some(Cause::Committed),
            Stands::Ended(how, _) => {
                below(at)
                    && (!only_failed || undone(at) || matches!(how, How::Dead | How::Quarantined | How::Cancelled))
            }
            _ => false,
        };
        let meant: Vec<usize> = (0..self.nodes.len()).filter(|at| is_meant(*at)).collect();
        let undone: Vec<usize> = (0..self.nodes.len()).filter(|at| undone(*at)).collect();
        let mut again = meant.len();
        meant.iter().for_each(|at| self.nodes[*at].stands = Stands::Waiting);
        undone.iter().for_each(|at| self.nodes[*at].started = false);
        self.undone = false;
        loop {
            let waits = |parent: usize| !matches!(self.nodes[parent].stands, Stands::Ended(..));
            let is_skipped = |node: &Node| match &node.stands {
                Stands::Ended(How::Untaken | How::Upstream, cause) => {
                    !matches!(cause, Some(Cause::Itself { .. })) && node.guards.is_none()
                }
                _ => false,
            };
            let next =
                self.nodes.iter().position(|node| is_skipped(node) && node.awaited().any(|(parent, _)| waits(parent)));
            let Some(next) = next else { break };
            self.nodes[next].stands = Stands::Waiting;
            again += 1;
        }
        for at in 0..self.nodes.len() {
            if self.runs_again(at) {
                self.let_wait_behind(at, &had_ended);
            }
        }
        let is_for_good = |undo: &Node| matches!(&undo.stands, Stands::Ended(_, Some(Cause::Committed)));
        let waits = |at: usize| self.nodes[at].stands == Stands::Waiting;
        if undone.iter().any(|at| !waits(*at))
            || self.nodes.iter().any(|n| is_for_good(n) && n.guards.is_some_and(waits))
        {
            return None;
        }
        (self.cancelled, self.failed) = (false, false);
        for node in self.nodes.iter_mut().filter(|node| node.stands == Stands::Ready) {
            node.stands = Stands::Waiting;
        }
        self.go_on();
        Some(again)
    }

    fn runs_again(&self, at: usize) -> bool {
        self.nodes[at].guards.is_none() && !matches!(self.nodes[at].stands, Stands::Ended(..))
    }

    /// What waits anew below this node, which runs again, waits for it, even where all between them stays as it is: if it cannot
    /// do without it, for its success.
    fn let_wait_behind(&mut self, above: usize, had_ended: &[bool]) {
        let mut found = Vec::new();
        self.go_down(above, How::Dead, above, &mut found);
        for (below, _) in &found {
            let fails = found.iter().any(|(other, survives)| other == below && !survives);
            let is_new = self.nodes[*below].awaited().all(|(parent, _)| parent != above);
            if is_new && had_ended[*below] {
                self.nodes[*below].behind.push((above, if fails { On::Joined } else { On::Finished }));
            }
        }
    }

    /// Every way down over what stays, and whether what it leads to would start if this node had ended so.
    fn go_down(&self, at: usize, how: How, above: usize, found: &mut Vec<(usize, bool)>) {
        for below in 0..self.nodes.len() {
            let node = &self.nodes[below];
            for (_, on) in node.awaited().filter(|(parent, _)| *parent == at && node.at_least.is_none()) {
                let how = match means(on, how) {
                    Means::Ok | Means::Pass => How::Succeeded(u8::MAX),
                    Means::Untaken => How::Untaken,
                    Means::Spoil => How::Upstream,
                };
                if !self.runs_again(below) {
                    self.go_down(below, how, above, found);
                } else if at != above {
                    found.push((below, matches!(how, How::Succeeded(_))));
                }
            }
        }
    }

    /// Lets those wait again that were ended here ahead of time.
    fn revive_waiting(&mut self) {
        for at in 0..self.nodes.len() {
            if std::mem::take(&mut self.nodes[at].ahead) && self.waits_in_truth(at) && !self.has_enough(at) {
                self.nodes[at].stands = Stands::Waiting;
            }
        }
    }

    /// Whether it needs a number of its parents and has them: it was ready, and a cancel has truly ended it.
    fn has_enough(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        let is_ok = |(parent, on): &&(usize, On)| match self.nodes[*parent].stands {
            Stands::Ended(how, _) => !self.nodes[*parent].ahead && matches!(means(*on, how), Means::Ok),
            _ => false,
        };
        node.at_least.is_some_and(|need| node.parents.iter().filter(is_ok).count() >= need as usize)
    }

    fn is_below(&self, at: usize, from: usize) -> bool {
        self.nodes[at].awaited().any(|(parent, _)| parent == from || self.is_below(parent, from))
    }

    pub(super) fn is_open(&self) -> bool {
        self.nodes.iter().any(|node| node.guards.is_none() && !matches!(node.stands, Stands::Ended(..)))
    }

    /// Whether its policy runs it again, now that its end is decided.
    pub(super) fn is_tried_again(&self) -> bool {
        let is_first_look = self.verdict.is_none() && !self.cancelled && !self.is_decided();
        is_first_look && self.retries + 1 < self.attempts && self.graph_end() == GraphEnd::Failed
    }

    /// The end of the graph was decided: what of its undos runs next, and what is passed over.
    pub(super) fn decided(&mut self) -> Result<(), String> {
        let is_undo = |node: &Node| node.guards.is_some();
        let runs = |node: &Node| is_undo(node) && matches!(node.stands, Stands::Ready | Stands::Running);
        if self.is_open() || self.nodes.iter().any(runs) {
            return Err("its end was decided while nodes or undos run".into());
        }
        let verdict = *self.verdict.get_or_insert(self.graph_end());
        let ranks = self.ranks();
        let waits = |node: &Node| node.stands == Stands::Waiting;
        let mut left: Vec<(usize, u32)> = Vec::new();
        for at in (0..self.nodes.len()).filter(|at| waits(&self.nodes[*at])).collect::<Vec<_>>() {
            let guarded = self.nodes[at].guards.ok_or("a node waits")?;
            let cause = match (verdict, self.nodes[guarded].started) {
                (GraphEnd::Succeeded, _) => Cause::Committed,
                (_, false) => Cause::NeverStarted { node: NodeName::new(&self.nodes[guarded].name).unwrap() },
                (_, true) => {
                    left.push((at, ranks[guarded]));
                    continue;
                }
            };
            self.nodes[at].stands = Stands::Ended(How::Untaken, Some(cause));
        }
        let Some(highest) = left.iter().map(|(_, rank)| *rank).max() else { return Ok(()) };
        for (at, _) in left.into_iter().filter(|(_, rank)| *rank == highest) {
            self.nodes[at].stands = Stands::Ready;
            self.undone = true;
        }
        Ok(())
    }

    /// Whether any of its undos has begun or was passed over.
    pub(super) fn is_decided(&self) -> bool {
        let is_over = |node: &Node| node.guards.is_some() && node.stands != Stands::Waiting;
        self.nodes.iter().any(is_over)
    }

    /// The longest path to each node; parents come before their children.
    fn ranks(&self) -> Vec<u32> {
        let mut ranks = Vec::new();
        for node in &self.nodes {
            ranks.push(node.parents.iter().map(|(parent, _): &(usize, On)| ranks[*parent] + 1).max().unwrap_or(0));
        }
        ranks
    }

    /// Whether an undo that was started has not succeeded, nor said that there is nothing to do.
    pub(super) fn is_left_undone(&self) -> bool {
        let undos = self.nodes.iter().filter(|node| node.guards.is_some());
        let bad = |how| matches!(how, How::Dead | How::Quarantined | How::Cancelled);
        undos.into_iter().any(|node| matches!(node.stands, Stands::Ended(how, _) if bad(how)))
    }

    /// Ends and starts what the ends so far decide, until nothing changes.
    fn go_on(&mut self) {
        loop {
            let next = (0..self.nodes.len()).find_map(|at| Some((at, self.next(at)?)));
            let Some((at, stands)) = next else { return };
            let is_cancelled = self.cancelled && self.nodes[at].stands == Stands::Waiting;
            self.nodes[at].ahead = is_cancelled && self.waits_in_truth(at);
            self.nodes[at].stands = stands;
        }
    }

    fn waits_in_truth(&self, at: usize) -> bool {
        let mut parents = self.nodes[at].awaited().map(|(parent, _)| &self.nodes[parent]);
        parents.any(|parent| parent.ahead || !matches!(parent.stands, Stands::Ended(..)))
    }

    fn next(&self, at: usize) -> Option<Stands> {
        let node = &self.nodes[at];
        if node.guards.is_some() {
            return None;
        }
        if self.failed && node.stands == Stands::Ready && !self.is_handler(at) {
            return Some(Stands::Ended(How::Cancelled, Some(Cause::GraphStopped { stop: StopReason::Fail })));
        }
        if self.cancelled && matches!(node.stands, Stands::Waiting | Stands::Ready) {
            let cause = Cause::GraphStopped { stop: StopReason::Cancel };
            return Some(Stands::Ended(How::Cancelled, Some(cause)));
        }
        if node.stands != Stands::Waiting {
            return None;
        }
        let (mut left, mut ok, mut spoiled, mut untaken) = (0, 0, None, None);
        for (parent, on) in node.awaited() {
            let Stands::Ended(how, _) = &self.nodes[parent].stands else {
                left += 1;
                continue;
            };
            match means(on, *how) {
                Means::Ok => ok += 1,
                Means::Spoil => spoiled = spoiled.or(Some((parent, *how))),
                Means::Untaken => untaken = untaken.or(Some((parent, *how))),
                Means::Pass => {}
            }
        }
        let need = node.at_least.unwrap_or(u32::from(!node.parents.is_empty()));
        if node.at_least.is_some() && ok >= need {
            return Some(Stands::Ready);
        }
        if left > 0 {
            return None;
        }
        if ok >= need && spoiled.is_none() && untaken.is_none() {
            return Some(Stands::Ready);
        }
        let how = if spoiled.is_some() { How::Upstream } else { How::Untaken };
        let cause = match spoiled.or(untaken) {
            Some((parent, how)) if need <= 1 => {
                Cause::Parent { node: NodeName::new(&self.nodes[parent].name).unwrap(), end: end_of(how) }
            }
            _ => Cause::TooFew { ok, need },
        };
        Some(Stands::Ended(how, Some(cause)))
    }

    /// How the graph ends, all its nodes having ended.
    pub(super) fn graph_end(&self) -> GraphEnd {
        let how = |node: &Node| match node.stands {
            Stands::Ended(..) if node.guards.is_some() => None,
            Stands::Ended(how, _) => Some(how),
            _ => None,
        };
        let failed = |at: &usize| matches!(how(&self.nodes[*at]), Some(How::Dead | How::Quarantined));
        let counts = |at: &usize| !self.nodes[*at].may_fail && !self.is_spared(*at);
        if (0..self.nodes.len()).filter(failed).any(|at| counts(&at)) {
            return GraphEnd::Failed;
        }
        if self.nodes.iter().any(|node| how(node) == Some(How::Cancelled)) {
            return GraphEnd::Cancelled;
        }
        GraphEnd::Succeeded
    }

    /// Whether all that waited for it could do without. Where any `at_least` node was left without enough parents, none
    /// was: which of the failures it missed is not told apart.
    fn is_spared(&self, at: usize) -> bool {
        let starved = |node: &Node| node.at_least.is_some() && matches!(node.stands, Stands::Ended(How::Upstream, _));
        if self.nodes.iter().any(starved) {
            return false;
        }
        self.could_be_spared(at)
    }

    /// Whether all that wait for it, of what came with it, need fewer parents than they have.
    fn could_be_spared(&self, at: usize) -> bool {
        let with_it = self.nodes.iter().filter(|node| node.write == self.nodes[at].write);
        let mut children = with_it.filter(|node| node.parents.iter().any(|(parent, _)| *parent == at)).peekable();
        // What asks for its failure makes use of it, and spares nothing.
        let wants = |child: &Node| {
            child.parents.iter().any(|(parent, on)| *parent == at && matches!(on, On::Failed | On::Finished))
        };
        let could =
            |child: &Node| child.at_least.is_some_and(|need| (need as usize) < child.parents.len()) && !wants(child);
        children.peek().is_some() && children.all(could)
    }
}

/// Whether an undo was not needed.
fn is_passed_over(cause: &Option<Cause>) -> bool {
    matches!(cause, Some(Cause::NeverStarted { .. } | Cause::Committed))
}

/// The table of the design, row by row.
fn means(on: On, how: How) -> Means {
    match (on, how) {
        (On::Branch(label), How::Succeeded(chosen)) if chosen & (1 << label) == 0 => Means::Untaken,
        (On::Succeeded | On::Branch(_) | On::Joined, How::Succeeded(_)) => Means::Ok,
        (On::Joined, How::Untaken) => Means::Pass,
        (On::Succeeded | On::Branch(_), How::Untaken) => Means::Untaken,
        (On::Succeeded | On::Branch(_) | On::Joined, _) => Means::Spoil,
        (On::Finished, How::Untaken) => Means::Pass,
        (On::Finished, _) => Means::Ok,
        (On::Failed, How::Dead | How::Quarantined) => Means::Ok,
        (On::Failed, How::Upstream) => Means::Spoil,
        (On::Failed, How::Succeeded(_) | How::Cancelled | How::Untaken) => Means::Untaken,
    }
}

pub(super) fn end_of(how: How) -> End {
    match how {
        How::Succeeded(_) => End::Succeeded,
        How::Dead => End::Dead,
        How::Quarantined => End::Quarantined,
        How::Cancelled => End::Cancelled,
        How::Untaken => End::Skipped(SkipKind::Untaken),
        How::Upstream => End::Skipped(SkipKind::Upstream),
    }
}
