//! What an earlier try of a map has left: elements whose jobs have succeeded are not done again when the node is retried.

use serde_json::value::RawValue;
use towpath_core::builtin::{self, EachJob, Progress};
use towpath_core::store::Showing;
use towpath_core::{End, JobId, Queue, RunId, State};

use crate::client::Client;
use crate::failure::Failure;

/// The tries of a node before the one that began with this chapter, if the last of them was not brought to its end: of one
/// that was, everything is to be done again.
pub(super) async fn tries(client: &Client, run: RunId, began: u32) -> Result<Vec<u32>, Failure> {
    let shown = client.store().shown(run, Showing::PUBLISHED.into()).await?;
    let Some(progress) = shown.and_then(|shown| shown.payload.decode::<Progress>().ok()) else { return Ok(Vec::new()) };
    let is_this = progress.tries.last() == Some(&began);
    if !is_this && progress.done >= progress.of {
        return Ok(Vec::new());
    }
    Ok(progress.tries.into_iter().filter(|earlier| *earlier < began).collect())
}

/// What the job of an element has left in the latest of these tries in which it has succeeded, if it was the same job.
///
/// # Errors
/// The store could not be asked.
pub(super) async fn left(
    client: &Client,
    node: JobId,
    tries: &[u32],
    each: &EachJob,
    (number, element): (u32, &RawValue),
) -> Result<Option<Box<RawValue>>, Failure> {
    for began in tries.iter().rev() {
        let id = builtin::element_job(node, *began, number);
        let Some(detail) = client.inspect().job(id).await? else { continue };
        let is_same = each.job(id, element, &Queue::default()).is_ok_and(|job| {
            (&job.kind, job.version, &job.input) == (&detail.line.kind, detail.line.version, &detail.input)
        });
        if !is_same || detail.line.state != State::Ended(End::Succeeded) {
            continue;
        }
        return match detail.output {
            None => Ok(Some(RawValue::NULL.to_owned())),
            Some(output) => output.decode().map(Some).map_err(|e| Failure::permanent(e.problem)),
        };
    }
    Ok(None)
}
