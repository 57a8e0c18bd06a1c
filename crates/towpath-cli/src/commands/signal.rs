//! `towpath signal`: send a signal to a run.

use clap::Args;
use serde_json::{Value, json};
use towpath::core::builtin::{self, Wait};
use towpath::core::store::{Arrival, Delivery, NodeLine};
use towpath::core::{Label, RunId};
use towpath::{Client, GraphId, Payload};

use super::ViewArgs;
use crate::error::CliError;
use crate::{exit, say};

/// Send a signal to a run
///
/// The run need not wait for it or exist yet: the signal is kept until a wait of its name takes it. One whose payload does
/// not fit the wait stays in the inbox, and the run waits on. To a run that has ended nothing is sent, and the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct SignalCommand {
    /// The run.
    #[arg(value_name = "RUN-ID")]
    run: String,
    /// The signal's name.
    #[arg(value_name = "NAME")]
    name: String,
    /// What it carries.
    #[arg(value_name = "JSON", default_value = "null")]
    payload: String,
    /// A second signal to the run with this key is none.
    #[arg(long, value_name = "KEY")]
    dedup: Option<String>,
    #[command(flatten)]
    view: ViewArgs,
}

impl SignalCommand {
    pub(super) async fn run(self) -> Result<u8, CliError> {
        let client = self.view.store.found()?.open().await?;
        let arrival = self.arrival()?;
        self.check_node(&client).await?;
        let answer = client.store().signal(vec![arrival]).await?.items.into_iter().next();
        let delivery = match answer {
            Some(Err(refusal)) => return Err(CliError::failed("send the signal", refusal)),
            Some(Ok(delivery)) => delivery,
            None => Delivery::Duplicate,
        };
        let Self { run, name, .. } = &self;
        if self.view.json {
            say::json(&json!({ "run": run, "signal": name, "delivery": delivery.word() }))?;
        } else {
            say::line(match delivery {
                Delivery::Delivered => format!("run {run}: {name} is in its inbox, for its next wait of that name"),
                Delivery::Kept => format!("run {run}: there is none yet; {name} is kept for 30 days, if it starts"),
                Delivery::Duplicate => format!("run {run}: {name} had been sent already, with this key"),
                Delivery::Ended => format!("run {run}: it has ended, so {name} was not sent"),
            });
        }
        Ok(if delivery == Delivery::Ended { exit::FAILED } else { exit::SUCCEEDED })
    }

    /// Refuses what a graph that is stored shows to be a slip: a node that is not there or waits for nothing of this name.
    async fn check_node(&self, client: &Client) -> Result<(), CliError> {
        let (graph, name) = self.run.split_once('/').unwrap_or((&self.run, ""));
        let Ok(graph) = graph.parse::<GraphId>() else { return Ok(()) };
        let Some(detail) = client.inspect().graph(graph).await? else { return Ok(()) };
        let is_wait = |node: &NodeLine| node.kind.as_str() == builtin::SIGNAL;
        let waits: Vec<&str> =
            detail.nodes.iter().filter(|node| is_wait(node)).map(|node| node.name.as_str()).collect();
        let help = match waits.as_slice() {
            [] => "none of its nodes waits for a signal".to_owned(),
            waits => {
                let runs: Vec<String> = waits.iter().map(|name| format!("{graph}/{name}")).collect();
                format!("these wait for one: {}", runs.join(", "))
            }
        };
        if name.is_empty() {
            return Err(CliError::usage(format!("{graph} is a graph, and a signal goes to one of its nodes"), help));
        }
        let Some(node) = detail.nodes.iter().find(|node| node.name.as_str() == name) else {
            return Err(CliError::usage(format!("graph {graph} has no node {name}"), help));
        };
        let Some(job) = client.inspect().job(node.job).await? else { return Ok(()) };
        if job.run.is_none() {
            return Err(CliError::usage(format!("the node {name} waits for no signal"), help));
        }
        match job.input.decode::<Wait>() {
            Ok(wait) if is_wait(node) && wait.signal.as_str() != self.name => {
                let problem = format!("the node {name} waits for the signal {}, not for {}", wait.signal, self.name);
                Err(CliError::usage(problem, format!("send it {}", wait.signal)))
            }
            _ => Ok(()),
        }
    }

    fn arrival(&self) -> Result<Arrival, CliError> {
        let usage =
            |what: &str, problem: String| CliError::usage(format!("{what}: {problem}"), "see `towpath help signal`");
        let run = RunId::new(&self.run).map_err(|e| usage("RUN-ID", e.to_string()))?;
        let name = Label::new(&self.name).map_err(|e| usage("NAME", e.to_string()))?;
        let value: Value = serde_json::from_str(&self.payload)
            .map_err(|e| usage("JSON", format!("{} is no JSON ({e}); a text is quoted, \'\"a\"\'", self.payload)))?;
        let payload = Payload::json(&value).map_err(|e| usage("JSON", e.problem))?;
        let arrival = Arrival::new(run, name, payload);
        Ok(match &self.dedup {
            Some(key) => arrival.dedup(key),
            None => arrival,
        })
    }
}
