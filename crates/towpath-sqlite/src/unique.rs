//! Unique keys: who has one, whether it is still held, and who gets it.

use rusqlite::params;
use towpath_core::store::{Placed, Refusal};
use towpath_core::{
    Clash, Due, GraphRules, Hold, JobId, KeyHolder, Kind, NewJob, Queue, Stage, Timestamp, Unique, UniqueKey,
};

use crate::error::Fault;
use crate::queries::Query;
use crate::rows;
use crate::tx::Tx;

/// What a key belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    Kind(&'a str),
    Graph(&'a str),
}

impl<'a> Scope<'a> {
    fn stored(self) -> (i64, &'a str) {
        match self {
            Self::Kind(kind) => (0, kind),
            Self::Graph(name) => (1, name),
        }
    }
}

/// Who has a key.
struct Held {
    owner: i64,
    by: KeyHolder,
    taken_at: Timestamp,
    stage: Option<Stage>,
}

impl Tx<'_, '_> {
    /// The answer to a job, or graph, whose key is held; `None` if it may have it.
    pub(crate) fn key_clash(
        &mut self,
        scope: Scope<'_>,
        unique: &Unique,
        new: Option<&NewJob>,
    ) -> Result<Option<Result<Placed, Refusal>>, Fault> {
        let Some(held) = self.key_holder(scope, unique)? else { return Ok(None) };
        Ok(Some(match (unique.clash(), held.by, new) {
            (Clash::Refuse, by, _) => Err(Refusal::KeyTaken { key: unique.key.clone(), by }),
            (Clash::Replace, KeyHolder::Job(id), Some(new)) if self.replace(&held, unique, new)? => {
                Ok(Placed::Replaced(id))
            }
            (_, by, _) => Ok(Placed::Held(by)),
        }))
    }

    /// Gives a free key to a job or graph that has just been written.
    pub(crate) fn take_key(
        &mut self,
        scope: Scope<'_>,
        unique: &Unique,
        owner: i64,
        holder: KeyHolder,
    ) -> Result<(), Fault> {
        let (scope, kind) = scope.stored();
        let until = unique.hold.until(self.now).map(Timestamp::as_micros);
        let id = match &holder {
            KeyHolder::Job(id) => id.as_bytes(),
            KeyHolder::Graph(id) => id.as_bytes(),
        };
        let (key, hold) = (unique.key.as_str(), unique.hold.code());
        self.db.run(Query::UniquePut, params![scope, kind, key, owner, &id[..], hold, self.now_us(), until])?;
        Ok(())
    }

    /// Gives a job that is put back its key again, if it had one that it would hold; who has it, if another one does.
    pub(crate) fn key_again(&mut self, job: i64, id: JobId) -> Result<Option<KeyHolder>, Fault> {
        let kept = self.db.maybe(Query::OwnKey, [job], |row| {
            Ok((row.get::<_, String>(0)?, rows::rules(row, 1)?, row.get::<_, u32>(2)?))
        })?;
        let Some((kind, rules, attempt)) = kept else { return Ok(None) };
        let Some(unique) = rules.own_key.and_then(|own| own.held_again(attempt)) else { return Ok(None) };
        let scope = Scope::Kind(&kind);
        match self.key_holder(scope, &unique)? {
            Some(held) if held.owner != job => Ok(Some(held.by)),
            _ => self.take_key(scope, &unique, job, KeyHolder::Job(id)).map(|()| None),
        }
    }

    /// Gives a graph that has ended and goes on its key again, if it had one that it would hold; the key and who has it, if
    /// another one does.
    pub(crate) fn graph_key_again(&mut self, graph: i64) -> Result<Option<(UniqueKey, KeyHolder)>, Fault> {
        let kept = self.db.maybe(Query::GraphOwnKey, [graph], |row| {
            let own = GraphRules::own_key(row.get::<_, Option<String>>(2)?.as_deref());
            Ok((rows::graph_id(row, 0)?, row.get::<_, String>(1)?, own))
        })?;
        let Some((id, name, Some(own))) = kept else { return Ok(None) };
        let Some(unique) = own.held_again(0) else { return Ok(None) };
        let scope = Scope::Graph(&name);
        match self.key_holder(scope, &unique)? {
            Some(held) if held.owner != graph => Ok(Some((unique.key, held.by))),
            _ => self.take_key(scope, &unique, graph, KeyHolder::Graph(id)).map(|()| None),
        }
    }

    /// Forgets the key of a job or graph that is deleted, unless its window is not over.
    pub(crate) fn leave_key(&mut self, owner: i64) -> Result<(), Fault> {
        self.db.run(Query::UniqueLeave, [owner, self.now_us()])?;
        Ok(())
    }

    fn key_holder(&mut self, scope: Scope<'_>, unique: &Unique) -> Result<Option<Held>, Fault> {
        let (code, kind) = scope.stored();
        let now = self.now;
        let held = self.db.maybe(Query::UniqueFind, params![code, kind, unique.key.as_str()], |row| {
            let stage = match row.get::<_, Option<i64>>(5)? {
                None => None,
                Some(0) => Some(Stage::Unstarted),
                Some(1) => Some(Stage::Begun),
                Some(_) => Some(Stage::Over),
            };
            let by = match scope {
                Scope::Kind(_) => KeyHolder::Job(rows::job_id(row, 1)?),
                Scope::Graph(_) => KeyHolder::Graph(rows::graph_id(row, 1)?),
            };
            let is_held = Hold::is_held(row.get(2)?, rows::instant_or_none(row, 4)?, now, stage);
            let held = Held { owner: row.get(0)?, by, taken_at: rows::instant(row, 3)?, stage };
            Ok(is_held.then_some(held))
        })?;
        Ok(held.flatten())
    }

    /// Puts a job into the place of one that has not begun; whether it did.
    fn replace(&mut self, held: &Held, unique: &Unique, new: &NewJob) -> Result<bool, Fault> {
        if held.stage != Some(Stage::Unstarted) {
            return Ok(false);
        }
        let old = held.owner;
        let Some(stored) = self.stored_job(old)? else { return Ok(false) };
        let facts = self.facts(old)?;
        let Some(counters) = self.take_idle(&facts)? else { return Ok(false) };
        if let Some(deadline) = facts.deadline {
            self.db.run(Query::DeadlineDelete, [deadline, old])?;
        }
        let job = unique.replaced(stored, new, held.taken_at, self.now);
        self.forget_notes(old)?;
        self.db.maybe(Query::JobDelete, [old], |_| Ok(()))?;
        let key = self.draw()?;
        let place = self.insert_lone(key, &job)?;
        let place = place.ok_or_else(|| Fault::corrupt(format!("the job {} is there twice", job.id)))?;
        self.make_due(key, place, job.due.instant(self.now), counters)?;
        self.db.run(Query::UniqueMove, [old, key])?;
        Ok(true)
    }

    /// A job that has not begun, as it was enqueued.
    fn stored_job(&mut self, key: i64) -> Result<Option<NewJob>, Fault> {
        self.db.maybe(Query::JobRead, [key], |row| {
            let (kind, queue): (String, String) = (row.get(1)?, row.get(3)?);
            let job = NewJob::new(rows::job_id(row, 0)?, Kind::from_stored(&kind));
            Ok(NewJob {
                version: row.get(2)?,
                queue: Queue::from_stored(&queue),
                priority: row.get(4)?,
                input: rows::payload(row, 5)?.unwrap_or_default(),
                deadline: rows::instant_or_none(row, 7)?,
                rules: rows::rules(row, 8)?,
                tags: rows::texts(row, 9)?,
                headers: rows::headers(row, 10)?,
                due: rows::instant_or_none(row, 11)?.map_or(Due::Now, Due::At),
                ..job
            })
        })
    }
}
