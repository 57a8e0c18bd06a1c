//! What a holder does with its children, as a worker would: starts them, perhaps twice, and asks them to cancel.

use towpath_core::store::{Changed, Item, Parent, Placed};
use towpath_core::{JobRules, Kind, NewJob, RetryPolicy, State, cancel_jobs};

use super::super::drive::same;
use super::super::model::{How, Stands, end_of};
use super::Family;
use super::family::{Holds, Work};

impl Family<'_, '_> {
    pub(super) async fn start(&mut self, member: usize, node: usize) -> Result<(), String> {
        let holder = self.holder(member, node);
        holder.has_children = true;
        let (mut new_list, mut old_graph) = (None, None);
        let mut new_graph = None;
        match &mut holder.holds {
            Holds::Graph { drawn, member } => match drawn.take() {
                Some(drawn) => new_graph = Some(drawn),
                None => old_graph = *member,
            },
            Holds::List { elements, .. } => new_list = Some(elements.len()),
        }
        if let Some(drawn) = new_graph {
            let at = self.members.len();
            if let Holds::Graph { member, .. } = &mut self.holder(member, node).holds {
                *member = Some(at);
            }
            self.shown.graphs += 1;
            return self.enqueue(drawn, Some((member, node))).await;
        }
        if let Some(at) = old_graph {
            self.shown.started_twice += 1;
            return same("a graph that was started before a crash", &self.place(at).await?, &Placed::Existing);
        }
        let count = new_list.unwrap_or_default();
        let rules = JobRules { retry: RetryPolicy::attempts(1), crash_limit: 1, ..JobRules::default() };
        let mut items = Vec::new();
        for element in 0..count {
            let id = self.element_id(member, node, element);
            let parent = Parent { run: self.run_of(member, node), awaits: Some(Parent::label(1, element as u32)) };
            let rules = JobRules { parent: Some(parent), ..rules.clone() };
            items.push(Item::job(NewJob::new(id, Kind::new("k").unwrap()).rules(rules)));
        }
        let placed = self.write(items).await?;
        let is_first = self.works.insert(self.element_id(member, node, 0), Work::Element(member, node, 0)).is_none();
        let must = if is_first { Placed::Inserted } else { Placed::Existing };
        same("the jobs of a list", &placed, &vec![must; count])?;
        if !is_first {
            self.shown.started_twice += 1;
            return Ok(());
        }
        self.shown.lists += 1;
        for element in 0..count {
            let id = self.element_id(member, node, element);
            self.works.insert(id, Work::Element(member, node, element));
        }
        if let Holds::List { elements, .. } = &mut self.holder(member, node).holds {
            elements.iter_mut().for_each(|element| element.stands = Stands::Ready);
        }
        Ok(())
    }

    /// Asks all children of a holder to cancel, as its worker does, unless that was done.
    pub(super) async fn cancel_children(&mut self, member: usize, node: usize) -> Result<(), String> {
        match &mut self.holder(member, node).holds {
            Holds::Graph { member: Some(inner), .. } => {
                let inner = *inner;
                if self.members[inner].model.is_open() && !self.members[inner].model.cancelled {
                    self.shown.cancelled_downwards += 1;
                    self.cancel(inner).await?;
                }
                Ok(())
            }
            Holds::List { elements, is_cancelled, .. } if !*is_cancelled => {
                *is_cancelled = true;
                let count = elements.len();
                let ids = (0..count).map(|element| self.element_id(member, node, element)).collect::<Vec<_>>();
                let order = cancel_jobs(ids, "ann", "");
                let changes = self.driver.store.apply(order).await.map_err(|e| e.to_string())?.changes;
                for (element, changed) in changes.into_iter().enumerate() {
                    self.asked(member, node, element, &changed)?;
                }
                self.shown.cancelled_downwards += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn asked(&mut self, member: usize, node: usize, at: usize, changed: &Changed) -> Result<(), String> {
        let Holds::List { elements, .. } = &mut self.holder(member, node).holds else { return Ok(()) };
        let element = &mut elements[at];
        match (&element.stands, changed) {
            (Stands::Ready, Changed::Ended) => {
                element.stands = Stands::Ended(How::Cancelled, None);
                self.arrive(member, node);
            }
            (Stands::Running, Changed::Asked) => element.is_asked = true,
            (Stands::Ended(how, _), Changed::Left(state)) if State::Ended(end_of(*how)) == *state => {}
            (stands, changed) => return Err(format!("a cancel of an element that is {stands:?} answered {changed:?}")),
        }
        Ok(())
    }
}
