//! An edit of a job that no worker has: its input, its priority, from when it may run.

use serde_json::value::RawValue;
use towpath::core::store::Edit;
use towpath::{Changed, JobId, JobState, Payload, Timestamp};

use super::{Done, checked};
use crate::app::Ctx;
use crate::options::Action;
use crate::problem::{Code, Problem};

/// What is to change; `None` leaves as it is.
#[derive(Default)]
pub(crate) struct Edited<'a> {
    pub(crate) reason: &'a str,
    pub(crate) input: Option<&'a RawValue>,
    pub(crate) priority: Option<i16>,
    pub(crate) due: Option<Timestamp>,
}

pub(crate) async fn job(ctx: &Ctx, id: JobId, asked: Edited<'_>) -> Result<Done, Problem> {
    ctx.allow(Action::Edit)?;
    let reason = checked(asked.reason)?;
    let mut edit = Edit::default();
    edit.input = asked.input.map(|input| Payload::json_bytes(input.get().as_bytes().to_vec()));
    (edit.priority, edit.due) = (asked.priority, asked.due);
    if edit.is_empty() {
        return Err(Problem::invalid("nothing is to change").help("give an input, a priority or an instant"));
    }
    let conflict = |message: &str, help: &str| Err(Problem::new(Code::Conflict, message).help(help));
    match ctx.app.client.edit(id, edit, &ctx.user.name, reason).await? {
        Changed::Edited => Ok(Done { id: id.to_string(), outcome: "edited", message: "it was edited".into() }),
        Changed::Unknown => Err(Problem::not_found("job", &id.to_string())),
        Changed::Left(JobState::Running) => {
            conflict("a worker has it", "cancel it, or edit it once this attempt has failed")
        }
        Changed::Left(JobState::Ended(end)) => {
            conflict(&format!("it has ended: {end}"), "requeue it with another input, or retry its graph")
        }
        _ => conflict("it is a run that has begun, or waits for a decision", "try again in a moment, or cancel it"),
    }
}

/// An instant as people write it: RFC 3339, or `now`.
pub(crate) fn due(text: &str) -> Result<Option<Timestamp>, Problem> {
    match text.trim() {
        "" => Ok(None),
        "now" => Ok(Some(Timestamp::ZERO)),
        text => match text.parse::<jiff::Timestamp>() {
            Ok(at) => Ok(Some(Timestamp::from_micros(at.as_microsecond()))),
            Err(e) => {
                let problem = Problem::invalid(format!("due: {text:?} is no instant: {e}"));
                Err(problem.help("write one such as 2027-01-31T08:00:00Z, or now"))
            }
        },
    }
}
