//! Graphs inside a graph, and maps over lists, in the builder.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use towpath_core::builtin::{self, EachJob, Map, Nested, OnFailure, Scope};
use towpath_core::{GraphProblem, NodeName, Payload};

use super::{Graph, GraphBuilder, Node};
use crate::builtin::{Each, EachEnded, ElementGraph, InnerGraph};
use crate::client;
use crate::job::Job;

impl GraphBuilder {
    /// Adds a node that runs a graph and ends as that ends: succeeded, failed or cancelled. Its output has the outputs of the
    /// inner graph's last nodes, by name. A cancel of this graph reaches the inner one.
    ///
    /// The inner graph's id follows from the node, so the ids of the graph that is given here, and of its jobs, are of no
    /// use. Its rules and its input are kept, unless [`input_from`](Node::input_from) says where its input comes from.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "fetch", output = String)] struct Fetch;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "parse", output = u64)] struct Parse;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "report")] struct Report;
    /// let import = Graph::builder("import");
    /// import.node("parse", &Parse);
    /// let import = import.build()?;
    ///
    /// let graph = Graph::builder("nightly");
    /// let fetch = graph.node("fetch", &Fetch);
    /// let imported = graph.inner("import", &import).input_from("outputs.fetch").after(fetch);
    /// imported.then("report", &Report);
    /// graph.build()?;
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn inner(&self, name: impl AsRef<str>, graph: &Graph) -> Node<'_, InnerGraph> {
        let name = name.as_ref();
        let graph = self.written(name, graph);
        self.node(
            name,
            &InnerGraph(Nested { graph, input_from: None, given: BTreeMap::new(), scope: Scope::default() }),
        )
    }

    /// Adds a node that does a job of a type for each element of a list, whose elements are the jobs' inputs: `over` is an
    /// expression, such as `outputs.list`, `outputs.list.files` or `input.files`. At most so many elements are at work at once
    /// ([`concurrency`](Node::concurrency), 100 unless said otherwise), and each begins as soon as another has ended. Its output is what the
    /// jobs have left, in the order of the elements. If one fails the node does, and the others are cancelled, unless failures
    /// are [collected](Node::collect).
    ///
    /// What is no list, or has more elements than the [limits](towpath_core::GraphLimits) of the worker's client allow, fails the node; so do outputs of more than 1 MiB together.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Context, Each, Failure, Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "list", output = serde_json::Value)] struct List;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "resize", output = u64)] struct Resize { file: String }
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "sum", output = u64)] struct Sum;
    /// let graph = Graph::builder("thumbnails");
    /// let list = graph.node("list", &List);
    /// let sizes = graph.each::<Resize>("resize", "outputs.list.files").after(list).concurrency(4);
    /// sizes.then("sum", &Sum);
    /// graph.build()?;
    ///
    /// async fn sum(_: Sum, cx: Context) -> Result<u64, Failure> {
    ///     let sizes: Vec<u64> = cx.ancestor_named::<Each<Resize>>("resize").await?.into_output()?;
    ///     Ok(sizes.into_iter().sum())
    /// }
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn each<R: Job>(&self, name: impl AsRef<str>, over: &str) -> Node<'_, Each<R>> {
        let name = name.as_ref();
        // The input of the job is the element; all else is the type's.
        let job = client::new_job_of::<R>(Payload::default()).unwrap_or_else(|e| {
            self.problem(GraphProblem::Job(NodeName::from_stored(name), e.to_string()));
            client::unknown_job(R::KIND)
        });
        self.node(name, &Each::new(Map::new(over, builtin::Each::Job(Box::new(EachJob::of(job, None, None))))))
    }

    /// Adds a node that runs a graph for each element of a list: the element is the graph's input. Else as
    /// [`each`](Self::each).
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "list", output = Vec<String>)] struct List;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "fetch", output = String)] struct Fetch;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "parse", output = u64)] struct Parse;
    /// let page = Graph::builder("page");
    /// page.node("fetch", &Fetch).then("parse", &Parse);
    /// let page = page.build()?;
    ///
    /// let graph = Graph::builder("site");
    /// let list = graph.node("list", &List);
    /// graph.each_graph("pages", "outputs.list", &page).after(list);
    /// graph.build()?;
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn each_graph(&self, name: impl AsRef<str>, over: &str, graph: &Graph) -> Node<'_, Each<ElementGraph>> {
        let name = name.as_ref();
        let graph = self.written(name, graph);
        self.node(name, &Each::new(Map::new(over, builtin::Each::Graph(graph))))
    }

    /// A graph as a node holds it.
    fn written(&self, name: &str, graph: &Graph) -> Box<RawValue> {
        let node = || NodeName::from_stored(name);
        let text = graph.to_json().unwrap_or_else(|invalid| {
            let problems = invalid.problems.iter().map(|p| GraphProblem::Job(node(), format!("in its graph: {p}")));
            self.state().problems.extend(problems);
            "{}".to_owned()
        });
        RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

impl<'g, R: Job, J: Job<Output = Vec<R>>> Node<'g, J>
where
    R: Send,
{
    /// Adds a node that does a job for each element of the list that this node leaves: the elements are the jobs. As
    /// [`GraphBuilder::each`].
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # use towpath::{Graph, Job};
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "list", output = Vec<Resize>)] struct List;
    /// # #[derive(Serialize, Deserialize, Job)] #[job(kind = "resize", output = u64)] struct Resize { file: String }
    /// let graph = Graph::builder("thumbnails");
    /// graph.node("list", &List).then_each("resize").concurrency(4);
    /// graph.build()?;
    /// # Ok::<_, towpath::InvalidGraph>(())
    /// ```
    pub fn then_each(self, name: impl AsRef<str>) -> Node<'g, Each<R>> {
        let list = serde_json::to_string(self.name().as_str()).unwrap_or_default();
        self.graph.each::<R>(name, &format!("outputs[{list}]")).after(self)
    }
}

impl Node<'_, InnerGraph> {
    /// What the inner graph's input is: an expression over what stands above this node, such as `outputs.fetch`, or over this
    /// graph's input.
    pub fn input_from(self, expression: &str) -> Self {
        self.with(|job| {
            if let Ok(nested) = job.input.decode::<Nested>() {
                let nested = Nested { input_from: Some(expression.to_owned()), ..nested };
                // What was read has a JSON form.
                job.input = Payload::json(&nested).unwrap_or_default();
            }
        })
    }
}

impl<'g, R: Job> Node<'g, Each<R>> {
    /// How many elements are at work at once, 1 to 1,000.
    pub fn concurrency(self, concurrency: u32) -> Self {
        self.change_map(|map| map.concurrency = concurrency)
    }

    /// Collects failures: the other elements go on, and the output says of each element how it ended
    /// ([`ElementEnd`](crate::ElementEnd)).
    pub fn collect(self) -> Node<'g, EachEnded<R>> {
        let Self { graph, place, .. } = self.change_map(|map| map.on_failure = OnFailure::Collect);
        Node { graph, place, job: std::marker::PhantomData }
    }

    fn change_map(self, change: impl FnOnce(&mut Map)) -> Self {
        self.with(|job| {
            if let Ok(mut map) = job.input.decode::<Map>() {
                change(&mut map);
                // What was read has a JSON form.
                job.input = Payload::json(&map).unwrap_or_default();
            }
        })
    }
}
