//! Questions: how jobs, graphs, queues, workers and tables stand.

use towpath_core::store::{GraphFilter, GraphStanding, JobFilter, JobShape, Page, StoreResult, Wanted};
use towpath_core::{GraphEnd, GraphName, Kind, NodeName, Queue, State};

use crate::args::Args;
use crate::error::ScriptError;
use crate::run::enqueue::parsed;
use crate::run::{Answer, Runner};
use crate::say;
use crate::subject::{START, Subject};

impl<S: Subject> Runner<S> {
    pub(super) async fn inspect(&mut self, verb: &str, mut args: Args) -> Answer {
        match verb {
            "jobs" => return self.jobs(args).await,
            "graphs" => return self.graphs(args).await,
            "job" | "attempts" | "upstream" | "graph" | "graph-input" => return self.one(verb, args).await,
            "ended" => return self.ended(args).await,
            "ancestors" => return self.ancestors(args).await,
            "audit" => return self.audit(args).await,
            _ => {}
        }
        let store = self.subject.store();
        let reply = match verb {
            "queues" => {
                let most = args.number("most")?.unwrap_or(u32::MAX);
                store.inspect().queues(most).await.map(|all| all.iter().map(|line| say::queue(line, START)).collect())
            }
            "versions" => {
                let most = args.number("most")?.unwrap_or(u32::MAX);
                let say = self.say();
                store.inspect().open_versions(most).await.map(|all| all.iter().map(|line| say.version(line)).collect())
            }
            "patches" => {
                let say = self.say();
                store.inspect().open_patches().await.map(|all| all.iter().map(|line| say.patch(line)).collect())
            }
            "workers" => {
                let say = self.say();
                store.inspect().workers().await.map(|all| all.iter().map(|w| say.worker(w)).collect())
            }
            "peers" => {
                let say = self.say();
                let peers = store.peers().await;
                peers.map(|all| {
                    let mut lines: Vec<String> = all.iter().map(|peer| say.peer(peer)).collect();
                    // The contract gives peers no order.
                    lines.sort();
                    lines
                })
            }
            "counts" => {
                let most = args.number("most")?.unwrap_or(u32::MAX);
                store.inspect().counts(most).await.map(|counts| vec![say::state_counts(&counts)])
            }
            "census" => store.inspect().census().await.map(|census| vec![say::census(&census)]),
            "migrate" => store.migrate().await.map(|m| vec![format!("schema {} to {}", m.from, m.to)]),
            other => return Err(ScriptError::new(format!("{other:?} is not a command"))),
        };
        args.finish()?;
        self.told(reply)
    }

    /// All of it, or what was done to one thing: a job, a graph, or what has this name.
    async fn audit(&mut self, mut args: Args) -> Answer {
        let job = args.raw("job").map(|name| self.names.job(&name).to_string());
        let graph = args.raw("graph").map(|name| self.names.graph(&name).to_string());
        let target = job.or(graph).or(args.raw("of"));
        let (after, limit) = (args.number("after")?, args.number("limit")?.unwrap_or(1_000));
        args.finish()?;
        let inspect = self.subject.store().inspect();
        let page = Page { after, limit };
        let lines = match target {
            Some(target) => inspect.audit_of(target, page).await,
            None => inspect.audit(page).await,
        };
        let say = self.say();
        self.told(lines.map(|all| all.iter().map(|line| say.audit(line)).collect()))
    }

    pub(super) fn told(&self, reply: StoreResult<Vec<String>>) -> Answer {
        match reply {
            Ok(lines) => Ok(lines),
            Err(error) => Ok(self.refused(&error)),
        }
    }

    async fn one(&mut self, verb: &str, mut args: Args) -> Answer {
        let name = args.word("a job or graph")?;
        args.finish()?;
        let (job, graph) = if verb.starts_with("graph") {
            (None, Some(self.names.graph(&name)))
        } else {
            (Some(self.names.job(&name)), None)
        };
        let store = self.subject.store();
        let (say, none) = (self.say(), || vec![format!("{name} unknown")]);
        let reply = match (verb, job, graph) {
            ("job", Some(job), _) => {
                let found = store.inspect().job(job).await;
                found.map(|job| job.map_or_else(none, |job| say.detail(&job)))
            }
            ("attempts", Some(job), _) => {
                let found = store.inspect().attempts(job).await;
                found.map(|all| all.iter().map(|attempt| say.attempt(attempt)).collect())
            }
            ("upstream", Some(job), _) => {
                let found = store.upstream(job).await;
                found.map(|all| all.iter().map(|parent| say.upstream(parent)).collect())
            }
            ("graph-input", _, Some(graph)) => {
                let found = store.graph_input(graph).await;
                found.map(|input| input.iter().map(say::payload).collect())
            }
            (_, _, Some(graph)) => {
                let found = store.inspect().graph(graph).await;
                if let Ok(found) = &found {
                    let line = store.inspect().graph_line(graph).await;
                    if line.as_ref().ok().map(Option::as_ref) != Some(found.as_ref().map(|graph| &graph.line)) {
                        return Err(ScriptError::new(format!("the line of the graph alone is {line:?}")));
                    }
                }
                found.map(|graph| graph.map_or_else(none, |graph| say.graph_detail(&graph)))
            }
            _ => return Err(ScriptError::new(format!("{verb:?} is not a question"))),
        };
        self.told(reply)
    }

    /// `ancestors g/d node=a`, `ancestors g/d kind=echo limit=5`.
    async fn ancestors(&mut self, mut args: Args) -> Answer {
        let job = args.word("a job")?;
        let node = args.read("node", |text| parsed(NodeName::new(text)))?.map(Wanted::Node);
        let kind = args.read("kind", |text| parsed(Kind::new(text)))?.map(Wanted::Kind);
        let limit = args.number("limit")?.unwrap_or(1_000);
        args.finish()?;
        let wanted = node.or(kind).ok_or_else(|| ScriptError::new("ancestors wants node= or kind="))?;
        let reply = self.subject.store().ancestors(self.names.job(&job), wanted, limit).await;
        let say = self.say();
        self.told(reply.map(|all| all.iter().map(|found| say.ancestor(found)).collect()))
    }

    async fn ended(&mut self, mut args: Args) -> Answer {
        let mut names = Vec::new();
        while let Some(name) = args.word_maybe()? {
            names.push(name);
        }
        args.finish()?;
        let jobs = names.iter().map(|name| self.names.job(name)).collect();
        let reply = self.subject.store().ended(jobs).await;
        let say = self.say();
        self.told(reply.map(|all| {
            let each = names.iter().zip(&all);
            each.map(|(name, ended)| ended.as_ref().map_or_else(|| format!("{name} has no end"), |e| say.ended(e)))
                .collect()
        }))
    }

    async fn jobs(&mut self, mut args: Args) -> Answer {
        let filter = JobFilter {
            state: args.read("state", read_state)?,
            queue: args.read("queue", |text| parsed(Queue::new(text)))?,
            kind: args.read("kind", |text| parsed(Kind::new(text)))?,
            graph: args.raw("graph").map(|name| self.names.graph(&name)),
            tags: args.list("tags").unwrap_or_default(),
            above: self.read_key(&mut args, "above")?,
            shape: if args.flag("runs") { JobShape::Run } else { JobShape::Any },
        };
        let page = self.read_page(&mut args)?;
        args.finish()?;
        let reply = self.subject.store().inspect().jobs(filter, page).await;
        if let Ok(lines) = &reply {
            self.keys.extend(lines.iter().map(|line| (self.names.of(line.id), line.key)));
        }
        let say = self.say();
        self.told(reply.map(|all| all.iter().map(|job| say.job(job)).collect()))
    }

    async fn graphs(&mut self, mut args: Args) -> Answer {
        let filter = GraphFilter {
            name: args.read("name", |text| parsed(GraphName::new(text)))?,
            standing: args.read("end", read_graph_standing)?.unwrap_or_default(),
        };
        let page = self.read_page(&mut args)?;
        args.finish()?;
        let reply = self.subject.store().inspect().graphs(filter, page).await;
        if let Ok(lines) = &reply {
            self.keys.extend(lines.iter().map(|line| (self.names.of(line.id), line.key)));
        }
        let say = self.say();
        self.told(reply.map(|all| all.iter().map(|graph| say.graph(graph)).collect()))
    }

    /// `limit=2 after=b`: the page after the line of `b`, which an earlier list has shown.
    fn read_page(&self, args: &mut Args) -> Result<Page, ScriptError> {
        let limit = args.number("limit")?.unwrap_or(1_000);
        Ok(Page { after: self.read_key(args, "after")?, limit })
    }

    fn read_key(&self, args: &mut Args, option: &str) -> Result<Option<i64>, ScriptError> {
        args.read(option, |name| match self.keys.get(name) {
            Some(key) => Ok(*key),
            None => Err(ScriptError::new(format!("no list has shown {name} yet"))),
        })
    }
}

fn read_state(text: &str) -> Result<State, ScriptError> {
    let found = State::ALL.into_iter().find(|state| say::state(*state) == text);
    found.ok_or_else(|| ScriptError::new(format!("{text:?} is not a state")))
}

fn read_graph_standing(text: &str) -> Result<GraphStanding, ScriptError> {
    match text {
        "open" => Ok(GraphStanding::Open),
        "succeeded" => Ok(GraphStanding::Ended(GraphEnd::Succeeded)),
        "failed" => Ok(GraphStanding::Ended(GraphEnd::Failed)),
        "cancelled" => Ok(GraphStanding::Ended(GraphEnd::Cancelled)),
        other => Err(ScriptError::new(format!("{other:?} is not an end of a graph, nor open"))),
    }
}
