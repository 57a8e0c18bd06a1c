//! What becomes of the graph of an earlier try when the node that holds it is retried: it is retried in place too, so that
//! what has succeeded in it stays.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use towpath_core::builtin::Inner;
use towpath_core::store::Showing;
use towpath_core::{GraphEnd, GraphId, JobId, StoreErrorKind, defaults};

use crate::client::Client;
use crate::durable::{Step, StepCx};
use crate::error::RetryError;
use crate::failure::Failure;

/// What the graph of an earlier try is to be compared with.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) job: JobId,
    /// The fingerprint of the graph's text.
    pub(super) text: u64,
    /// Its input, if that is not its own.
    pub(super) input: Option<Box<RawValue>>,
}

/// What there is of an earlier try.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Earlier {
    /// Nothing that this try could go on with.
    Nothing,
    /// A graph that goes on, and the chapter in which it was started.
    GoesOn { graph: GraphId, began: u32 },
    /// One that has succeeded since.
    Succeeded { graph: GraphId, began: u32 },
}

pub(super) const AGAIN: Step<Asked, Earlier, Failure> = Step::new("again", &again);

async fn again(cx: StepCx, asked: Asked) -> Result<Earlier, Failure> {
    let client = cx.client();
    let Some(Inner { graph, began, .. }) = shown(client, &asked).await? else { return Ok(Earlier::Nothing) };
    let Some(detail) = client.inspect().graph(graph).await? else { return Ok(Earlier::Nothing) };
    let is_same = |input: &RawValue| detail.input.as_ref().is_some_and(|had| had.bytes == input.get().as_bytes());
    if !asked.input.as_deref().is_none_or(is_same) {
        return Ok(Earlier::Nothing);
    }
    match detail.line.end {
        Some(GraphEnd::Succeeded) => return Ok(Earlier::Succeeded { graph, began }),
        // Somebody has retried it, perhaps this step before a crash.
        None => return Ok(Earlier::GoesOn { graph, began }),
        Some(_) => {}
    }
    match client.retry_graph(graph).by(defaults::ACTOR, "the node that holds it is retried").await {
        Ok(_) => Ok(Earlier::GoesOn { graph, began }),
        Err(RetryError::Store(error)) if error.kind != StoreErrorKind::Corrupt => Err(error.into()),
        Err(RetryError::Nothing { .. }) => Ok(Earlier::Nothing),
        Err(error @ RetryError::CutShort { .. }) => Err(Failure::new(error)),
        Err(error) => Err(Failure::permanent(format!("its graph {graph} is not retried: {error}"))),
    }
}

/// What the last try has shown, if it was not brought to its end and was of the same graph.
async fn shown(client: &Client, asked: &Asked) -> Result<Option<Inner>, Failure> {
    let Some(run) = client.inspect().job(asked.job).await?.and_then(|node| node.run) else { return Ok(None) };
    let shown = client.store().shown(run.id, Showing::PUBLISHED.into()).await?;
    let inner = shown.and_then(|shown| shown.payload.decode::<Inner>().ok());
    Ok(inner.filter(|inner| inner.text == asked.text && !inner.is_over))
}
