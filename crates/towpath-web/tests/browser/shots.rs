//! Pictures of the main pages at three widths in both themes, for people to look at. Taken only where the environment
//! names a folder for them (`TOWPATH_TEST_SHOTS`); each is the base64 of a PNG.

use std::time::Duration;

use towpath::core::tally::{Counted, Record, Tally};
use towpath::{Graph, Kind, Queue};
use towpath_web::{Colour, WebOptions};

use crate::driver::Browser;
use crate::pages::pages;
use crate::works::{Say, Works};
use crate::{Served, stores};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_taken_where_they_are_wanted() {
    if std::env::var_os("TOWPATH_TEST_SHOTS").is_none() {
        return;
    }
    let subject = stores::sqlite();
    let works = Works::start(&subject.client).await;
    let release = Graph::builder("nightly release");
    let fetch = release.node("fetch sources", &Say::ok("1"));
    let lint = fetch.then("lint", &Say::ok("1"));
    let parts: Vec<_> = (1..=12).map(|n| fetch.then(format!("test part {n}"), &Say::ok("1"))).collect();
    let docs = fetch.then("build docs", &Say::fails("no space left on the device"));
    docs.failed().then("tell the writers", &Say::ok("1"));
    let package = release.node("package", &Say::ok("1")).after(lint);
    let package = parts.iter().fold(package, |node, part| node.after(*part));
    let sign = package.then("sign", &Say::ok("1"));
    let upload = sign.then("upload", &Say::ok("1"));
    let mirror = sign.then("mirror", &Say::ok("1"));
    release.node("announce", &Say::ok("1")).after((upload, mirror.finished(), docs));
    let slot = release.node("reserve a slot", &Say::ok("1"));
    slot.undo("give the slot back", &Say::ok("1"));
    let release = release.build().unwrap().enqueue(&subject.client).await.unwrap().id();
    subject.client.wait_graph(release).await.unwrap();
    fill(&subject.client).await;
    let served =
        Served::start(&subject.client, WebOptions::default().instance("shop, production").colour(Colour::Red)).await;
    tokio::task::block_in_place(|| {
        let Some(mut browser) = Browser::start() else { return };
        let mut all = pages(&works);
        all.push(("release", format!("/graphs/{release}")));
        for (width, height) in [(390, 844), (1_280, 900), (2_560, 1_300)] {
            for theme in ["light", "dark"] {
                browser.window(width, height, theme);
                for (name, path) in &all {
                    browser.go(&format!("{}{path}", served.url));
                    browser.until("document.querySelector('#live').textContent == 'live'");
                    browser.shot(&format!("{name}-{width}-{theme}"));
                }
            }
        }
    });
    works.worker.shutdown().await;
}

/// An hour of work, so that the charts have something to show.
async fn fill(client: &towpath::Client) {
    let now = client.store().schedules(None, 1).await.unwrap().now;
    let mut records = Vec::new();
    for minute in 0..60_u64 {
        for (kind, queue, each) in [("send", "mail", 40), ("resize", "images", 15), ("charge", "default", 6)] {
            let mut tally = Tally::default();
            for n in 0..each + minute * 7 % 23 {
                let counted = if (n + minute) % 19 == 0 { Counted::Failed } else { Counted::Succeeded };
                tally.ended(counted, Duration::from_millis(20 + each * (n % 9) + minute));
                tally.wait.add(Duration::from_millis(2 + n * minute / 4));
            }
            let (queue, kind) = (Queue::new(queue).unwrap(), Kind::new(kind).unwrap());
            records.push(Record { at: now - Duration::from_secs(60 * minute), queue, kind, tally });
        }
    }
    client.store().record(records).await.unwrap();
}
