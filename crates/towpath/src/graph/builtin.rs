//! Built-in nodes in the builder: waits for a signal, timers, gates of expressions.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(feature = "cel")]
use towpath_core::GraphProblem;
use towpath_core::builtin::{self, Wait};
use towpath_core::{GraphId, Label, NewNode, Payload};

use super::{GraphBuilder, Node};
use crate::builtin::{Timer, WaitFor};
use crate::durable::Signal;

impl GraphBuilder {
    /// Adds a node that waits for a signal, and whose output is what the signal carries. It holds no worker meanwhile, and a
    /// signal that comes before it waits is kept. Who signals it names the graph and the node:
    /// [`Client::signal_node`](crate::Client::signal_node), or `towpath signal GRAPH-ID/NODE NAME JSON`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job, Signal};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "publish")] struct Publish;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "remind")] struct Remind;
    /// const APPROVED: Signal<String> = Signal::new("approved");
    ///
    /// let graph = Graph::builder("article");
    /// let approve = graph.wait_for("approve", APPROVED).within(Duration::from_secs(172_800)).may_fail();
    /// approve.then("publish", &Publish);
    /// approve.failed().then("remind", &Remind);
    /// graph.build()?;
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn wait_for<T>(&self, name: impl AsRef<str>, signal: Signal<T>) -> Node<'_, WaitFor<T>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.node(name, &WaitFor::new(Label::from_stored(signal.name())))
    }

    /// Adds a node that succeeds when it is due: say when by [`Node::delay`], counted from when its parents have ended, or
    /// by [`Node::at`].
    pub fn timer(&self, name: impl AsRef<str>) -> Node<'_, Timer> {
        self.node(name, &Timer)
    }

    /// Adds a gate whose branches are labels and expressions in CEL: the first that holds is taken, and the gate's attempt
    /// fails if none does. Expressions see `outputs`, `states` and `errors` of the nodes above by name, and the graph's
    /// `input`.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "price", output = u64)] struct Price;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "ship")] struct Ship;
    /// let graph = Graph::builder("checkout");
    /// let price = graph.node("price", &Price);
    /// let route = graph.gate("route", [("insured", "outputs.price > 10000"), ("plain", "true")]).after(price);
    /// route.branch_named("insured").then("courier", &Ship);
    /// route.branch_named("plain").then("mail", &Ship);
    /// graph.build()?;
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    #[cfg(feature = "cel")]
    pub fn gate<'b>(
        &self,
        name: impl AsRef<str>,
        branches: impl IntoIterator<Item = (&'b str, &'b str)>,
    ) -> Node<'_, crate::builtin::ExpressionGate> {
        let mut gate = builtin::Gate { branches: Vec::new(), scope: builtin::Scope::default() };
        for (label, when) in branches {
            match Label::new(label) {
                Ok(label) => gate.branches.push((label, when.to_owned())),
                Err(problem) => self.problem(GraphProblem::Name(problem)),
            }
        }
        let labels: Vec<Label> = gate.branches.iter().map(|(label, _)| label.clone()).collect();
        self.node(name, &crate::builtin::ExpressionGate(gate)).with(|job| job.rules.labels = labels)
    }
}

impl<T> Node<'_, WaitFor<T>> {
    /// Fails if the signal has not come so long after the node began to wait.
    pub fn within(self, limit: Duration) -> Self {
        self.with(|job| {
            if let Ok(wait) = job.input.decode::<Wait>() {
                let wait = Wait { timeout_us: Some(builtin::limit_us(limit)), ..wait };
                // Labels and numbers always have a JSON form.
                job.input = Payload::json(&wait).unwrap_or_default();
            }
        })
    }
}

/// A durable function, a wait, and a node that stands for more than one job, is a run: named by its graph and node once both are known.
pub(super) fn name_runs(graph: GraphId, nodes: &mut [NewNode], functions: &[usize]) {
    let is_run = |at: usize, node: &NewNode| builtin::is_run(&node.job.kind) || functions.contains(&at);
    for (_, node) in nodes.iter_mut().enumerate().filter(|(at, node)| is_run(*at, node)) {
        // A name that is too long was said to be one.
        node.job.run = builtin::run_of(graph, &node.name).ok();
    }
}
