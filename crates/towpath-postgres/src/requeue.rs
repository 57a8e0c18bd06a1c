//! Puts jobs back that have ended or are blocked.

use towpath_core::store::Changed;
use towpath_core::{End, JobId, Payload, State};

use crate::apply::Orders;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, state};

impl Orders<'_> {
    pub(crate) async fn requeue(&mut self, id: JobId, from: &[End], input: Option<&Payload>) -> Result<Changed, Fault> {
        let session = self.session;
        let found = session.run(Query::FindJobs, &[&vec![id.as_uuid()]]).await?;
        let Some(row) = found.first() else { return Ok(Changed::Unknown) };
        let (job, is_node): (i64, bool) = (row.try_get(1)?, row.try_get::<_, Option<i64>>(2)?.is_some());
        let has_journal = match row.try_get::<_, Option<&str>>(4)? {
            Some(_) => {
                let rows = session.run(Query::RunLook, &[&vec![job], &vec![false]]).await?;
                rows.first().is_some_and(|row| {
                    let chapter: Result<i32, _> = row.try_get(1);
                    let entries: Result<i32, _> = row.try_get(2);
                    chapter.is_ok_and(|chapter| chapter > 1) || entries.is_ok_and(|entries| entries > 0)
                })
            }
            None => false,
        };
        let ends: Vec<i16> =
            if is_node || has_journal { Vec::new() } else { from.iter().map(|end| end.code()).collect() };
        let may_be_blocked = !has_journal || input.is_none();
        let Some(taken) = session.run(Query::RequeueTake, &[&job, &ends, &may_be_blocked]).await?.into_iter().next()
        else {
            let row = session.one(Query::StateOf, &[&vec![job]]).await?;
            return Ok(match state(row.try_get(1)?)? {
                State::Ended(_) if is_node => Changed::OfGraph,
                State::Ended(_) | State::Blocked if has_journal => Changed::HasBegun,
                state => Changed::Left(state),
            });
        };
        let attempt = count(taken.try_get(0)?);
        let codec = input.map(|input| input.codec.code());
        let bytes = input.map(|input| &input.bytes[..]);
        let attempt = crate::rows::stored(attempt);
        let row = session.one(Query::RequeuePut, &[&job, &self.now, &attempt, &codec, &bytes]).await?;
        self.lanes.push(row.try_get(0)?);
        Ok(Changed::Requeued)
    }
}
