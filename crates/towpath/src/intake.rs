//! The handler that every worker has for what SQL has sent: the core judges it, and what it refuses is the job's error.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use towpath_core::store::Item;
use towpath_core::{Intake, Kind, Payload};

use crate::context::Context;
use crate::error::Error;
use crate::failure::Failure;
use crate::graph::conditions;
use crate::job::Job;

/// What an intake job was given, as it stands.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct IntakeJob(Value);

impl Job for IntakeJob {
    const KIND: &'static str = Kind::INTAKE;
    type Output = ();
}

pub(crate) async fn take_in(job: IntakeJob, cx: Context) -> Result<(), Failure> {
    let input = Payload::json(&job.0).map_err(|e| Failure::permanent(e.problem))?;
    match Intake::read(&input, cx.client().graph_limits(), conditions::of_text).map_err(Failure::permanent)? {
        Intake::Graph(graph) => match cx.client().enqueue_item(Item::Graph(graph)).await {
            Ok(_) => Ok(()),
            Err(Error::Store(error)) => Err(error.into()),
            Err(refused) => Err(Failure::permanent(refused)),
        },
        Intake::Cancel { job, actor, reason } => {
            cx.client().cancel(job, &actor, &reason).await?;
            Ok(())
        }
    }
}
