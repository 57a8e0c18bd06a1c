//! What operators ask of workers, by the API and the pages.

use std::time::Duration;

use axum::http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use towpath::{Context, Failure, Job, Worker};
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores::{Subject, on_every_store};

on_every_store!(a_worker_is_made_quiet_and_drained);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "nap")]
struct Nap;

async fn a_worker_is_made_quiet_and_drained(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default());
    let handler = |_: Nap, _: Context| async { Ok::<_, Failure>(()) };
    let worker = Worker::builder(&subject.client).name("app/7").handle(handler).start().unwrap();
    let id = loop {
        let workers = site.json("/api/workers").await;
        if let Some(worker) = workers["items"][0]["worker"].as_str() {
            break worker.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    let done = site.post(&format!("/api/workers/{id}/quiet"), json!({ "reason": "<a deploy>" })).await;
    assert_eq!(done.json()["message"], "it claims nothing more, and stays");
    let asked = site.json("/api/workers").await["items"][0]["asked"].clone();
    assert_eq!((&asked["to"], &asked["why"]), (&json!("quiet"), &json!("<a deploy>")));
    let page = site.get("/workers").await.body;
    assert!(page.contains("Asked to be quiet by") && page.contains("&lt;a deploy&gt;"), "{page}");
    site.post(&format!("/api/workers/{id}/resume"), json!({})).await;
    let job = subject.client.enqueue(&Nap).await.unwrap();
    subject.client.wait(job.id()).await.unwrap();
    site.post(&format!("/api/workers/{id}/drain"), json!({})).await;
    worker.join().await;
    assert_eq!(site.json("/api/workers").await["items"], json!([]));
    for path in [format!("/api/workers/{id}/drain"), "/api/workers/x/drain".into(), format!("/api/workers/{id}/dance")]
    {
        let refused = site.ask(Method::POST, &path, None).await;
        assert_eq!(refused.status, 404, "{path}: {}", refused.body);
    }
}
