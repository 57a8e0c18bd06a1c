//! What is large: a graph of 2,000 nodes that answers at once, one of 10,000 that can be used, a run of 20,000 lines that
//! comes in parts.

use std::time::Duration;

use towpath::{Client, Cx, Durable, Failure, Graph, GraphId, JobId, Step, StepCx, Worker};
use towpath_web::WebOptions;

use crate::Served;
use crate::driver::Browser;
use crate::pages::{browse, in_a_browser};
use crate::stores::Subject;
use crate::works::Say;

in_a_browser!(
    a_graph_of_2_000_nodes_answers_at_once,
    a_graph_of_10_000_nodes_can_be_used,
    a_run_of_20_000_lines_comes_in_parts,
);

/// How long something may take: the promise where the build is one that people run. An unoptimised one on a loaded machine
/// only has to come to an end in sensible time.
fn within(promise: Duration) -> Duration {
    if cfg!(debug_assertions) { promise * 30 } else { promise }
}

/// Layers of forty nodes, each after up to three of the layer before: nothing in it is alike, so nothing is folded. And the
/// first node.
async fn layers(client: &Client, nodes: usize) -> (GraphId, JobId) {
    let graph = Graph::builder("layers");
    let mut layer = Vec::new();
    let mut above: Vec<_> = Vec::new();
    let mut first = None;
    for n in 0..nodes {
        let mut node = graph.node(format!("node {n:05}"), &Say::ok("1"));
        for parent in 0..=n % 3 {
            if let Some(parent) = above.get((n * 7 + parent * 13) % 40) {
                node = node.after(*parent);
            }
        }
        first.get_or_insert(node.job().id());
        layer.push(node);
        if layer.len() == 40 {
            above = std::mem::take(&mut layer);
        }
    }
    let graph = graph.build().unwrap().enqueue(client).await.unwrap().id();
    (graph, first.unwrap())
}

/// Goes to a map and moves it: milliseconds until the first frame that shows it moved, since the page was asked for; and of
/// further moves each, the slowest left out.
fn moved(browser: &mut Browser, url: &str) -> (f64, f64) {
    browser.go(url);
    let times = browser.eval(
        "new Promise(done => { \
           const view = document.querySelector('.view'), map = document.querySelector('svg.map'), frame = () => new Promise(go => requestAnimationFrame(() => setTimeout(go))); \
           const key = key => view.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); \
           (async () => { \
             const before = map.style.transform; \
             key('ArrowRight'); await frame(); \
             const first = performance.now(), moves = []; \
             if (before == map.style.transform) return done('it does not move'); \
             for (let n = 0; n < 12; n++) { const at = performance.now(); key(n % 2 ? 'ArrowLeft' : 'ArrowDown'); await frame(); moves.push(performance.now() - at); } \
             done([first, moves.sort((a, b) => a - b)[9]]); \
           })(); })",
    );
    let time = |at: usize| times[at].as_f64().unwrap_or_else(|| panic!("{times}"));
    (time(0), time(1))
}

async fn a_graph_of_2_000_nodes_answers_at_once(subject: Subject) {
    let (graph, _) = layers(&subject.client, 2_000).await;
    let served = Served::start(&subject.client, WebOptions::default()).await;
    browse(|browser| {
        let (first, each) = moved(browser, &format!("{}/graphs/{graph}?show=all", served.url));
        eprintln!("2,000 nodes: {first:.0} ms to the first move, {each:.0} ms a move");
        assert_eq!(browser.eval("document.querySelectorAll('svg.map a').length"), 2_000);
        assert!(first < within(Duration::from_secs(1)).as_millis() as f64, "{first} ms");
        assert!(each < within(Duration::from_millis(100)).as_millis() as f64, "{each} ms a move");
        browser.is_content("2,000 nodes");
    });
}

async fn a_graph_of_10_000_nodes_can_be_used(subject: Subject) {
    let (graph, changes) = layers(&subject.client, 10_000).await;
    let served = Served::start(&subject.client, WebOptions::default()).await;
    let runtime = tokio::runtime::Handle::current();
    browse(|browser| {
        let (first, each) = moved(browser, &format!("{}/graphs/{graph}?show=all", served.url));
        eprintln!("10,000 nodes: {first:.0} ms to the first move, {each:.0} ms a move");
        assert!(first < within(Duration::from_secs(5)).as_millis() as f64, "{first} ms");
        assert!(each < within(Duration::from_millis(250)).as_millis() as f64, "{each} ms a move");
        let found = browser.eval(
            "(() => { const at = performance.now(), search = document.querySelector('#search'); search.value = 'node 00000'; \
             search.dispatchEvent(new Event('input')); return performance.now() - at; })()",
        );
        assert_eq!(browser.eval("document.querySelector('#found').textContent"), "1 found");
        assert!(found.as_f64().unwrap() < within(Duration::from_millis(500)).as_millis() as f64, "{found} ms");
        // What changes is seen where it stands, without a new picture: nothing has moved.
        let place = "JSON.stringify([document.querySelector('.hit .box').getAttribute('x'), document.querySelector('svg.map').style.transform])";
        let before = browser.eval(place);
        runtime.block_on(subject.client.cancel(changes, "ann", "")).unwrap();
        let seen = browser.until("document.querySelector('.map .hit').classList.contains('st-cancelled')");
        eprintln!("10,000 nodes: a change is seen after {} ms", seen.as_millis());
        assert_eq!(browser.eval(place), before);
        assert_eq!(
            browser.eval("document.querySelectorAll('[data-zoom]:not([hidden])').length"),
            3,
            "the buttons stay"
        );
        browser.is_content("10,000 nodes");
    });
}

const LINE: Step<u32, u32, Failure> = Step::new("line", &line);
async fn line(_cx: StepCx, n: u32) -> Result<u32, Failure> {
    Ok(n)
}

const LONG: Durable<u32, (), Failure> = Durable::new("long", 1, Duration::from_secs(3_600), &long);
async fn long(cx: Cx<'_>, lines: u32) -> Result<(), Failure> {
    // Many in one commit.
    for part in 0..lines / 1_000 {
        cx.join_all((0..1_000).map(|n| cx.step(LINE, &(part * 1_000 + n)))).await;
    }
    Ok(())
}

async fn a_run_of_20_000_lines_comes_in_parts(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(LONG).start().unwrap();
    let run = client.start(LONG, "long/1", &20_000).await.unwrap();
    let job = run.job();
    client.result(&run).await.unwrap();
    worker.shutdown().await;
    let served = Served::start(client, WebOptions::default()).await;
    browse(|browser| {
        // Which lines are shown: the first and the last.
        let lines = |browser: &mut Browser| -> (u64, u64) {
            let rows = browser.eval("document.querySelectorAll('[data-key^=op-]').length").as_u64().unwrap();
            let text = browser.eval(
                "document.querySelector('main').innerText.match(/Lines (\\d+) to (\\d+) of/).slice(1).map(Number)",
            );
            let line = |at: usize| text[at].as_u64().unwrap();
            assert!((250..=300).contains(&rows), "{rows} rows for {text}");
            (line(0), line(1))
        };
        browser.go(&format!("{}/jobs/{job}", served.url));
        let took = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd").as_f64().unwrap();
        eprintln!("20,000 lines: {took:.0} ms");
        assert!(took < within(Duration::from_secs(1)).as_millis() as f64, "{took} ms");
        let newest = lines(browser);
        assert_eq!(newest.1 - newest.0, 299);
        let click = |browser: &mut Browser, word: &str| {
            let button =
                format!("[...document.querySelectorAll('.pager a')].find(a => a.textContent.includes('{word}'))");
            browser.eval(&format!("{button}.click()"));
            browser.loaded(word);
            lines(browser)
        };
        let before = click(browser, "Earlier");
        assert_eq!(before.1 + 1, newest.0, "nothing is left out or seen twice");
        let first = click(browser, "First");
        let has_earlier = "[...document.querySelectorAll('.pager a')].some(a => a.textContent.includes('Earlier'))";
        assert_eq!((first.0, browser.eval(has_earlier)), (1, false.into()));
        let second = click(browser, "Later");
        assert_eq!(second.0, first.1 + 1);
        assert_eq!(click(browser, "Last"), newest);
        browser.is_content("20,000 lines");
    });
}
