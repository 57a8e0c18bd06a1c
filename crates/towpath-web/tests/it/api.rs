//! The API's views and orders; every answer is held against the description by the site itself.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use towpath::{Client, Cx, Durable, Failure, JobState, Stream, Update, Worker};
use towpath_web::{Action, Part, User, WebOptions};

use crate::site::Site;
use crate::stores::{Subject, on_every_store};
use crate::works::{NASTY, Nobody, Works};

on_every_store!(
    every_view_answers_as_described,
    a_node_and_the_graph_that_it_runs_name_each_other,
    lists_are_paged_to_their_end,
    orders_are_carried_out_and_recorded,
    an_idempotency_key_makes_one_order_of_two,
    a_signal_is_sent_once_per_key,
    a_run_is_asked_and_its_streams_are_read,
    a_run_is_retried_and_forked,
    a_run_is_paused_and_resumed,
    a_run_tells_its_streams_and_its_page_its_children,
    what_is_wrong_is_named,
    payloads_are_hidden_or_replaced_where_asked,
);

fn site(client: &Client) -> Site {
    Site::new(client, WebOptions::default().anonymous("ann"))
}

/// An id as one part of a path.
pub(crate) fn part(id: &str) -> String {
    id.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

async fn every_view_answers_as_described(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let jobs = site.json("/api/jobs?limit=500").await;
    assert_eq!(jobs["items"].as_array().unwrap().len(), 9, "{jobs}");
    let dead = site.json("/api/jobs?state=dead&kind=say&queue=default").await;
    assert_eq!(dead["items"].as_array().unwrap().len(), 2, "{dead}");
    let skipped = site.json("/api/jobs?state=skipped").await;
    assert_eq!(skipped["items"][0]["node"], "never");

    let counts = site.json("/api/counts").await;
    assert_eq!((&counts["dead"], &counts["ready"], &counts["later"]), (&json!(2), &json!(1), &json!(1)), "{counts}");

    let job = site.json(&format!("/api/jobs/{}", works.succeeded)).await;
    assert_eq!((&job["state"], &job["output"]["json"]), (&json!("succeeded"), &json!(NASTY)));
    let job = site.json(&format!("/api/jobs/{}", works.dead)).await;
    assert_eq!((&job["cause"]["why"], &job["attempts"][0]["error"]["text"]), (&json!("exhausted"), &json!(NASTY)));
    let job = site.json(&format!("/api/jobs/{}", works.unserved)).await;
    assert_eq!((&job["state"], &job["input"]["json"]["big"]), (&json!("ready"), &json!(u64::MAX)), "64 bits are kept");

    let queues = site.json("/api/queues").await;
    let lonely = queues["items"].as_array().unwrap().iter().find(|q| q["queue"] == "lonely").unwrap();
    assert_eq!(lonely["ready"], 1);
    let graphs = site.json("/api/graphs?state=failed").await;
    assert_eq!((&graphs["items"][0]["name"], &graphs["next"]), (&json!(NASTY), &Value::Null));
    let nasty = part(NASTY);
    for (query, count) in [("", 1), ("&state=failed", 1), ("&state=open", 0)] {
        let graphs = site.json(&format!("/api/graphs?name={nasty}{query}")).await;
        assert_eq!(graphs["items"].as_array().unwrap().len(), count, "{query}");
    }
    assert_eq!(site.json("/api/graphs?name=another").await["items"], json!([]));
    let graph = site.json(&format!("/api/graphs/{}", works.graph)).await;
    assert_eq!((graph["nodes"].as_array().unwrap().len(), graph["edges"].as_array().unwrap().len()), (5, 5));

    let versions = site.json("/api/versions").await;
    let runs = |version: &&Value| version["runs"] == 1;
    let order = versions["items"].as_array().unwrap().iter().find(runs).unwrap_or_else(|| panic!("{versions}"));
    assert_eq!((&order["kind"], &order["open"]), (&json!("order"), &json!(1)));

    let run = site.json(&format!("/api/runs/{}", part(NASTY))).await;
    assert_eq!((&run["id"], &run["run"]["id"]), (&json!(works.run.to_string()), &json!(NASTY)));
    let journal = site.json(&format!("/api/runs/{}/journal", works.run)).await;
    assert_eq!(journal["items"][0]["what"], "began");
    assert!(journal["items"].as_array().unwrap().iter().any(|line| line["op"]["name"] == "greet"), "{journal}");

    let runs = site.json("/api/runs").await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");

    let workers = site.json("/api/workers").await;
    assert_eq!((&workers["items"][0]["name"], &workers["items"][0]["lives"]), (&json!("a worker <b>"), &json!(true)));
    assert_eq!(site.json("/api/audit").await["items"], json!([]));
    for path in ["/healthz", "/readyz"] {
        assert_eq!(site.json(path).await, json!({ "status": "ok" }));
    }
    works.worker.shutdown().await;
}

async fn a_node_and_the_graph_that_it_runs_name_each_other(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let outer = Works::holding(&subject.client).await;
    let site = site(&subject.client);
    let graph = site.json(&format!("/api/graphs/{outer}")).await;
    let (inner, each) = (&graph["nodes"][0], &graph["nodes"][1]);
    assert_eq!(each["holds"], json!({ "elements": { "of": 2, "done": 2, "failed": 1 } }));
    let id = inner["holds"]["graph"].as_str().unwrap();
    let within = site.json(&format!("/api/graphs/{id}")).await;
    assert_eq!(within["inside"], json!({ "job": inner["job"], "graph": outer, "node": "inner" }));
    assert_eq!((&graph["inside"], &within["nodes"][0]["holds"]), (&Value::Null, &Value::Null));
    let page = site.get(&format!("/graphs/{outer}")).await.body;
    assert!(page.contains(&format!("<a href=\"/graphs/{id}\" class=\"st-")), "its box opens it: {page}");
    assert!(page.contains(&format!("/graphs/{id}")) && page.contains("2 of 2 done, 1 failed"), "{page}");
    assert!(site.get(&format!("/graphs/{id}")).await.body.contains(&format!("/graphs/{outer}")));
    works.worker.shutdown().await;
}

async fn lists_are_paged_to_their_end(subject: Subject) {
    let site = site(&subject.client);
    for big in 0..25 {
        subject.client.enqueue(&Nobody { big }).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let part = site.json(&format!("/api/jobs?limit=10&after={after}")).await;
        seen.extend(part["items"].as_array().unwrap().iter().map(|job| job["id"].to_string()));
        match part["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let newest_first: Vec<String> =
        site.json("/api/jobs").await["items"].as_array().unwrap().iter().map(|job| job["id"].to_string()).collect();
    assert_eq!(seen.len(), 25);
    assert_eq!(seen, newest_first);
}

async fn orders_are_carried_out_and_recorded(subject: Subject) {
    let (works, site) = (Works::start(&subject.client).await, site(&subject.client));
    let done = site.post(&format!("/api/jobs/{}/cancel", works.unserved), json!({ "reason": "no use" })).await;
    assert_eq!((done.status, &done.json()["outcome"]), (StatusCode::OK, &json!("ended")), "{}", done.body);
    let again = site.ask(Method::POST, &format!("/api/jobs/{}/cancel", works.unserved), None).await;
    assert_eq!(again.json()["outcome"], "unchanged");
    let back = site.post(&format!("/api/jobs/{}/requeue", works.unserved), json!({ "input": { "big": 2 } })).await;
    assert_eq!(back.json()["outcome"], "requeued", "{}", back.body);
    let job = site.json(&format!("/api/jobs/{}", works.unserved)).await;
    assert_eq!((&job["state"], &job["input"]["json"]["big"]), (&json!("ready"), &json!(2)));
    let refused = site.post(&format!("/api/jobs/{}/requeue", works.succeeded), json!({})).await;
    assert_eq!(refused.code(), "conflict");
    let graph = site.post(&format!("/api/graphs/{}/cancel", works.graph), json!({})).await;
    assert_eq!(graph.json()["outcome"], "unchanged", "it has ended");
    let run = site.post(&format!("/api/runs/{}/terminate", part(NASTY)), json!({ "reason": "enough" })).await;
    assert_eq!(run.json()["outcome"], "ended");
    let state = subject.client.inspect().job(works.run).await.unwrap().unwrap().line.state;
    assert!(matches!(state, JobState::Ended(_)), "{state}");
    let audit = site.json("/api/audit").await;
    let lines: Vec<_> = audit["items"].as_array().unwrap().iter().collect();
    assert_eq!((&lines[0]["actor"], &lines[0]["reason"]), (&json!("ann"), &json!("enough")));
    assert!(lines.iter().any(
        |line| line["reason"] == "no use" && line["target"].as_str().unwrap().contains(&works.unserved.to_string())
    ));
    works.worker.shutdown().await;
}

async fn an_idempotency_key_makes_one_order_of_two(subject: Subject) {
    let job = subject.client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let with_key = site(&subject.client).with("idempotency-key", "k1");
    let path = format!("/api/jobs/{job}/cancel");
    let first = with_key.post(&path, json!({ "reason": "a" })).await;
    let second = with_key.post(&path, json!({ "reason": "a" })).await;
    assert_eq!(first.json()["outcome"], "ended");
    assert_eq!((first.body, &second.headers["idempotency-replayed"]), (second.body, &"true".parse().unwrap()));
    let other = with_key.post(&path, json!({ "reason": "b" })).await;
    assert_eq!((other.status, other.code().as_str()), (StatusCode::UNPROCESSABLE_ENTITY, "key_reused"));
    let audit = with_key.json("/api/audit").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "{audit}");
}

async fn a_signal_is_sent_once_per_key(subject: Subject) {
    let site = site(&subject.client).with("idempotency-key", "paid-1");
    let path = format!("/api/runs/{}/signals", part(NASTY));
    let sent = site.post(&path, json!({ "name": "paid", "payload": u64::MAX })).await;
    assert_eq!(sent.json()["outcome"], "kept");
    // Another server, which has none of the answers of the first.
    let other = Site::new(&subject.client, WebOptions::default()).with("idempotency-key", "paid-1");
    let again = other.post(&path, json!({ "name": "paid", "payload": u64::MAX })).await;
    assert_eq!(again.json()["outcome"], "duplicate");
    let id = towpath::core::RunId::new(NASTY).unwrap();
    let inbox = subject.client.store().inbox(id, i64::MIN, 10).await.unwrap();
    assert_eq!(inbox.len(), 1);
    assert_eq!(inbox[0].payload.decode::<u64>(), Ok(u64::MAX));
}

const ADD: Update<u64, u64> = Update::new("add");
const SUMS: Stream<u64> = Stream::new("sums");
const TALLY: Durable<u64, u64, Failure> = Durable::new("tally", 1, Duration::from_secs(600), &tally);
async fn tally(cx: Cx<'_>, mut sum: u64) -> Result<u64, Failure> {
    loop {
        let (n, reply) = cx.update(ADD).await;
        if n == 0 {
            return Ok(sum);
        }
        sum += n;
        cx.emit(SUMS, &sum);
        reply.send(&sum);
    }
}

async fn a_run_is_asked_and_its_streams_are_read(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(TALLY).start().unwrap();
    client.start(TALLY, "t/1", &0).await.unwrap();
    let site = site(client);
    let (asks, streams) = ("/api/runs/t%2F1/updates", "/api/runs/t%2F1/streams/sums");
    assert_eq!(site.json(streams).await, json!({ "items": [], "next": null }));
    let answered = site.post(asks, json!({ "name": "add", "payload": u64::MAX - 1 })).await;
    assert_eq!(answered.json(), json!({ "answer": { "json": u64::MAX - 1 } }));
    for _ in 0..2 {
        let answered = site.post(asks, json!({ "name": "add", "payload": 1, "id": "once" })).await;
        assert_eq!(answered.json(), json!({ "answer": { "json": u64::MAX } }), "it is asked once");
    }
    assert_eq!(site.post(asks, json!({ "name": "add", "payload": 0, "id": "" })).await.code(), "invalid");
    let first = site.json(&format!("{streams}?limit=1")).await;
    let line = &first["items"][0];
    assert_eq!((&line["number"], &line["payload"]), (&json!("1"), &json!({ "json": u64::MAX - 1 })));
    let rest = site.json(&format!("{streams}?after={}", first["next"].as_str().unwrap())).await;
    assert_eq!((&rest["items"][0]["number"], rest["items"].as_array().unwrap().len()), (&json!("2"), 1));
    assert_eq!(rest["next"], json!(null));

    // Who asks again with the key of what was not answered in time is given the answer, by another server too.
    worker.shutdown().await;
    let keyed = || Site::new(client, WebOptions::default()).with("idempotency-key", "last");
    let late = keyed().post(asks, json!({ "name": "add", "payload": 0, "timeout_ms": 0 })).await;
    assert_eq!((late.status.as_u16(), late.code().as_str()), (503, "unavailable"), "{}", late.body);
    let worker = Worker::builder(client).durable(TALLY).start().unwrap();
    let ended = keyed().post(asks, json!({ "name": "add", "payload": 0, "timeout_ms": 60_000 })).await;
    assert_eq!((ended.status.as_u16(), ended.code().as_str()), (409, "conflict"), "{}", ended.body);
    let refused = [
        (asks, json!({ "name": "add", "timeout_ms": 60_001 }), "invalid"),
        (asks, json!({ "name": "no name" }), "invalid"),
        ("/api/runs/nobody/updates", json!({ "name": "add" }), "not_found"),
    ];
    for (path, body, code) in refused {
        assert_eq!(site.post(path, body.clone()).await.code(), code, "{path} {body}");
    }
    for (path, code) in [
        ("/api/runs/t%2F1/streams/no%20name", "invalid"),
        ("/api/runs/t%2F1/streams/sums?after=-1", "invalid"),
        ("/api/runs/nobody/streams/sums", "not_found"),
    ] {
        assert_eq!(site.get(path).await.code(), code, "{path}");
    }
    worker.shutdown().await;
}

async fn a_run_is_retried_and_forked(subject: Subject) {
    let client = &subject.client;
    let worker = Worker::builder(client).durable(TALLY).start().unwrap();
    let site = site(client);
    let run = client.start(TALLY, "sum", &40).await.unwrap();
    assert_eq!(client.update("sum", ADD, &2).await.unwrap(), 42);
    client.signal("sum", towpath::Signal::<u8>::new("other"), &1).await.unwrap();
    let forked = site.post("/api/runs/sum/fork", json!({ "id": "sum-2", "at": 2 })).await;
    assert_eq!((forked.status.as_u16(), forked.json()["outcome"].clone()), (200, json!("started")), "{}", forked.body);
    assert_eq!(client.update("sum-2", ADD, &5).await.unwrap(), 47, "what was added before is taken over");
    let shown = site.json("/api/runs/sum-2").await["run"].clone();
    assert_eq!(shown["forked_from"], json!({ "run": "sum", "chapter": 1, "at": 2 }));
    let page = site.get("/runs/sum-2").await;
    assert!(page.status.is_redirection() || page.body.contains("Forked from"), "{}", page.body);
    assert_eq!(site.post("/api/runs/sum/retry", json!({})).await.code(), "conflict");
    assert_eq!(site.post("/api/runs/sum/fork", json!({ "id": "sum-2", "at": 2 })).await.code(), "conflict");
    assert_eq!(site.post("/api/runs/sum/fork", json!({ "id": "x", "at": 9 })).await.code(), "conflict");
    assert_eq!(site.post("/api/runs/nobody/fork", json!({ "id": "x", "at": 1 })).await.code(), "not_found");

    client.cancel_run("sum", "ann", "").await.unwrap();
    assert!(client.result(&run).await.is_err());
    let both = site.post("/api/runs/sum/retry", json!({ "at": 1, "from_beginning": true })).await;
    assert_eq!(both.code(), "invalid");
    let retried = site.post("/api/runs/sum/retry", json!({ "reason": "a slip" })).await;
    assert_eq!(retried.json()["outcome"], "requeued", "{}", retried.body);
    assert_eq!(client.update("sum", ADD, &1).await.unwrap(), 43);
    let lines = site.json("/api/runs/sum/journal").await["items"].clone();
    assert_eq!(lines[0]["what"], "began");
    worker.shutdown().await;
}

async fn a_run_tells_its_streams_and_its_page_its_children(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let site = site(&subject.client);
    assert_eq!(site.json(&format!("/api/runs/{}/streams", works.run)).await["items"], json!([]));
    let family = Works::family(&subject.client).await;
    let streams = site.json("/api/runs/family%2F1/streams").await;
    assert_eq!((&streams["items"][0]["stream"], &streams["items"][0]["lines"]), (&json!("log"), &json!(2)));
    assert_eq!(site.get("/api/runs/nobody/streams").await.code(), "not_found");
    let page = site.get(&format!("/jobs/{family}")).await.body;
    let child = site.json("/api/jobs?kind=say&state=succeeded&limit=1").await["items"][0]["id"].clone();
    let graph = site.json("/api/graphs?limit=1").await["items"][0]["id"].clone();
    for linked in [
        format!("/jobs/{}", child.as_str().unwrap()),
        format!("/graphs/{}", graph.as_str().unwrap()),
        format!("/jobs/{family}/streams/log"),
    ] {
        assert!(page.contains(&linked), "{linked}: {page}");
    }
    assert!(!page.contains("newer release") && page.matches("data-key=\"child-").count() == 2, "{page}");
    let journal = site.json(&format!("/api/runs/{family}/journal")).await;
    let opened = |name: &str| {
        let lines = journal["items"].as_array().unwrap().iter();
        let found = lines.clone().find(|line| line["what"] == "opened" && line["op"]["name"] == name);
        found.unwrap_or_else(|| panic!("{name}: {journal}"))["child"].clone()
    };
    assert_eq!((opened("say"), opened("little")), (json!({ "job": child }), json!({ "graph": graph })));
    let stream = site.get(&format!("/jobs/{family}/streams/log")).await.body;
    assert!(stream.contains("true false") && !stream.contains("<script>alert"), "{stream}");
    let first = site.get(&format!("/jobs/{family}/streams/log?upto=1")).await.body;
    assert!(!first.contains("true false") && first.contains("Newest"), "{first}");

    let versions = site.json("/api/versions").await;
    let of = |kind: &str, version: u64| {
        let all = versions["items"].as_array().unwrap().iter();
        let found = all.clone().find(|line| line["kind"] == kind && line["version"] == version);
        found.map(|line| (line["open"].clone(), line["served_by"].clone(), line["may_go"].clone()))
    };
    assert_eq!(of("family", 2), Some((json!(1), json!(1), json!(false))));
    assert_eq!(of("nobody", 1), Some((json!(1), json!(0), json!(false))), "no worker has said that it takes it");
    works.worker.shutdown().await;
}

async fn a_run_is_paused_and_resumed(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let site = site(&subject.client);
    let path = |verb: &str| format!("/api/runs/{}/{verb}", part(NASTY));
    let paused = site.post(&path("pause"), json!({ "reason": "a look" })).await;
    assert_eq!((paused.status.as_u16(), paused.json()["outcome"].clone()), (200, json!("paused")), "{}", paused.body);
    let run = site.json(&format!("/api/runs/{}", part(NASTY))).await["run"].clone();
    assert_eq!(run["paused"]["why"], "a look");
    assert_eq!(run["published"], json!({ "json": NASTY }));
    assert_eq!(site.post(&path("resume"), json!({})).await.json()["outcome"], "resumed");
    assert_eq!(site.json(&format!("/api/runs/{}", part(NASTY))).await["run"]["paused"], json!(null));
    assert_eq!(site.post("/api/runs/nobody/pause", json!({})).await.code(), "not_found");
    let page = site.get(&format!("/jobs/{}", works.run)).await.body;
    assert!(page.contains("Pause it") && page.contains("Published"), "{page}");
    works.worker.shutdown().await;
}

async fn what_is_wrong_is_named(subject: Subject) {
    let site = site(&subject.client);
    let job = Client::new_job_id();
    let cases = [
        ("/api/jobs?state=done", 400, "invalid"),
        ("/api/jobs?kind=A%20B", 400, "invalid"),
        ("/api/jobs?graph=x", 400, "invalid"),
        ("/api/jobs?after=x", 400, "invalid"),
        ("/api/jobs?limit=0", 400, "invalid"),
        ("/api/jobs?limit=501", 400, "invalid"),
        ("/api/graphs?state=dead", 400, "invalid"),
        ("/api/graphs?name=a%0Ab", 400, "invalid"),
        ("/api/jobs/x", 404, "not_found"),
        ("/api/graphs/x", 404, "not_found"),
        ("/api/runs/x", 404, "not_found"),
        ("/api/runs/%FF", 400, "invalid"),
        ("/api/runs/x/journal", 404, "not_found"),
        ("/api/nothing", 404, "not_found"),
        ("/api/queues/", 404, "not_found"),
    ];
    for (path, status, code) in cases {
        let answer = site.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{path}");
    }
    let unknown = site.get(&format!("/api/jobs/{job}")).await;
    assert!(unknown.body.contains(&job.to_string()), "{}", unknown.body);
    let orders = [
        (format!("/api/jobs/{job}/cancel"), json!({}), 404, "not_found"),
        (format!("/api/jobs/{job}/cancel"), json!({ "reson": "" }), 400, "invalid"),
        (format!("/api/jobs/{job}/cancel"), json!({ "reason": "x".repeat(3_000) }), 400, "invalid"),
        (format!("/api/graphs/{}/cancel", Client::new_graph_id()), json!({}), 404, "not_found"),
        ("/api/runs/r/signals".to_owned(), json!({}), 400, "invalid"),
        ("/api/runs/r/signals".to_owned(), json!({ "name": "a b" }), 400, "invalid"),
        ("/api/runs/r/signals".to_owned(), json!({ "name": "a", "payload": "\0" }), 409, "conflict"),
        ("/api/runs/r/signals".to_owned(), json!({ "name": "a", "payload": "x".repeat(3 << 20) }), 413, "too_large"),
        ("/api/queues".to_owned(), json!({}), 405, "method_not_allowed"),
    ];
    for (path, body, status, code) in orders {
        let answer = site.post(&path, body).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code), "{path}: {}", answer.body);
    }
    let form = axum::http::Request::post(format!("/api/jobs/{job}/cancel"))
        .header("host", "localhost")
        .header("content-type", "text/plain")
        .body("{}".into());
    assert_eq!(site.send(form.unwrap()).await.code(), "unsupported_media_type");
}

async fn payloads_are_hidden_or_replaced_where_asked(subject: Subject) {
    let works = Works::start(&subject.client).await;
    let blind = WebOptions::default().access(|_: &User, action: Action| action != Action::SeePayloads);
    let blind = Site::new(&subject.client, blind);
    let replaced = WebOptions::default().redact(|kind, part, text| match part {
        Part::Input if kind.as_str() == "say" => "\"*\"".to_owned(),
        Part::Error => text.replace("script", "…"),
        _ => text,
    });
    let replaced = Site::new(&subject.client, replaced);
    let journal = format!("/api/runs/{}/journal", works.run);
    for path in [format!("/api/jobs/{}", works.dead), format!("/api/graphs/{}", works.graph), journal] {
        let text = blind.get(&path).await.body;
        assert!(!text.contains("alert(1)") || path.contains("graphs"), "{path}: {text}");
    }
    assert_eq!(blind.json(&format!("/api/jobs/{}", works.dead)).await["input"], json!({ "hidden": true }));
    let job = replaced.json(&format!("/api/jobs/{}", works.dead)).await;
    assert_eq!(job["input"], json!({ "json": "*" }));
    assert!(!job["attempts"][0]["error"].to_string().contains("script"), "{job}");
    works.worker.shutdown().await;
}
