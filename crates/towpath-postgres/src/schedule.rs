//! Schedules: which are due, and changes of them that count only on the revision that was read.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio_postgres::Row;
use towpath_core::schedule::{ScheduleWrite, StoredSchedule};
use towpath_core::store::{DueSchedules, ScheduleWritten, Schedules};
use towpath_core::{ScheduleName, Timestamp};

use crate::enqueue::Written;
use crate::error::Fault;
use crate::items::job_value;
use crate::queries::Query;
use crate::rows::{instant, parsed, stored};
use crate::session::Session;
use crate::store::{Inner, News};

pub(crate) async fn due(session: Session, limit: u32) -> Result<DueSchedules, Fault> {
    let rows = session.run(Query::ScheduleDue, &[&stored(limit)]).await?;
    let (mut now, mut next) = (Timestamp::ZERO, None);
    if let Some(row) = rows.first() {
        (now, next) = (Timestamp::from_micros(row.try_get(0)?), instant(row.try_get(1)?));
    }
    Ok(DueSchedules { now, rows: schedules(&rows, 2)?, next })
}

pub(crate) async fn list(session: Session, after: Option<ScheduleName>, limit: u32) -> Result<Schedules, Fault> {
    let after = after.as_ref().map_or("", ScheduleName::as_str);
    let rows = session.run(Query::ScheduleList, &[&after, &stored(limit)]).await?;
    let now = match rows.first() {
        Some(row) => row.try_get(0)?,
        None => session.one(Query::Clock, &[]).await?.try_get(0)?,
    };
    Ok(Schedules { now: Timestamp::from_micros(now), rows: schedules(&rows, 1)? })
}

/// One that cannot be read, such as one of a newer release, stops no other.
fn schedules(rows: &[Row], at: usize) -> Result<Vec<(i64, StoredSchedule)>, Fault> {
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let (revision, body): (Option<i64>, Option<String>) = (row.try_get(at)?, row.try_get(at + 1)?);
        if let Some(schedule) = parsed(body.as_deref()) {
            all.push((revision.unwrap_or_default(), schedule));
        }
    }
    Ok(all)
}

#[derive(Deserialize)]
struct Answer {
    done: bool,
    first: Option<i64>,
}

/// Writes in one exchange, by the schema's function.
pub(crate) async fn write(
    inner: Arc<Inner>,
    session: Session,
    writes: Arc<Vec<ScheduleWrite>>,
) -> Result<(Vec<ScheduleWritten>, News), Fault> {
    inner.lanes.intern(&session, writes.iter().flat_map(|write| &write.mint)).await?;
    let sent = writes.iter().map(|write| sent(&inner, write)).collect::<Result<Vec<_>, _>>()?;
    let text: String = session.one(Query::WriteSchedules, &[&Value::Array(sent).to_string()]).await?.try_get(0)?;
    let answers: Vec<Answer> = serde_json::from_str(&text)
        .map_err(|e| Fault::corrupt("write schedules", format!("an answer cannot be read: {e}")))?;
    let mut written = Written::default();
    for (write, answer) in writes.iter().zip(&answers).filter(|(_, answer)| answer.done) {
        for job in &write.mint {
            written.lanes.insert(inner.lanes.number(job)?);
        }
        written.first = written.first.into_iter().chain(answer.first).min();
    }
    let said = |answer: &Answer| if answer.done { ScheduleWritten::Done } else { ScheduleWritten::Stale };
    Ok((answers.iter().map(said).collect(), written.tell(&inner)?))
}

fn sent(inner: &Inner, write: &ScheduleWrite) -> Result<Value, Fault> {
    let mint = write.mint.iter().map(|job| Ok(Value::Object(job_value(inner, job)?)));
    let audit = write.audit.as_ref().map(|audit| {
        json!({ "actor": audit.actor, "reason": audit.reason, "action": audit.action,
            "done": ScheduleWritten::Done.to_string(), "stale": ScheduleWritten::Stale.to_string() })
    });
    Ok(json!({
        "name": write.name.as_str(), "revision": write.revision,
        "next": write.next().map(Timestamp::as_micros), "body": write.row.as_ref().map(StoredSchedule::to_stored),
        "mint": mint.collect::<Result<Vec<_>, Fault>>()?, "audit": audit,
    }))
}
