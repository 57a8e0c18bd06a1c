//! Who is let in: logins, rights, other sites, other names, and the headers of every answer.

use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use towpath::Client;
use towpath_web::{Action, Hosts, User, WebOptions};

use crate::site::{Answer, Site};
use crate::stores;
use crate::works::Nobody;

async fn asked(site: &Site, headers: &[(&str, &str)], method: &str, path: &str) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost:7070");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    site.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn nobody_comes_in_without_one_of_the_logins() {
    let client = stores::memory().client;
    let site = Site::new(&client, WebOptions::default().token("ops", "s3cret").password("ann", "pä:ss"));
    for headers in [
        vec![],
        vec![("authorization", "Bearer wrong")],
        vec![("authorization", "Bearer ")],
        vec![("authorization", "s3cret")],
        vec![("authorization", "Basic YW5uOng=")],
        vec![("authorization", "Basic !")],
    ] {
        let answer = asked(&site, &headers, "GET", "/api/jobs").await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (401, "unauthorized"), "{headers:?}");
        assert!(answer.headers.contains_key("www-authenticate"));
    }
    // ann:pä:ss, ops:s3cret
    for login in ["Bearer s3cret", "bearer s3cret", "Basic YW5uOnDDpDpzcw==", "Basic b3BzOnMzY3JldA=="] {
        assert_eq!(asked(&site, &[("authorization", login)], "GET", "/api/jobs").await.status, 200, "{login}");
    }
    assert_eq!(asked(&site, &[], "GET", "/healthz").await.status, 200, "who watches the process has no login");
}

#[tokio::test]
async fn each_action_is_allowed_by_itself_and_in_the_name_of_who_asks() {
    let client = stores::memory().client;
    let job = client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let access = |user: &User, action: Action| user.name == "ann" || !action.is_write();
    let site = Site::new(&client, WebOptions::default().access(access).token("ann", "a").token("bob", "b"));
    let (ann, bob) = ([("authorization", "Bearer a")], [("authorization", "Bearer b")]);
    for path in [
        format!("/api/jobs/{job}/cancel"),
        format!("/api/jobs/{job}/terminate"),
        format!("/api/graphs/{}/cancel", Client::new_graph_id()),
        "/api/runs/r/signals".to_owned(),
        "/api/runs/r/updates".to_owned(),
        "/api/runs/r/pause".to_owned(),
        "/api/runs/r/resume".to_owned(),
    ] {
        let refused = asked(&site, &bob, "POST", &path).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"), "{path}: {}", refused.body);
    }
    assert_eq!(asked(&site, &bob, "GET", "/api/jobs").await.status, 200);
    assert_eq!(asked(&site, &ann, "POST", &format!("/api/jobs/{job}/cancel")).await.status, 200);
    assert_eq!(asked(&site, &ann, "GET", "/api/audit").await.json()["items"][0]["actor"], "ann");

    let shut = Site::new(&client, WebOptions::default().access(|_: &User, _: Action| false));
    assert_eq!(asked(&shut, &[], "GET", "/api/jobs").await.code(), "forbidden");
}

#[tokio::test]
async fn a_dashboard_that_only_shows_changes_nothing() {
    let client = stores::memory().client;
    let job = client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let site = Site::new(&client, WebOptions::default().read_only());
    let refused = site.post(&format!("/api/jobs/{job}/cancel"), json!({})).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "read_only"));
    let state = client.inspect().job(job).await.unwrap().unwrap().line.state;
    assert_eq!(state, towpath::JobState::Ready);
}

#[tokio::test]
async fn another_site_does_not_act_in_a_users_name() {
    let client = stores::memory().client;
    let job = client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let site = Site::new(&client, WebOptions::default());
    let path = format!("/api/jobs/{job}/cancel");
    for headers in [
        vec![("origin", "http://evil.example")],
        vec![("origin", "null")],
        vec![("sec-fetch-site", "cross-site")],
        vec![("sec-fetch-site", "same-site"), ("origin", "http://localhost:7070")],
    ] {
        assert_eq!(asked(&site, &headers, "POST", &path).await.code(), "cross_origin", "{headers:?}");
    }
    let own = [("origin", "http://localhost:7070"), ("sec-fetch-site", "same-origin")];
    assert_eq!(asked(&site, &own, "POST", &path).await.status, 200);
}

#[tokio::test]
async fn a_name_that_was_made_to_point_here_is_not_answered() {
    let site = Site::new(&stores::memory().client, WebOptions::default().hosts(Hosts::Loopback));
    let answer = asked(&site, &[("host", "evil.example")], "GET", "/api/jobs").await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (421, "unknown_host"));
    assert_eq!(asked(&site, &[("host", "127.0.0.1:7070")], "GET", "/api/jobs").await.status, 200);
}

#[tokio::test]
async fn every_answer_tells_a_browser_what_it_may_do() {
    let site = Site::under("/ops/towpath", &stores::memory().client, WebOptions::default());
    for path in ["/api/jobs", "/api/nothing", "/api/jobs?limit=x", ""] {
        let headers = site.get(&format!("/ops/towpath{path}")).await.headers;
        let csp = headers["content-security-policy"].to_str().unwrap();
        assert!(csp.contains("default-src 'none'") && !csp.contains("unsafe"), "{csp}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test]
async fn an_application_says_who_comes() {
    let client = stores::memory().client;
    let job = client.enqueue(&Nobody { big: 1 }).await.unwrap().id();
    let site = Site::new(&client, WebOptions::default().token("ops", "t"));
    let request = Request::post(format!("/api/jobs/{job}/cancel")).extension(User::new("carl")).body(Body::empty());
    assert_eq!(site.send(request.unwrap()).await.status, 200);
    assert_eq!(client.inspect().audit(Client::first_page(1)).await.unwrap()[0].actor, "carl");
}
