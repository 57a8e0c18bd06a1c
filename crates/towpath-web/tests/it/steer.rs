//! Schedules and queues by the API: seen, paused, resumed, run.

use axum::http::StatusCode;
use serde_json::{Value, json};
use towpath::schedule::Overlap;
use towpath::{Client, Schedule};
use towpath_web::{Action, User, WebOptions};

use crate::site::Site;
use crate::stores::{Subject, on_every_store};
use crate::works::{Nobody, Say};

on_every_store!(
    schedules_are_paged_by_name_and_tell_their_ticks,
    a_schedule_is_paused_resumed_run_and_forgotten,
    a_queue_is_paused_and_resumed,
    each_action_needs_its_own_right,
);

async fn put(client: &Client, name: &str) {
    let schedule = Schedule::new(name, "30 2 * * *", &Say::ok("1")).zone("Europe/Berlin").overlap(Overlap::Skip);
    client.schedules().put(schedule, "ann", "").await.unwrap();
}

async fn schedules_are_paged_by_name_and_tell_their_ticks(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default());
    assert_eq!(site.json("/api/schedules").await, json!({ "items": [], "next": null }));
    for name in ["c", "a", "b"] {
        put(&subject.client, name).await;
    }
    let first = site.json("/api/schedules?limit=2").await;
    let names = |page: &Value| {
        let names = page["items"].as_array().unwrap().iter().map(|row| row["schedule"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!((names(&first), &first["next"]), (vec!["a".into(), "b".into()], &json!("b")));
    let rest = site.json("/api/schedules?limit=2&after=b").await;
    assert_eq!((names(&rest), &rest["next"]), (vec!["c".to_owned()], &Value::Null));
    let one = site.json("/api/schedules/a").await;
    assert_eq!(one, first["items"][0]);
    assert_eq!(
        (&one["state"], &one["zone"], &one["overlap"]),
        (&json!("active"), &json!("Europe/Berlin"), &json!("skip"))
    );
    let coming = one["coming"].as_array().unwrap();
    assert_eq!(coming.len(), 3);
    assert!(coming.iter().all(|tick| tick["local"].as_str().unwrap().contains(" 02:30:00 +0")), "{coming:?}");
    for (path, code) in [
        ("/api/schedules/x", "not_found"),
        ("/api/schedules/A%20B", "not_found"),
        ("/api/schedules?after=A%20B", "invalid"),
    ] {
        assert_eq!(site.get(path).await.code(), code, "{path}");
    }
}

async fn a_schedule_is_paused_resumed_run_and_forgotten(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default().anonymous("ann"));
    put(&subject.client, "nightly").await;
    let order = async |what: &str| {
        let done = site.post(&format!("/api/schedules/nightly/{what}"), json!({ "reason": "a look" })).await;
        (done.status, done.json()["outcome"].clone())
    };
    assert_eq!(order("pause").await, (StatusCode::OK, json!("paused")));
    let paused = site.json("/api/schedules/nightly").await;
    assert_eq!((&paused["state"], &paused["coming"]), (&json!("paused"), &json!([])));
    assert_eq!(order("resume").await.1, "resumed");
    assert_eq!(site.json("/api/schedules/nightly").await["state"], "active");
    assert_eq!(order("trigger").await.1, "triggered");
    let minted = site.json("/api/schedules/nightly").await["minted"].clone();
    let job = site.json(&format!("/api/jobs/{}", minted[0]["job"].as_str().unwrap())).await;
    assert_eq!((&job["kind"], &job["state"]), (&json!("say"), &json!("ready")));
    let page = site.get("/schedules/nightly").await.body;
    assert!(page.contains(job["id"].as_str().unwrap()) && page.contains("Run now"), "{page}");
    let keyed = Site::new(&subject.client, WebOptions::default()).with("idempotency-key", "once");
    for _ in 0..2 {
        assert_eq!(keyed.post("/api/schedules/nightly/trigger", json!({})).await.json()["outcome"], "triggered");
    }
    assert_eq!(
        site.json("/api/jobs?kind=say").await["items"].as_array().unwrap().len(),
        2,
        "once by hand, once by key"
    );
    assert_eq!(site.post("/api/schedules/nightly/explode", json!({})).await.code(), "not_found");
    assert_eq!(order("forget").await.1, "forgotten");
    assert_eq!(site.post("/api/schedules/nightly/pause", json!({})).await.code(), "not_found");
    let audit = site.json("/api/audit").await;
    let did = |action: &str| audit["items"].as_array().unwrap().iter().filter(|line| line["action"] == action).count();
    assert_eq!([did("pause schedule"), did("trigger schedule"), did("forget schedule")], [1, 2, 1], "{audit}");
}

async fn a_queue_is_paused_and_resumed(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default().anonymous("ann"));
    subject.client.enqueue(&Nobody { big: 1 }).await.unwrap();
    let paused = site.post("/api/queues/lonely/pause", json!({ "reason": "a look" })).await;
    assert_eq!(paused.json()["outcome"], "paused", "{}", paused.body);
    let lonely = site.json("/api/queues").await["items"][0].clone();
    assert_eq!(
        (&lonely["queue"], &lonely["paused"]["actor"], &lonely["paused"]["why"]),
        (&json!("lonely"), &json!("ann"), &json!("a look"))
    );
    for path in ["/", "/queues", "/queues/lonely"] {
        assert!(site.get(path).await.body.contains("paused"), "{path}");
    }
    assert_eq!(site.post("/api/queues/lonely/resume", json!({})).await.json()["outcome"], "resumed");
    assert_eq!(site.json("/api/queues").await["items"][0]["paused"], Value::Null);
    assert_eq!(site.post("/api/queues/A%20B/pause", json!({})).await.code(), "invalid");
    assert_eq!(site.get("/queues/idle").await.status, StatusCode::OK, "a queue has no row of its own");
}

async fn each_action_needs_its_own_right(subject: Subject) {
    put(&subject.client, "nightly").await;
    let paths = [
        ("/api/schedules/nightly/pause", Action::Pause),
        ("/api/schedules/nightly/trigger", Action::Trigger),
        ("/api/schedules/nightly/forget", Action::Admin),
        ("/api/queues/lonely/pause", Action::Pause),
    ];
    for (path, needed) in paths {
        let without = WebOptions::default().access(move |_: &User, action: Action| action != needed);
        let refused = Site::new(&subject.client, without).post(path, json!({})).await;
        assert_eq!((refused.status, refused.code().as_str()), (StatusCode::FORBIDDEN, "forbidden"), "{path}");
        let with =
            WebOptions::default().access(move |_: &User, action: Action| [Action::View, needed].contains(&action));
        assert_eq!(Site::new(&subject.client, with).post(path, json!({})).await.status, StatusCode::OK, "{path}");
    }
}
