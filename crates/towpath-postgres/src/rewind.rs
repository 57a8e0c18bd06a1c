//! Lets runs that have ended go on from lines of their own journals.

use towpath_core::replay::Kept;
use towpath_core::store::{CancelNote, Changed};
use towpath_core::{End, JobId, Payload, State};

use crate::apply::Orders;
use crate::error::Fault;
use crate::queries::Query;
use crate::rows::{count, stored};

impl Orders<'_> {
    pub(crate) async fn retry_run(
        &mut self,
        id: JobId,
        from: &[End],
        chapter: u32,
        (first, kept): (&Payload, &Kept),
    ) -> Result<Changed, Fault> {
        let session = self.session;
        let found = session.run(Query::FindJobs, &[&vec![id.as_uuid()]]).await?;
        let Some(row) = found.first() else { return Ok(Changed::Unknown) };
        let (job, is_node): (i64, bool) = (row.try_get(1)?, row.try_get::<_, Option<i64>>(2)?.is_some());
        let looked = session.run(Query::RunLook, &[&vec![job], &vec![false]]).await?;
        let is_there = match looked.first() {
            Some(row) => count(row.try_get(1)?) == chapter && kept.below <= count(row.try_get(2)?),
            None => false,
        };
        let ends: Vec<i16> =
            if is_node || !is_there { Vec::new() } else { from.iter().map(|end| end.code()).collect() };
        // From here on nobody prunes it or retries it.
        let Some(taken) = session.run(Query::RequeueTake, &[&job, &ends, &false]).await?.into_iter().next() else {
            return Ok(match self.state_of(job).await? {
                None => Changed::Unknown,
                Some(State::Ended(_)) if is_node => Changed::OfGraph,
                Some(state) => Changed::Left(state),
            });
        };
        let (lines, below, without) = (stored(kept.lines()), stored(kept.below), numbers(kept));
        let (codec, bytes, name) = (first.codec.code(), &first.bytes[..], CancelNote::NAME);
        let row = session
            .run(
                Query::RunRewind,
                &[&job, &stored(chapter), &below, &without, &lines, &codec, &bytes, &self.now, &name],
            )
            .await?;
        if row.is_empty() {
            return Err(Fault::Again("a run has ended once more just now"));
        }
        let attempt: i32 = taken.try_get(0)?;
        let input: (Option<i16>, Option<&[u8]>) = (None, None);
        let row = session.one(Query::RequeuePut, &[&job, &self.now, &attempt, &input.0, &input.1]).await?;
        self.lanes.push(row.try_get(0)?);
        Ok(Changed::Requeued)
    }
}

fn numbers(kept: &Kept) -> Vec<i32> {
    kept.without.iter().map(|seq| stored(*seq)).collect()
}
