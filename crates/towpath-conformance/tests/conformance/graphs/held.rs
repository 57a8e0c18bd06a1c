//! Random graphs whose nodes hold graphs or go through lists, as a store sees them: a run that parks, starts what it holds as its
//! children, and ends when they have, with crashes at every point between. Each graph has a model of its own; what a holder does
//! with its children is played here as a worker would, and a store must wake it exactly when the design says that it is told:
//! of an end of a child, and of a stop.

mod children;
mod family;

use std::collections::{BTreeMap, HashMap};

use std::time::Duration;

use towpath_conformance::Chance;
use towpath_core::store::{
    Assigned, Change, Changed, Claim, Enqueue, Head, Item, Order, Parent, Placed, QueueClaim, Served, Settle, Settled,
    Turn, Undecided,
};
use towpath_core::{
    Cause, GraphEnd, GraphName, GraphRules, JobId, Kind, NewGraph, Payload, Queue, Report, Retry, RunId, State,
    StopReason, Timestamp, Why, cancel_graph, settle_decision, settle_report, settle_rescued, settle_stopped,
};

use super::draw;
use super::drive::{Driver, outcome, same};
use super::model::{How, Model, Node, Stands, end_of};
pub(super) use family::Held;
use family::{Element, Holder, Holds, Member, Place, Work, drawn, graph_id};

/// What a settled outcome does in the model.
enum Effect {
    Ended(How, Option<Cause>),
    Back,
    Opened,
    Parked,
    Crashed,
}

/// A graph with all that stands inside it, under way.
struct Family<'d, 's> {
    driver: &'d mut Driver<'s>,
    chance: Chance,
    seed: u64,
    members: Vec<Member>,
    works: HashMap<JobId, Work>,
    trouble: usize,
    jobs: Vec<(Work, Head)>,
    decisions: Vec<Undecided>,
    shown: Held,
}

impl Driver<'_> {
    /// Runs the family of a seed; says where a store and the models differ.
    pub(super) async fn compare_held(&mut self, seed: u64, shown: &mut Held) -> Result<(), String> {
        let mut chance = Chance::new(seed ^ 0x6865_6c64);
        let drawn = drawn(&mut chance, 0);
        let trouble = [2, 10, 35][chance.below(3)];
        let (works, shown_here) = (HashMap::new(), std::mem::take(shown));
        let (members, jobs, decisions) = (vec![], vec![], vec![]);
        let mut family =
            Family { driver: self, chance, seed, members, works, trouble, jobs, decisions, shown: shown_here };
        let went = async {
            family.enqueue(drawn, None).await?;
            family.run().await
        };
        let went = went.await;
        let told = if went.is_err() { family.told() } else { String::new() };
        *shown = family.shown;
        went.map_err(|problem| format!("{problem}\n{told}"))
    }
}

impl Family<'_, '_> {
    async fn run(&mut self) -> Result<(), String> {
        let cancel_at = if self.chance.percent(30) { self.chance.below(16) } else { usize::MAX };
        let mut step = 0;
        loop {
            if step == cancel_at {
                self.cancel(0).await?;
            }
            if self.chance.percent(2) {
                let member = self.chance.below(self.members.len());
                self.cancel(member).await?;
            }
            self.mind_children().await?;
            let limit = self.chance.below(4) as u16;
            let came = self.turn(limit, 2, 60).await?;
            step += 1;
            if came || !self.jobs.is_empty() || !self.decisions.is_empty() || self.turn(50, 50, 100).await? {
                continue;
            }
            if self.jobs.is_empty() && self.decisions.is_empty() {
                return self.at_rest().await;
            }
        }
    }

    /// Writes a graph, for a node that holds it or by itself.
    async fn enqueue(
        &mut self,
        (nodes, holders): (Vec<Node>, BTreeMap<usize, Holder>),
        inside: Option<(usize, usize)>,
    ) -> Result<(), String> {
        let at = self.members.len();
        let fail_fast = self.chance.percent(25);
        let member = Member {
            id: graph_id(self.seed, at),
            model: Model { fail_fast, ..Model::default() },
            holders,
            inside,
            is_over: false,
        };
        for node in 0..nodes.len() {
            self.works.insert(draw::job_id(member.id, node), Work::Node(at, node));
        }
        let mut model = Model { fail_fast, ..Model::default() };
        model.nodes = nodes.clone();
        self.members.push(Member { model, ..member });
        same("a graph", &self.place(at).await?, &Placed::Inserted)?;
        let mut model = Model { fail_fast, ..Model::default() };
        model.add(nodes);
        self.members[at].model = model;
        Ok(())
    }

    /// Sends a graph to the store, as it was drawn; once more after a crash.
    async fn place(&self, at: usize) -> Result<Placed, String> {
        let Member { id, model, holders, inside, .. } = &self.members[at];
        let (mut nodes, edges) = draw::stored(*id, &model.nodes, 0);
        for node in holders.keys() {
            nodes[*node].job.rules.crash_limit = 1_000;
        }
        let rules = GraphRules { fail_fast: model.fail_fast, ..GraphRules::default() };
        let name = GraphName::new("held").unwrap();
        let graph = NewGraph { id: *id, name, rules, input: None, unique: None, nodes, edges };
        let mut graph = graph.prepare().map_err(|e| e.to_string())?;
        if let Some((of, node)) = *inside {
            graph = graph.with_parent(Parent { run: self.run_of(of, node), awaits: Some(Parent::label(1, 0)) });
        }
        self.write(vec![Item::Graph(Box::new(graph))]).await.map(|placed| placed[0])
    }

    async fn write(&self, items: Vec<Item>) -> Result<Vec<Placed>, String> {
        let answer = self.driver.store.enqueue(Enqueue { items }).await.map_err(|e| e.to_string())?;
        answer.items.into_iter().map(|item| item.map_err(|e| e.to_string())).collect()
    }

    fn run_of(&self, member: usize, node: usize) -> RunId {
        RunId::new(&format!("{}/n{node}", self.members[member].id)).unwrap()
    }

    fn element_id(&self, member: usize, node: usize, element: usize) -> JobId {
        let mut id = *graph_id(self.seed, member).as_bytes();
        (id[9], id[10], id[11]) = (node as u8 + 1, element as u8, 1);
        JobId::from_bytes(id)
    }

    fn holder(&mut self, member: usize, node: usize) -> &mut Holder {
        self.members[member].holders.get_mut(&node).unwrap()
    }

    /// What holders that are with the worker do between two lines of their journal: start their children, cancel them.
    async fn mind_children(&mut self) -> Result<(), String> {
        for (work, _) in self.jobs.clone() {
            let Work::Node(member, node) = work else { continue };
            if !self.members[member].holders.contains_key(&node) || !self.chance.percent(70) {
                continue;
            }
            let holder = self.holder(member, node);
            let (is_opened, has_children, is_told) = (holder.is_opened, holder.has_children, holder.is_told);
            if is_opened && !has_children && !is_told {
                self.start(member, node).await?;
            } else if is_told && has_children {
                self.cancel_children(member, node).await?;
            }
        }
        Ok(())
    }

    /// Something has arrived for a holder: it is woken if it is parked.
    fn arrive(&mut self, member: usize, node: usize) {
        let holder = self.holder(member, node);
        holder.arrived += 1;
        if holder.place == Place::Parked {
            holder.place = Place::Woken;
            self.shown.woken_by_an_end += 1;
        }
    }

    /// Runs that have begun are told of a stop of their graph, once.
    fn tell_of_stops(&mut self) {
        for Member { model, holders, .. } in &mut self.members {
            for (node, holder) in holders {
                let is_live = model.nodes[*node].stands == Stands::Running;
                let has_begun = holder.is_opened || holder.place == Place::Worker;
                if !is_live || !has_begun || holder.is_told || model.stop_of(*node).is_none() {
                    continue;
                }
                holder.is_told = true;
                holder.arrived += 1;
                if holder.place == Place::Parked {
                    holder.place = Place::Woken;
                    self.shown.woken_by_a_stop += 1;
                }
            }
        }
    }

    /// Settles each thing that the worker holds with this many percent, and claims. Says whether anything came.
    async fn turn(&mut self, jobs: u16, decisions: u16, percent: usize) -> Result<bool, String> {
        let (mut settle, mut effects, mut decided) = (Vec::new(), Vec::new(), Vec::new());
        for (work, head) in std::mem::take(&mut self.jobs) {
            let one = if self.chance.percent(percent) { self.outcome(work, &head) } else { None };
            match one {
                Some((one, effect)) => {
                    settle.push(one);
                    effects.push((work, head, effect));
                }
                None => self.jobs.push((work, head)),
            }
        }
        for decision in std::mem::take(&mut self.decisions) {
            if self.chance.percent(percent) {
                if matches!(decision.why, Why::End { .. }) {
                    decided.push((settle.len(), self.member_of(&decision)?));
                }
                settle.push(settle_decision(&decision));
            } else {
                self.decisions.push(decision);
            }
        }
        self.driver.turn += 1;
        let serves = [Served::up_to(Kind::new("k").unwrap(), 1)].into();
        let queues = vec![QueueClaim { queue: Queue::default(), serves, limit: jobs }];
        let claim = Some(Claim { queues, most: u16::MAX, decisions_max: decisions });
        let turn = Turn { worker: self.driver.worker, number: self.driver.turn, settle, claim };
        let reply = self.driver.store.turn(turn).await.map_err(|e| e.to_string())?;
        self.settled(effects, &reply.settled)?;
        for (at, member) in decided {
            if reply.settled[at] == Settled::Done {
                self.decided(member)?;
            }
        }
        self.tell_of_stops();
        let came = !reply.assigned.is_empty();
        for assigned in reply.assigned {
            match assigned {
                Assigned::Decision(decision) => {
                    self.decisions.retain(|held| held.fence.key != decision.fence.key);
                    self.decisions.push(*decision);
                }
                Assigned::Job(claimed) => self.started(claimed.head)?,
            }
        }
        Ok(came)
    }

    fn member_of(&self, decision: &Undecided) -> Result<usize, String> {
        let graph = decision.node.as_ref().map(|node| node.graph);
        self.members.iter().position(|member| Some(member.id) == graph).ok_or("a decision of no graph".into())
    }

    fn settled(&mut self, effects: Vec<(Work, Head, Effect)>, settled: &[Settled]) -> Result<(), String> {
        let mut ends: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        // Whoever is told of what ends in this turn is told after all of it.
        let mut told = Vec::new();
        for ((work, head, effect), settled) in effects.into_iter().zip(settled) {
            match settled {
                Settled::Done | Settled::Cancelled if !self.is_unread(work, &effect) => {}
                // Something has arrived beside its end: it goes on under its claim.
                Settled::Unread if self.is_unread(work, &effect) => {
                    self.shown.unread += 1;
                    self.jobs.push((work, head));
                    continue;
                }
                other => return Err(format!("what became of {work:?} was {other:?}")),
            }
            match (work, effect) {
                (Work::Element(member, node, at), effect) => {
                    let Holds::List { elements, .. } = &mut self.holder(member, node).holds else { continue };
                    match effect {
                        Effect::Ended(how, cause) => {
                            elements[at].stands = Stands::Ended(how, cause);
                            told.push((member, node));
                        }
                        _ => elements[at].stands = Stands::Ready,
                    }
                }
                (Work::Node(member, node), Effect::Ended(how, cause)) => {
                    if let Some(holder) = self.members[member].holders.get_mut(&node) {
                        holder.place = Place::Model;
                    }
                    ends.entry(member).or_default().push((node, how, cause));
                }
                (Work::Node(member, node), Effect::Opened) => {
                    self.holder(member, node).is_opened = true;
                    self.jobs.push((work, head));
                }
                (Work::Node(member, node), Effect::Parked) => {
                    let holder = self.holder(member, node);
                    let is_news = holder.arrived > holder.read;
                    holder.place = if is_news { Place::Woken } else { Place::Parked };
                    self.shown.parked_on_news += usize::from(is_news);
                }
                (Work::Node(member, node), Effect::Crashed) if self.holder(member, node).is_opened => {
                    let holder = self.holder(member, node);
                    // It starts them again when it goes on.
                    let had_children = std::mem::take(&mut holder.has_children);
                    holder.place = Place::Woken;
                    self.shown.crashed_after += usize::from(had_children);
                    self.shown.crashed_before_its_children += usize::from(!had_children);
                }
                (Work::Node(member, node), Effect::Back | Effect::Crashed) => {
                    if let Some(holder) = self.members[member].holders.get_mut(&node) {
                        holder.place = Place::Model;
                        self.shown.crashed_before_its_children += 1;
                    }
                    self.members[member].model.nodes[node].stands = Stands::Ready;
                    ends.entry(member).or_default();
                }
            }
        }
        for (member, ends) in ends {
            self.members[member].model.end(ends);
        }
        told.into_iter().for_each(|(member, node)| self.arrive(member, node));
        Ok(())
    }

    /// Whether it is the end of a holder that has not read all.
    fn is_unread(&self, work: Work, effect: &Effect) -> bool {
        let Work::Node(member, node) = work else { return false };
        let holder = self.members[member].holders.get(&node);
        matches!(effect, Effect::Ended(..)) && holder.is_some_and(|holder| holder.arrived > holder.read)
    }

    /// The end of a graph was decided. If it is over, whoever holds it is told.
    fn decided(&mut self, at: usize) -> Result<(), String> {
        let member = &mut self.members[at];
        // While there are undos to be decided about, they are what the decision is about.
        let waits = |node: &Node| node.guards.is_some() && node.stands == Stands::Waiting;
        let is_last = !member.model.nodes.iter().any(waits);
        member.model.decided()?;
        if !is_last {
            return Ok(());
        }
        member.is_over = true;
        if let Some((of, node)) = member.inside {
            let is_there = matches!(self.members[of].model.nodes[node].stands, Stands::Running);
            self.shown.outlived += usize::from(!is_there);
            self.arrive(of, node);
        }
        Ok(())
    }

    /// A job came for its handler: by the model it must be ready, and a holder that had begun must have been woken.
    fn started(&mut self, head: Head) -> Result<(), String> {
        let work = *self.works.get(&head.id).ok_or("a job came that nobody enqueued")?;
        self.jobs.push((work, head));
        let (member, node) = match work {
            Work::Element(member, node, at) => {
                let Holds::List { elements, .. } = &mut self.holder(member, node).holds else { return Ok(()) };
                same(&format!("{work:?} starts, and"), &elements[at].stands, &Stands::Ready)?;
                elements[at].stands = Stands::Running;
                return Ok(());
            }
            Work::Node(member, node) => (member, node),
        };
        let Member { model, holders, .. } = &mut self.members[member];
        if let Some(holder) = holders.get_mut(&node) {
            let was = std::mem::replace(&mut holder.place, Place::Worker);
            if holder.is_opened {
                return same(&format!("{work:?} goes on, and"), &was, &Place::Woken);
            }
        }
        same(&format!("{work:?} starts, and"), &model.nodes[node].stands, &Stands::Ready)?;
        model.nodes[node].stands = Stands::Running;
        model.nodes[node].started = true;
        Ok(())
    }

    /// How an attempt ends, and what the design makes of it; `None` if it goes on.
    fn outcome(&mut self, work: Work, head: &Head) -> Option<(Settle, Effect)> {
        let (member, node) = match work {
            Work::Element(member, node, at) => return Some(self.element(member, node, at, head)),
            Work::Node(member, node) => (member, node),
        };
        if self.members[member].holders.contains_key(&node) {
            return self.go_on(member, node, head);
        }
        let model = &self.members[member].model;
        let (settle, effect) = outcome(&mut self.chance, self.trouble, model, node, head);
        Some((settle, effect.map_or(Effect::Back, |(how, cause)| Effect::Ended(how, cause))))
    }

    fn element(&mut self, member: usize, node: usize, at: usize, head: &Head) -> (Settle, Effect) {
        let what = if self.chance.percent(self.trouble.max(10)) { self.chance.below(4) } else { 4 };
        let is_asked = match &self.holder(member, node).holds {
            Holds::List { elements, .. } => elements[at].is_asked,
            Holds::Graph { .. } => false,
        };
        let unless_asked = |how| if is_asked { Effect::Ended(How::Cancelled, None) } else { how };
        let ended = |how| Effect::Ended(how, None);
        let (report, effect) = match what {
            0 | 1 => {
                let failed = Report::Failed { error: "no".into(), retry: Retry::ByPolicy, log: None };
                (failed, unless_asked(ended(How::Dead)))
            }
            2 => (Report::HandedBack, unless_asked(Effect::Back)),
            3 => return (settle_rescued(head, Timestamp::ZERO), unless_asked(ended(How::Quarantined))),
            _ => (Report::Succeeded { output: None, branches: Vec::new() }, ended(How::Succeeded(0))),
        };
        (settle_report(head, report), effect)
    }

    /// What a holder does next; `None` if that is not done by a settle.
    fn go_on(&mut self, member: usize, node: usize, head: &Head) -> Option<(Settle, Effect)> {
        if self.chance.percent(12) {
            return Some((settle_rescued(head, Timestamp::ZERO), Effect::Crashed));
        }
        let waits_for_all = self.chance.percent(50);
        let ended = self.ended(member, node);
        let Holder { is_opened, has_children, is_told, arrived, .. } = *self.holder(member, node);
        // Something may have come since it looked.
        let missed = u32::from(arrived > 0 && self.chance.percent(20));
        self.holder(member, node).read = arrived - missed;
        let journal = vec![Payload::json(&1).unwrap()];
        if !is_opened {
            return Some((Settle::stay(head.fence, journal), Effect::Opened));
        }
        let revoked = || (Report::Revoked { reason: "why".into() }, How::Cancelled);
        let (report, how) = match ended {
            // The children are started, or cancelled, first.
            _ if !has_children && !is_told => return None,
            _ if !has_children => revoked(),
            Some(GraphEnd::Succeeded) => (Report::Succeeded { output: None, branches: Vec::new() }, How::Succeeded(0)),
            Some(GraphEnd::Failed) => {
                (Report::Failed { error: "no".into(), retry: Retry::Never, log: None }, How::Dead)
            }
            Some(GraphEnd::Cancelled) => revoked(),
            None if is_told && !self.are_cancelled(member, node) => return None,
            None if is_told && !waits_for_all => revoked(),
            None => {
                let parked = settle_report(head, Report::Parked { until: None });
                return Some((Settle { journal, read: Some(arrived - missed), ..parked }, Effect::Parked));
            }
        };
        let cause = match how {
            How::Dead => Some(Cause::Permanent),
            How::Cancelled => Some(Cause::Itself { reason: "why".into() }),
            _ => None,
        };
        self.shown.ended_dead += usize::from(how == How::Dead);
        self.shown.ended_cancelled += usize::from(how == How::Cancelled);
        let settle = Settle { journal, read: Some(arrived - missed), ..settle_report(head, report) };
        Some((settle, Effect::Ended(how, cause)))
    }

    fn are_cancelled(&self, member: usize, node: usize) -> bool {
        match &self.members[member].holders[&node].holds {
            Holds::Graph { member, .. } => member.is_none_or(|inner| self.members[inner].model.cancelled),
            Holds::List { is_cancelled, .. } => *is_cancelled,
        }
    }

    /// How a holder ends by what its children have come to, if they have.
    fn ended(&self, member: usize, node: usize) -> Option<GraphEnd> {
        match &self.members[member].holders[&node].holds {
            Holds::Graph { member, .. } => {
                let inner = &self.members[(*member)?];
                inner.is_over.then(|| inner.model.graph_end())
            }
            Holds::List { elements, collects, .. } => {
                let how = |element: &Element| match element.stands {
                    Stands::Ended(how, _) => Some(how),
                    _ => None,
                };
                let is_bad = |how: How| !matches!(how, How::Succeeded(_));
                if !collects && elements.iter().filter_map(how).any(is_bad) {
                    return Some(GraphEnd::Failed);
                }
                elements.iter().all(|element| how(element).is_some()).then_some(GraphEnd::Succeeded)
            }
        }
    }

    /// Cancels a graph as a client does, once what waits for a decision is decided.
    async fn cancel(&mut self, at: usize) -> Result<(), String> {
        loop {
            let held = std::mem::take(&mut self.jobs);
            let has_failed = self.members.iter().any(|member| member.model.failed);
            let came = self.turn(if has_failed { 50 } else { 0 }, 500, 100).await?;
            self.jobs.extend(held);
            if !came && self.decisions.is_empty() {
                break;
            }
        }
        if !self.members[at].model.is_open() || self.members[at].model.cancelled {
            return Ok(());
        }
        let (store, id) = (self.driver.store, self.members[at].id);
        let applied = store.apply(cancel_graph(id, "ann", "")).await.map_err(|e| e.to_string())?;
        if !matches!(applied.changes[..], [Changed::Stopped(_)]) {
            return Err(format!("the stop answered {:?}", applied.changes));
        }
        self.members[at].model.cancel();
        self.tell_of_stops();
        loop {
            let settleable = store.settleable(id, 3).await.map_err(|e| e.to_string())?;
            let order = settle_stopped(id, StopReason::Cancel, &settleable, Duration::ZERO, ("ann", ""));
            store.apply(order).await.map_err(|e| e.to_string())?;
            if settleable.is_empty() {
                return Ok(());
            }
        }
    }

    /// Nothing is held and nothing comes: all has ended as in the models.
    async fn at_rest(&mut self) -> Result<(), String> {
        let store = self.driver.store;
        for (at, member) in self.members.iter().enumerate() {
            let detail = store.inspect().graph(member.id).await.map_err(|e| e.to_string())?.ok_or("a graph is gone")?;
            for (line, node) in detail.nodes.iter().zip(&member.model.nodes) {
                let what = format!("{} of graph {at}", node.name);
                let Stands::Ended(how, cause) = &node.stands else {
                    return Err(format!("{what} hangs: it is {} and by the model {:?}", line.state, node.stands));
                };
                same(&what, &(line.state, line.cause.as_ref()), &(State::Ended(end_of(*how)), cause.as_ref()))?;
            }
            same(&format!("the end of graph {at}"), &detail.line.end, &Some(member.model.graph_end()))?;
            self.shown.undone += usize::from(member.model.undone);
            let changes = vec![Change::Recount { graph: member.id }];
            let recount = Order { actor: "t".into(), reason: String::new(), changes };
            let counted = store.apply(recount).await.map_err(|e| e.to_string())?.changes;
            same("recount", &counted, &vec![Changed::Recounted { repaired: 0 }])?;
            for (node, holder) in &member.holders {
                let Holds::List { elements, .. } = &holder.holds else { continue };
                for (element, must) in elements.iter().enumerate().filter(|(_, e)| e.stands != Stands::Waiting) {
                    let id = self.element_id(at, *node, element);
                    let job = store.inspect().job(id).await.map_err(|e| e.to_string())?.ok_or("an element is gone")?;
                    let Stands::Ended(how, _) = must.stands else {
                        return Err(format!("element {element} of n{node} hangs: {}", job.line.state));
                    };
                    same(&format!("element {element} of n{node}"), &job.line.state, &State::Ended(end_of(how)))?;
                }
            }
        }
        Ok(())
    }

    /// The graphs, and how their nodes stand by the models.
    fn told(&self) -> String {
        let mut told = String::new();
        for (at, Member { model, holders, inside, .. }) in self.members.iter().enumerate() {
            told += &format!("graph {at} inside {inside:?}, fails fast: {}\n", model.fail_fast);
            for (number, node) in model.nodes.iter().enumerate() {
                let Node { parents, at_least, guards, stands, .. } = node;
                told += &format!("  n{number} after {parents:?} need {at_least:?} undoes {guards:?}: {stands:?}");
                if let Some(Holder { place, is_opened, arrived, is_told, .. }) = holders.get(&number) {
                    told += &format!(", holds: {place:?} opened={is_opened} arrived={arrived} told={is_told}");
                }
                told += "\n";
            }
        }
        told
    }
}
