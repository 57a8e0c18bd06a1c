//! Work that is put right by the API: jobs edited, graphs retried and restarted.

use axum::http::StatusCode;
use serde_json::json;
use towpath::{Client, Graph, GraphId, JobId};
use towpath_web::{Action, Part, User, WebOptions};

use crate::site::Site;
use crate::stores::{Subject, on_every_store};
use crate::works::{NASTY, Nobody, Say, Works};

on_every_store!(
    a_job_is_edited_where_no_worker_has_it,
    what_is_not_shown_whole_is_not_written_back,
    a_retry_is_counted_and_carried_out,
    a_restart_is_another_graph,
    a_graph_tells_what_is_undone,
    many_are_counted_and_changed_and_what_comes_after_is_not_meant,
);

fn site(client: &Client) -> Site {
    Site::new(client, WebOptions::default().anonymous("ann"))
}

async fn a_job_is_edited_where_no_worker_has_it(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let path = format!("/api/jobs/{}/edit", works.unserved);
    let edit =
        json!({ "input": { "big": u64::MAX - 1 }, "priority": -3, "due": "2100-01-01T00:00:00Z", "reason": "a slip" });
    let done = site.post(&path, edit).await;
    assert_eq!((done.status, &done.json()["outcome"]), (StatusCode::OK, &json!("edited")), "{}", done.body);
    let job = site.json(&format!("/api/jobs/{}", works.unserved)).await;
    assert_eq!((&job["input"]["json"]["big"], &job["priority"]), (&json!(u64::MAX - 1), &json!(-3)));
    assert_eq!(job["due"], "2100-01-01T00:00:00.000000Z");
    assert_eq!(site.post(&path, json!({ "due": "now" })).await.json()["outcome"], "edited");
    assert_eq!(site.json(&format!("/api/jobs/{}", works.unserved)).await["due"], json!(null));
    let refused = [
        (works.unserved, json!({}), "invalid"),
        (works.unserved, json!({ "due": "tomorrow" }), "invalid"),
        (works.unserved, json!({ "priority": 40_000 }), "invalid"),
        (works.unserved, json!({ "input": "\0" }), "invalid"),
        (works.succeeded, json!({ "priority": 1 }), "conflict"),
        (works.run, json!({ "priority": 1 }), "conflict"),
        (Client::new_job_id(), json!({ "priority": 1 }), "not_found"),
    ];
    for (job, body, code) in refused {
        assert_eq!(site.post(&format!("/api/jobs/{job}/edit"), body.clone()).await.code(), code, "{body}");
    }
    let without = WebOptions::default().access(|_: &User, action: Action| action != Action::Edit);
    assert_eq!(Site::new(&subject.client, without).post(&path, json!({ "priority": 1 })).await.code(), "forbidden");
    let audit = site.json("/api/audit").await;
    assert!(audit["items"].as_array().unwrap().iter().any(|line| line["reason"] == "a slip"), "{audit}");
    works.worker.shutdown().await;
}

/// One who is shown `"*"` for an input must not give the job that.
async fn what_is_not_shown_whole_is_not_written_back(subject: Subject) {
    let job = subject.client.enqueue(&Nobody { big: 77_777 }).await.unwrap().id();
    let page = async |site: &Site, job: JobId| site.get(&format!("/jobs/{job}/edit")).await.body;
    assert!(page(&site(&subject.client), job).await.contains("77777"));
    let replaced =
        WebOptions::default().redact(|_, part, text| if part == Part::Input { "\"*\"".into() } else { text });
    let blind = WebOptions::default().access(|_: &User, action: Action| action != Action::SeePayloads);
    for options in [replaced, blind] {
        let form = page(&Site::new(&subject.client, options), job).await;
        assert!(form.contains("leave this empty to keep it"), "{form}");
        assert!(!form.contains("77777") && !form.contains("&quot;*"), "{form}");
    }
}

async fn a_retry_is_counted_and_carried_out(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let path = format!("/api/graphs/{}/retry", works.graph);
    let failed = site.json(&path).await;
    assert_eq!(failed, json!({ "count": 2, "nodes": [NASTY, "never"], "lifts": false }));
    assert_eq!(site.json(&format!("{path}?mode=all")).await["count"], 5);
    assert_eq!(site.json(&format!("{path}?mode=from&node=spare")).await["nodes"], json!(["spare", "last"]));
    for query in ["mode=from&node=nobody", "mode=from", "mode=some", "mode=all&node=first"] {
        assert_eq!(site.get(&format!("{path}?{query}")).await.code(), "invalid", "{query}");
    }
    assert_eq!(site.json(&path).await["count"], 2, "a count does nothing");
    let done = site.post(&path, json!({ "mode": "from", "node": "spare", "reason": "again" })).await;
    assert_eq!((done.status, &done.json()["outcome"]), (StatusCode::OK, &json!("retried")), "{}", done.body);
    subject.client.wait_graph(works.graph).await.unwrap();
    let graph = site.json(&format!("/api/graphs/{}", works.graph)).await;
    let attempts = |name: &str| {
        let node = graph["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap();
        node["attempt"].as_u64().unwrap()
    };
    assert_eq!([attempts("first"), attempts("spare"), attempts("last")], [1, 2, 2]);
    let unknown: GraphId = Client::new_graph_id();
    assert_eq!(site.post(&format!("/api/graphs/{unknown}/retry"), json!({})).await.code(), "not_found");
    let without = WebOptions::default().access(|_: &User, action: Action| action != Action::Retry);
    assert_eq!(Site::new(&subject.client, without).post(&path, json!({})).await.code(), "forbidden");
    works.worker.shutdown().await;
}

async fn a_restart_is_another_graph(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let path = format!("/api/graphs/{}/restart", works.graph);
    let new = Client::new_graph_id().to_string();
    for _ in 0..2 {
        let done = site.post(&path, json!({ "id": new })).await;
        assert_eq!((&done.json()["outcome"], &done.json()["id"]), (&json!("restarted"), &json!(new)), "{}", done.body);
    }
    assert_eq!(site.json("/api/graphs").await["items"].as_array().unwrap().len(), 2);
    assert_eq!(site.json(&format!("/api/graphs/{new}")).await["restart_of"], json!(works.graph.to_string()));
    let pages = [(works.graph.to_string(), &new), (new.clone(), &works.graph.to_string())];
    for (page, other) in pages {
        assert!(site.get(&format!("/graphs/{page}")).await.body.contains(other), "{page} does not name {other}");
    }
    assert_eq!(site.post(&path, json!({ "id": "x" })).await.code(), "invalid");
    let unknown: GraphId = Client::new_graph_id();
    assert_eq!(site.post(&format!("/api/graphs/{unknown}/restart"), json!({})).await.code(), "not_found");
    works.worker.shutdown().await;
}

async fn a_graph_tells_what_is_undone(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let graph = Graph::builder("checkout");
    let reserve = graph.node("reserve", &Say::ok("1"));
    reserve.undo("release", &Say::ok("1"));
    reserve.then("charge", &Say::fails("no money"));
    let id = graph.enqueue(&subject.client).await.unwrap().id();
    subject.client.wait_graph(id).await.unwrap();
    let graph = site.json(&format!("/api/graphs/{id}")).await;
    assert_eq!((&graph["undos"], &graph["generation"]), (&json!("complete"), &json!(1)), "{graph}");
    let node = |name: &str| graph["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap();
    assert_eq!((&node("reserve")["undone"], &node("release")["undoes"]), (&json!(true), &json!("reserve")));
    assert_eq!((&node("charge")["undone"], &node("charge")["undoes"]), (&json!(false), &json!(null)));
    let page = site.get(&format!("/graphs/{id}")).await.body;
    assert_eq!(page.matches("class=\"edge undo\"").count(), 1, "{page}");
    assert!(page.contains("undone · say") && page.contains("all that was to be undone is"), "{page}");
    works.worker.shutdown().await;
}

async fn many_are_counted_and_changed_and_what_comes_after_is_not_meant(subject: Subject) {
    let site = site(&subject.client);
    for big in 0..7 {
        subject.client.enqueue(&Nobody { big }).await.unwrap();
    }
    let meant = site.json("/api/jobs/many?do=cancel&kind=nobody").await;
    assert_eq!((&meant["count"], &meant["may_be_more"]), (&json!(7), &json!(false)));
    assert_eq!(meant["newest"].as_array().unwrap().len(), 5);
    let late = subject.client.enqueue(&Nobody { big: 8 }).await.unwrap().id();
    let order = json!({ "do": "cancel", "kind": "nobody", "upto": meant["upto"], "reason": "no use" });
    let done = site.post("/api/jobs/many", order).await;
    assert_eq!((done.status, &done.json()["changed"]), (StatusCode::OK, &json!(7)), "{}", done.body);
    assert_eq!(site.json(&format!("/api/jobs/{late}")).await["state"], "ready");
    let again = site.json("/api/jobs/many?do=requeue&state=cancelled").await;
    let order = json!({ "do": "requeue", "state": "cancelled", "upto": again["upto"] });
    assert_eq!(site.post("/api/jobs/many", order).await.json()["changed"], 7);
    for path in ["/api/jobs/many?do=cancel", "/api/jobs/many?kind=nobody", "/api/jobs/many?do=cancel&state=odd"] {
        assert_eq!(site.get(path).await.code(), "invalid", "{path}");
    }
    let uncounted = json!({ "do": "cancel", "kind": "nobody" });
    assert_eq!(site.post("/api/jobs/many", uncounted).await.code(), "invalid");
    let without = WebOptions::default().access(|_: &User, action: Action| action != Action::Cancel);
    let order = json!({ "do": "cancel", "kind": "nobody", "upto": meant["upto"] });
    assert_eq!(Site::new(&subject.client, without).post("/api/jobs/many", order).await.code(), "forbidden");
}
