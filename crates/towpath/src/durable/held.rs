//! Children of the product's own functions, under ids and arrivals that the function names: they are the same in whichever
//! chapter they are asked for, so that a later chapter goes on with those of an earlier one.

use std::panic::Location;

use serde::Serialize;
use serde_json::value::RawValue;
use towpath_core::replay::{Interrupt, Outcome};
use towpath_core::store::{Child, Item};
use towpath_core::{Label, NewJob, PreparedGraph, fingerprint, limits};

use super::child::{ChildBuilder, ChildError, What, decode_graph, decode_job};
use super::cx::Cx;
use super::function::Durable;
use crate::failure::Failure;

impl<'r> Cx<'r> {
    /// Starts a job under its own id and waits for its output. `name` is what the journal calls it, and `label` is the arrival
    /// that tells of its end.
    #[track_caller]
    pub(crate) fn held_job(
        &self,
        job: NewJob,
        name: &str,
        label: Label,
    ) -> ChildBuilder<'r, Result<Box<RawValue>, ChildError<Failure>>> {
        let place = Location::caller();
        let what = || {
            let input = fingerprint(&*String::from_utf8_lossy(&job.input.bytes)).map_err(|e| e.problem)?;
            let (name, version, child) = (name.to_owned(), job.version.max(1), Child::Job(job.id));
            Ok(What { item: Item::job(job), child, name, version, input })
        };
        self.held(place, what(), label, decode_job::<Box<RawValue>>)
    }

    /// Starts a graph under its own id and waits for its end.
    #[track_caller]
    pub(crate) fn held_graph(
        &self,
        graph: PreparedGraph,
        name: &str,
        label: Label,
    ) -> ChildBuilder<'r, Result<(), ChildError<Failure>>> {
        let place = Location::caller();
        let what = || {
            let nodes = graph.nodes().iter().map(|node| {
                let job = &node.job;
                let input = String::from_utf8_lossy(&job.input.bytes).into_owned();
                (node.name.as_str().to_owned(), job.kind.as_str().to_owned(), job.version, input)
            });
            let given = graph.input().map(|input| String::from_utf8_lossy(&input.bytes).into_owned());
            let input = fingerprint(&(nodes.collect::<Vec<_>>(), given)).map_err(|e| e.problem)?;
            let (name, child) = (name.to_owned(), Child::Graph(graph.id()));
            Ok(What { item: Item::Graph(Box::new(graph)), child, name, version: 0, input })
        };
        self.held(place, what(), label, decode_graph)
    }

    fn held<T>(
        &self,
        place: &'static Location<'static>,
        what: Result<What, String>,
        label: Label,
        decode: fn(&Outcome) -> Result<T, String>,
    ) -> ChildBuilder<'r, T> {
        ChildBuilder::new(self.clone(), self.ops().claim(), place, what, Some(label), decode)
    }

    /// Whether an operation is done of which the function has not taken the result yet. Such a child is no child of the next
    /// chapter any more: its end was taken in this one.
    pub(crate) fn has_untold(&self) -> bool {
        self.ops().has_untold()
    }

    /// Ends this chapter and begins the next one, as [`continue_as_new`](Self::continue_as_new) does, but leaves children
    /// alone that are waited for: the next chapter is to ask for each of them again, under the same id and label. Those that
    /// were asked for since something was last told may not have been started; asking again starts them. It never returns.
    pub(crate) async fn continue_with_children<I: Serialize, O, E, T>(&self, _: Durable<I, O, E>, input: &I) -> T {
        let max = limits::PAYLOAD_BYTES_MAX;
        let problem = match Outcome::of(input) {
            Ok(input) if input.json().len() <= max => {
                self.ops().renew_with_children(input);
                return std::future::pending().await;
            }
            Ok(input) => format!("it has {} bytes, at most {max} are allowed", input.json().len()),
            Err(e) => e.problem,
        };
        self.ops().interrupt(Interrupt::Unencodable { name: "the input of the next chapter".into(), problem });
        std::future::pending().await
    }
}
