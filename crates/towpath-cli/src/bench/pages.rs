//! How long the server takes for the dashboard's pages and the API's lists, with a million jobs in the store; and what open
//! tabs cost that see nothing new.

use std::time::{Duration, Instant};

use miette::{IntoDiagnostic, Result, miette};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use towpath::inspect::{JobFilter, Page};
use towpath::{Client, End, Failure, Graph, Job, JobState, Worker};
use towpath_web::WebOptions;

use super::Figure;
use super::drain::perform;
use super::enqueue::preload;
use super::measure::{millis, percentile};
use super::process::{cpu_ticks, spawn};
use super::subject::Place;

/// Waits in a queue that nobody serves.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-waits", queue = "bench-waits")]
struct Waits(usize);

/// Waits in another, and not for now.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-later", queue = "bench-later")]
struct Later(usize);

/// Fails for good.
#[derive(Serialize, Deserialize, Job)]
#[job(kind = "bench-fails", attempts = 1)]
struct Fails(usize);

const BATCH: usize = 5_000;
const GRAPHS: usize = 1_000;
const GRAPH_NODES: usize = 10;
/// How often each page is asked for.
const LOOKS: usize = 9;

/// The slowest page's median, with that of each.
pub(crate) async fn pages(place: &Place, jobs: usize) -> Result<Vec<Figure>> {
    let subject = place.fresh().await?;
    fill(&subject.client, jobs).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await.into_diagnostic()?;
    let address = listener.local_addr().into_diagnostic()?.to_string();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let until = async {
        // Either way it is over.
        let _ = stopped.await;
    };
    let served = tokio::spawn(towpath_web::serve(listener, subject.client.clone(), WebOptions::default(), until));
    let mut site = Site::connect(&address).await?;
    let mut slowest = Figure::new("pages_1m", 0.0, "ms", jobs);
    let mut figures = Vec::new();
    for path in paths(&subject.client).await? {
        let mut times = Vec::with_capacity(LOOKS);
        let mut bytes = 0;
        for _ in 0..LOOKS {
            let started = Instant::now();
            bytes = site.get(&path).await?;
            times.push(millis(started.elapsed()));
        }
        let (median, most) = (percentile(&mut times, 0.5), percentile(&mut times, 1.0));
        if median > slowest.value {
            slowest = Figure::new("pages_1m", median, "ms", jobs).with("slowest", path.as_str());
        }
        figures.push(
            Figure::new("page_1m", median, "ms", jobs)
                .with("path", path.as_str())
                .with("max_ms", (most * 10.0).round() / 10.0)
                .with("kib", bytes / 1_024),
        );
    }
    figures.push(slowest);
    drop(site);
    drop(stop);
    served.await.into_diagnostic()?.into_diagnostic()?;
    subject.remove().await?;
    Ok(figures)
}

/// Six tenths have ended, three wait for a worker, one for its time; and a thousand graphs.
async fn fill(client: &Client, jobs: usize) -> Result<()> {
    let dead = jobs / 100;
    let fails: Vec<Fails> = (0..dead).map(Fails).collect();
    for batch in fails.chunks(BATCH) {
        client.enqueue_all(batch).await.into_diagnostic()?;
    }
    let worker = Worker::builder(client)
        .handle(|_: Fails, _cx| std::future::ready(Err::<(), _>(Failure::new("on purpose"))))
        .start()
        .into_diagnostic()?;
    while client.inspect().counts(u32::MAX).await.into_diagnostic()?.dead < dead as u64 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    worker.shutdown().await;
    let ended = jobs / 10 * 6 - dead;
    preload(client, ended).await?;
    perform(client, ended).await?;
    for from in (0..jobs / 10 * 3).step_by(BATCH) {
        let batch: Vec<Waits> = (from..from + BATCH).map(Waits).collect();
        client.enqueue_all(&batch).await.into_diagnostic()?;
    }
    for from in (0..jobs / 10).step_by(BATCH) {
        let items = (from..from + BATCH).map(|n| {
            let later = client.job(&Later(n)).delay(Duration::from_secs(86_400)).build()?;
            Ok(towpath::core::store::Item::job(later))
        });
        let items = items.collect::<Result<Vec<_>, towpath::Error>>().into_diagnostic()?;
        client.store().enqueue(towpath::core::store::Enqueue { items }).await.into_diagnostic()?;
    }
    let graphs = (0..GRAPHS).map(|n| {
        let graph = Graph::builder(&format!("bench {}", n % 10));
        for node in 0..GRAPH_NODES {
            graph.node(format!("node {node}"), &Waits(node));
        }
        graph.build().into_diagnostic()
    });
    client.enqueue_graphs(graphs.collect::<Result<Vec<_>>>()?).await.into_diagnostic()?;
    Ok(())
}

/// The pages and lists that people and programs ask for most.
async fn paths(client: &Client) -> Result<Vec<String>> {
    let inspect = client.inspect();
    let one = |filter: JobFilter| async move {
        let found = inspect.jobs(filter, Page { after: None, limit: 1 }).await.into_diagnostic()?;
        found.first().map(|line| (line.id, line.key)).ok_or_else(|| miette!("the store is not as it was filled"))
    };
    let state = |state| JobFilter { state: Some(state), ..JobFilter::default() };
    let (dead, _) = one(state(JobState::Ended(End::Dead))).await?;
    let (_, middle) = one(state(JobState::Ended(End::Succeeded))).await?;
    let graphs = inspect.graphs(Default::default(), Page { after: None, limit: 1 }).await.into_diagnostic()?;
    let graph = graphs.first().ok_or_else(|| miette!("no graph is there"))?.id;
    let mut paths: Vec<String> = ["/", "/jobs", "/runs", "/graphs", "/queues", "/workers", "/versions", "/schedules"]
        .into_iter()
        .chain([
            "/charts",
            "/audit",
            "/queues/bench-waits",
            "/api/counts",
            "/api/jobs?limit=500",
            "/api/queues",
            "/metrics",
        ])
        .map(str::to_owned)
        .collect();
    for word in ["waiting", "ready", "blocked", "running", "succeeded", "dead", "quarantined", "cancelled", "skipped"] {
        paths.push(format!("/jobs?state={word}"));
    }
    paths.extend([
        "/jobs?kind=bench-noop".to_owned(),
        "/jobs?kind=bench-fails".into(),
        "/jobs?kind=nobody".into(),
        "/jobs?queue=bench-later".into(),
        "/jobs?queue=nobody".into(),
        "/jobs?queue=bench-waits&kind=bench-waits&state=ready".into(),
        "/jobs?kind=bench-noop&state=dead".into(),
        "/jobs?kind=bench-fails&state=succeeded".into(),
        format!("/jobs?after={middle}"),
        format!("/jobs?graph={graph}"),
        "/jobs/many?do=cancel&queue=bench-waits".into(),
        "/graphs?state=open".into(),
        "/graphs?state=failed".into(),
        "/graphs?name=bench%203".into(),
        "/runs?state=dead".into(),
        format!("/jobs/{dead}"),
        format!("/graphs/{graph}"),
    ]);
    Ok(paths)
}

/// A connection to a server, on which one thing after the other is asked for.
struct Site {
    stream: BufStream<TcpStream>,
}

impl Site {
    async fn connect(address: &str) -> Result<Self> {
        Ok(Self { stream: BufStream::new(TcpStream::connect(address).await.into_diagnostic()?) })
    }

    async fn ask(&mut self, path: &str) -> Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await.into_diagnostic()?;
        self.stream.flush().await.into_diagnostic()
    }

    /// Asks for a page and reads all of it; answers its bytes.
    async fn get(&mut self, path: &str) -> Result<usize> {
        self.ask(path).await?;
        let head = self.head().await?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(miette!("{path}: {}", head.lines().next().unwrap_or_default()));
        }
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.ok_or_else(|| miette!("{path} does not say how long it is"))?];
        self.stream.read_exact(&mut body).await.into_diagnostic()?;
        Ok(body.len())
    }

    async fn head(&mut self) -> Result<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.into_diagnostic()?);
        }
        Ok(String::from_utf8_lossy(&head).into_owned())
    }
}

/// How much of a core fifty open tabs take that see nothing new, more than a server without.
pub(crate) async fn tabs(place: &Place) -> Result<Figure> {
    const TABS: usize = 50;
    let time = Duration::from_secs(10);
    let subject = place.fresh().await?;
    let mut child = spawn(&subject.address, "serve", 0).await?;
    let address = child.line().await?;
    let mut shares = Vec::new();
    let mut open = Vec::new();
    for tabs in [0, TABS] {
        for _ in 0..tabs {
            let mut tab = Site::connect(&address).await?;
            tab.ask("/live").await?;
            tab.head().await?;
            open.push(tab);
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = cpu_ticks(child.pid())?;
        tokio::time::sleep(time).await;
        // A tick is 10 ms on every Linux (`USER_HZ`, time(7)).
        shares.push((cpu_ticks(child.pid())? - before) as f64 / time.as_secs_f64());
    }
    drop(open);
    child.stop().await?;
    subject.remove().await?;
    Ok(Figure::new("tabs_50_idle", shares[1] - shares[0], "%", TABS).with("without", shares[0]))
}

/// Serves in a process of its own until its parent has seen enough.
pub(crate) async fn serve(client: Client, until: impl Future<Output = ()> + Send) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.into_diagnostic()?;
    println!("{}", listener.local_addr().into_diagnostic()?);
    towpath_web::serve(listener, client, WebOptions::default(), until).await.into_diagnostic()
}
