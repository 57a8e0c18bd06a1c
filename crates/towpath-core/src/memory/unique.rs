//! Unique keys: who has one, whether it is still held, and who gets it.

use crate::id::JobId;
use crate::job::{Due, NewJob};
use crate::name::UniqueKey;
use crate::store::{Placed, Refusal};
use crate::time::Timestamp;
use crate::unique::{Clash, Hold, KeyHolder, Stage, Unique};

use super::Transaction;
use super::tables::{Key, Tables, With};

/// What a key belongs to: a kind, or the name of a graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    Kind(String),
    Graph(String),
}

pub(super) struct UniqueRow {
    /// The job or graph that has it.
    owner: Key,
    holder: KeyHolder,
    hold: i16,
    taken_at: Timestamp,
    until: Option<Timestamp>,
}

impl Transaction<'_> {
    /// The answer to a job, or graph, whose key is held; `None` if it may have it.
    pub(super) fn key_clash(
        &mut self,
        scope: &Scope,
        unique: &Unique,
        new: Option<&NewJob>,
    ) -> Option<Result<Placed, Refusal>> {
        let place = (scope.clone(), unique.key.clone());
        let row = self.tables.unique.get(&place)?;
        let (owner, holder, taken_at) = (row.owner, row.holder, row.taken_at);
        if !Hold::is_held(row.hold, row.until, self.now, self.tables.stage(owner)) {
            return None;
        }
        Some(match (unique.clash(), holder, new) {
            (Clash::Refuse, by, _) => Err(Refusal::KeyTaken { key: unique.key.clone(), by }),
            (Clash::Replace, KeyHolder::Job(id), Some(new)) if self.replace(owner, unique, new, taken_at) => {
                Ok(Placed::Replaced(id))
            }
            (_, by, _) => Ok(Placed::Held(by)),
        })
    }

    /// Gives a free key to a job or graph that has just been written.
    pub(super) fn take_key(&mut self, scope: Scope, unique: &Unique, owner: Key, holder: KeyHolder) {
        let until = unique.hold.until(self.now);
        let row = UniqueRow { owner, holder, hold: unique.hold.code(), taken_at: self.now, until };
        self.tables.put_key((scope, unique.key.clone()), row);
    }

    /// Gives a job that is put back its key again, if it had one that it would hold; who has it, if another one does.
    pub(super) fn key_again(&mut self, job: Key, id: JobId) -> Option<KeyHolder> {
        let row = self.tables.job.get(&job)?;
        let unique = row.new.rules.own_key.as_ref()?.held_again(self.tables.counters(job).attempt)?;
        let scope = Scope::Kind(row.new.kind.to_string());
        self.take_key_again(scope, &unique, job, KeyHolder::Job(id))
    }

    fn take_key_again(&mut self, scope: Scope, unique: &Unique, owner: Key, holder: KeyHolder) -> Option<KeyHolder> {
        if let Some(taken) = self.tables.unique.get(&(scope.clone(), unique.key.clone()))
            && taken.owner != owner
            && Hold::is_held(taken.hold, taken.until, self.now, self.tables.stage(taken.owner))
        {
            return Some(taken.holder);
        }
        self.take_key(scope, unique, owner, holder);
        None
    }

    /// Gives a graph that has ended and goes on its key again, if it had one that it would hold; the key and who has it, if
    /// another one does.
    pub(super) fn graph_key_again(&mut self, graph: Key) -> Option<(UniqueKey, KeyHolder)> {
        let row = self.tables.graph.get(&graph).filter(|row| row.over.is_some())?;
        let (id, unique) = (row.id, row.own_key.as_ref()?.held_again(0)?);
        let scope = Scope::Graph(row.name.to_string());
        let by = self.take_key_again(scope, &unique, graph, KeyHolder::Graph(id))?;
        Some((unique.key, by))
    }

    /// Puts a job into the place of one that has not begun; whether it did.
    fn replace(&mut self, old: Key, unique: &Unique, new: &NewJob, taken_at: Timestamp) -> bool {
        if self.tables.stage(old) != Some(Stage::Unstarted) {
            return false;
        }
        let due = self.tables.later_by_job.get(&old).copied();
        let Some(counters) = self.take_idle(old) else { return false };
        let Some(row) = self.tables.job.remove(&old) else { return false };
        self.tables.forget_notes(old);
        if let Some(deadline) = row.new.deadline {
            self.tables.deadline.remove(&(deadline, old));
        }
        let stored = NewJob { due: due.map_or(Due::Now, Due::At), ..row.new };
        let job = unique.replaced(stored, new, taken_at, self.now);
        let (id, due) = (job.id, job.due.instant(self.now));
        let key = self.tables.draw();
        self.insert_job(key, job, Vec::new());
        self.make_due(key, due, counters);
        self.tables.move_key(old, key, id);
        true
    }
}

impl Tables {
    /// How far the owner of a key has come; `None` if it is gone.
    fn stage(&self, owner: Key) -> Option<Stage> {
        if let Some(graph) = self.graph.get(&owner) {
            return Some(if graph.over.is_some() { Stage::Over } else { Stage::Begun });
        }
        if !self.job.contains_key(&owner) {
            return None;
        }
        if self.ended.contains_key(&owner) {
            return Some(Stage::Over);
        }
        let is_handled = self.running.get(&owner).is_some_and(|row| row.with == With::Handler);
        Some(if is_handled || self.counters(owner).attempt > 0 { Stage::Begun } else { Stage::Unstarted })
    }

    fn put_key(&mut self, place: (Scope, UniqueKey), row: UniqueRow) {
        self.unique_by_owner.insert(row.owner, place.clone());
        if let Some(until) = row.until {
            self.unique_until.insert((until, place.clone()));
        }
        if let Some(old) = self.unique.insert(place.clone(), row) {
            self.forget_place(&old, &place);
        }
    }

    fn move_key(&mut self, from: Key, to: Key, id: JobId) {
        let Some(place) = self.unique_by_owner.remove(&from) else { return };
        if let Some(row) = self.unique.get_mut(&place) {
            (row.owner, row.holder) = (to, KeyHolder::Job(id));
        }
        self.unique_by_owner.insert(to, place);
    }

    /// Forgets the key of a job or graph that is deleted, unless its window is not over.
    pub(super) fn leave_key(&mut self, owner: Key, now: Timestamp) {
        let Some(place) = self.unique_by_owner.get(&owner).cloned() else { return };
        if self.unique.get(&place).is_some_and(|row| row.until.is_none_or(|until| until <= now)) {
            self.delete_key(&place);
        }
    }

    /// Deletes keys whose window is over; answers how many.
    pub(super) fn prune_keys(&mut self, now: Timestamp, limit: u32) -> u32 {
        let past = self.unique_until.iter().take_while(|(until, _)| *until <= now).take(limit as usize);
        let places: Vec<_> = past.map(|(_, place)| place.clone()).collect();
        places.iter().for_each(|place| self.delete_key(place));
        places.len() as u32
    }

    fn delete_key(&mut self, place: &(Scope, UniqueKey)) {
        if let Some(row) = self.unique.remove(place) {
            self.forget_place(&row, place);
        }
    }

    /// Takes a row that is gone out of the orders by owner and by the end of its window.
    fn forget_place(&mut self, row: &UniqueRow, place: &(Scope, UniqueKey)) {
        let is_owned = self.unique.get(place).is_some_and(|new| new.owner == row.owner);
        if !is_owned {
            self.unique_by_owner.remove(&row.owner);
        }
        if let Some(until) = row.until
            && self.unique.get(place).is_none_or(|new| new.until != Some(until))
        {
            self.unique_until.remove(&(until, place.clone()));
        }
    }
}
