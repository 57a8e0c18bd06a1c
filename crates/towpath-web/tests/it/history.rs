//! What people have done to one thing, on its page and by the API.

use serde_json::json;
use towpath::{Client, Graph};
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores::{Subject, on_every_store};
use crate::works::{NASTY, Nobody, ORDER, Works};

on_every_store!(a_page_tells_who_did_what_to_it_and_why, what_nobody_has_touched_has_no_history);

async fn a_page_tells_who_did_what_to_it_and_why(subject: Subject) {
    let client = &subject.client;
    let works = Works::start(client).await;
    let site = Site::new(client, WebOptions::default().anonymous("ann <i>"));
    let open = Graph::builder("grows");
    open.node("first", &Nobody { big: 1 });
    let open = open.enqueue(client).await.unwrap().id();
    let more = Graph::append(open);
    more.node("late", &Nobody { big: 2 });
    more.enqueue(client).await.unwrap();
    let run = client.start(ORDER, "default", &"ann".to_owned()).await.unwrap().job();
    let body = |why: &str| json!({ "reason": why });
    for (path, why) in [
        (format!("/api/graphs/{open}/cancel"), "it was <b>rain</b>"),
        (format!("/api/jobs/{}/cancel", works.unserved), "no use"),
        ("/api/runs/default/pause".to_owned(), "a break"),
        // A queue by the name of the run's id is not the run.
        ("/api/queues/default/pause".to_owned(), "a flood"),
    ] {
        assert_eq!(site.post(&path, body(why)).await.status, 200, "{path}");
    }
    let graph = site.get(&format!("/graphs/{open}")).await.body;
    for text in ["History", "it was &lt;b&gt;rain&lt;/b&gt;", "ann &lt;i&gt;", "1 node: late"] {
        assert!(graph.contains(text), "{text}: {graph}");
    }
    let job = site.get(&format!("/jobs/{}", works.unserved)).await.body;
    assert!(job.contains("no use") && !job.contains("rain"), "{job}");
    let run = site.get(&format!("/jobs/{run}")).await.body;
    assert!(run.contains("pause run") && run.contains("a break") && !run.contains("a flood"), "{run}");

    let of = |target: &str| format!("/api/audit?target={target}");
    let of_graph = site.json(&of(&open.to_string())).await;
    let lines = of_graph["items"].as_array().unwrap();
    assert!(!lines.is_empty() && lines.iter().all(|line| line["target"] == json!(open.to_string())), "{of_graph}");
    let first = site.json(&format!("{}&limit=1", of(&open.to_string()))).await;
    let rest = site.json(&format!("{}&after={}", of(&open.to_string()), first["next"].as_str().unwrap())).await;
    assert_eq!(rest["items"].as_array().unwrap().len(), lines.len() - 1, "{rest}");
    assert_eq!(site.json(&of("default")).await["items"].as_array().unwrap().len(), 2);
    assert_eq!(site.json(&of("nobody")).await["items"], json!([]));
    assert_eq!(site.get(&of("a%00b")).await.code(), "invalid");
    let page = site.get(&format!("/audit?target={}", works.unserved)).await.body;
    assert!(page.contains("no use") && !page.contains("a break"), "{page}");
    works.worker.shutdown().await;
}

async fn what_nobody_has_touched_has_no_history(subject: Subject) {
    let job = subject.client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let graph = Graph::builder(NASTY);
    graph.node("only", &Nobody { big: 2 });
    let graph = graph.enqueue(&subject.client).await.unwrap().id();
    let site = Site::new(&subject.client, WebOptions::default());
    for path in [format!("/jobs/{job}"), format!("/graphs/{graph}")] {
        let page = site.get(&path).await;
        assert!(page.status == 200 && !page.body.contains("History"), "{path}: {}", page.body);
    }
    assert_eq!(site.json(&format!("/api/audit?target={}", Client::new_job_id())).await["items"], json!([]));
}
