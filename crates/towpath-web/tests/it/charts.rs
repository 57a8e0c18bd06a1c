//! What workers count, as the API and the pages show it.

use std::time::Duration;

use serde_json::{Value, json};
use towpath::core::tally::{Counted, Record, Tally};
use towpath::{Client, Kind, Queue};
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores::{Subject, on_every_store};
use crate::works::Works;

on_every_store!(a_worker_counts_what_it_does, whoever_counts_at_once_is_added, what_is_asked_for_is_checked);

fn of<'a>(figures: &'a Value, queue: &str, kind: &str) -> &'a Value {
    let found = figures["items"].as_array().unwrap().iter().find(|of| of["queue"] == queue && of["kind"] == kind);
    found.unwrap_or_else(|| panic!("{queue} {kind}: {figures}"))
}

async fn a_worker_counts_what_it_does(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default());
    assert_eq!(site.json("/api/tallies").await["items"], json!([]));
    let works = Works::start(&subject.client).await;
    let family = Works::family(&subject.client).await;
    subject.client.signal("family/1", crate::works::MORE, &1).await.unwrap();
    subject.client.wait(family).await.unwrap();
    // It hands over what it has counted as it leaves.
    works.worker.shutdown().await;
    for over in ["hour", "day", "week"] {
        let figures = site.json(&format!("/api/tallies?over={over}")).await;
        // By themselves one that succeeds and one that fails; in the graphs 3 and 2; and the child of the run.
        let say = of(&figures, "default", "say");
        assert_eq!((&say["succeeded"], &say["failed"]), (&json!(5), &json!(3)), "{over}: {figures}");
        assert_eq!(
            (&say["run"]["count"], &say["wait"]["count"]),
            (&json!(8), &json!(3)),
            "nodes wait for their parents"
        );
        let points = say["points"].as_array().unwrap();
        assert_eq!(points.iter().map(|point| point["succeeded"].as_u64().unwrap()).sum::<u64>(), 5);
        let family = of(&figures, "default", "family");
        assert_eq!((&family["succeeded"], &family["wait"]["count"]), (&json!(1), &json!(1)), "one run, in many passes");
    }
    assert_eq!(site.json("/api/tallies?queue=lonely").await["items"], json!([]));
    assert_eq!(site.json("/api/tallies?kind=family").await["items"].as_array().unwrap().len(), 1);
    for path in ["/charts", "/charts?over=week&kind=say", "/queues/default", "/"] {
        let page = site.get(path).await.body;
        assert!(page.contains("svg class=\"chart\""), "{path}: {page}");
    }
}

async fn whoever_counts_at_once_is_added(subject: Subject) {
    let client = &subject.client;
    let now = client.store().schedules(None, 1).await.unwrap().now;
    let record = |kind: &str| {
        let mut tally = Tally::default();
        tally.ended(Counted::Succeeded, Duration::from_millis(1));
        Record { at: now, queue: Queue::default(), kind: Kind::new(kind).unwrap(), tally }
    };
    // Each in an order of its own, so that locks that are taken in the order of the records would meet.
    let workers = (0..16).map(|worker| {
        let (client, mut records): (Client, Vec<Record>) =
            (client.clone(), ["a", "b", "c", "d"].map(record).into_iter().collect());
        records.rotate_left(worker % 4);
        tokio::spawn(async move {
            for _ in 0..5 {
                client.store().record(records.clone()).await.unwrap();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let figures = Site::new(client, WebOptions::default()).json("/api/tallies").await;
    for kind in ["a", "b", "c", "d"] {
        assert_eq!(of(&figures, "default", kind)["succeeded"], 80, "{figures}");
    }
}

async fn what_is_asked_for_is_checked(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default());
    for query in ["over=year", "queue=A%20B", "kind=A%20B"] {
        assert_eq!(site.get(&format!("/api/tallies?{query}")).await.code(), "invalid", "{query}");
    }
    assert!(site.get("/charts").await.body.contains("Nothing was counted"));
}
