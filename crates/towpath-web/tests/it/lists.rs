//! Lists of what is rare among very many jobs.

use towpath::JobId;
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores;
use crate::works::{Nobody, Say};

/// Some more jobs than one look and the next take.
const JOBS: usize = 60_000;
/// How far from the newest the first look ends: this store draws two keys for a job, and a look takes 1 << 14 of them. Others end
/// elsewhere, as long as they take.
const EDGES: [usize; 2] = [1 << 13, 3 << 13];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_rare_is_found_once_though_looks_stop() {
    let client = stores::memory().client;
    let is_rare = |n: usize| n < 2 || EDGES.iter().any(|edge| n.abs_diff(JOBS - edge) < 20);
    let mut rare: Vec<JobId> = Vec::new();
    let mut others = Vec::new();
    for n in 0..JOBS {
        if is_rare(n) {
            client.enqueue_all(&std::mem::take(&mut others)).await.unwrap();
            rare.push(client.enqueue(&Nobody { big: 1 }).await.unwrap().id());
        } else {
            others.push(Say::ok(""));
        }
        if others.len() == 5_000 {
            client.enqueue_all(&std::mem::take(&mut others)).await.unwrap();
        }
    }
    client.enqueue_all(&others).await.unwrap();
    rare.reverse();
    let site = Site::new(&client, WebOptions::default());
    for query in ["kind=nobody", "kind=nobody&state=ready", "queue=lonely&limit=3"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        for _ in 0..200 {
            let part = site.json(&format!("/api/jobs?{query}&after={after}")).await;
            found.extend(part["items"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()));
            let Some(next) = part["next"].as_str() else { break };
            after = next.to_owned();
        }
        assert_eq!(found, rare.iter().map(ToString::to_string).collect::<Vec<_>>(), "{query}");
    }
    let count = site.json("/api/jobs/many?do=cancel&kind=nobody").await;
    assert!(count["may_be_more"] == true || count["count"] == rare.len(), "{count}");
    assert!(site.json("/api/jobs?kind=unheard-of").await["items"].as_array().unwrap().is_empty());
    // A longer look comes to an end of itself.
    let page = site.get("/jobs?kind=nobody&look=far").await.body;
    assert!(page.contains(&rare[0].to_string()), "{page}");
}
