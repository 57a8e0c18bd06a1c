//! Pages without a browser: where they link to, what they hide, and what a second look costs.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use towpath::core::tally::{Counted, Record, Tally};
use towpath::{Client, Kind, Queue};
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores;
use crate::works::{NASTY, Nobody, Say, Works};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_of_a_mounted_page_leads_to_where_it_is_mounted() {
    let client = stores::memory().client;
    let works = Works::start(&client).await;
    let site = Site::under("/ops/towpath", &client, WebOptions::default());
    let paths = [
        String::new(),
        "/jobs".into(),
        format!("/jobs/{}", works.dead),
        format!("/jobs/{}", works.run),
        "/graphs".into(),
        "/graphs?state=failed&name=%3Cscript%3Ealert(1)".into(),
        format!("/graphs/{}", works.graph),
        format!("/graphs/{}?show=failed", works.graph),
        format!("/graphs/{}?show=all", works.graph),
        format!("/graphs/{}/retry", works.graph),
        format!("/graphs/{}/retry?mode=from&node=first", works.graph),
        format!("/jobs/{}/edit", works.unserved),
        "/runs".into(),
        "/schedules".into(),
        "/schedules/yearly".into(),
        "/queues".into(),
        "/queues/lonely".into(),
        "/workers".into(),
        "/versions".into(),
        "/charts".into(),
        "/audit".into(),
        "/jobs/many?do=cancel&state=ready".into(),
        "/nowhere".into(),
    ];
    let mut seen = 0;
    for path in paths {
        let page = site.get(&format!("/ops/towpath{path}")).await;
        assert_eq!(page.status, if path == "/nowhere" { 404 } else { 200 }, "{path}: {}", page.body);
        for attribute in ["href=\"", "action=\"", "src=\""] {
            for link in page.body.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                let is_ours = link.starts_with("/ops/towpath") || link.starts_with('#') || link.starts_with("data:");
                assert!(is_ours, "{path} links to {link}");
                seen += 1;
            }
        }
        assert!(!page.body.contains("<script>alert"), "{path}");
        assert!(!page.body.contains(" style=\"") && !page.body.contains(" onclick"), "{path}");
    }
    assert!(seen > 100);
    works.worker.shutdown().await;
}

/// Names that a careless link would break on lead to pages that are there: every link of every page is followed, and those of
/// the pages behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_leads_to_a_page_whatever_things_are_called() {
    let client = stores::memory().client;
    let works = Works::start(&client).await;
    Works::family(&client).await;
    Works::holding(&client).await;
    client.cancel(works.unserved, "ann <b>", NASTY).await.unwrap();
    let site = Site::new(&client, WebOptions::default().instance(NASTY));
    let (mut open, mut seen) = (vec![("/".to_owned(), String::new())], BTreeSet::from(["/".to_owned()]));
    while let Some((path, from)) = open.pop() {
        let page = site.get(&path).await;
        // A search by id leads on.
        assert!(page.status == 200 || page.status == 303, "{from} links to {path}: {} {}", page.status, page.body);
        assert!(!page.body.contains("<script>alert") && !page.body.contains("<b>\""), "{path}: {}", page.body);
        if !page.headers.get("content-type").is_some_and(|of| of.to_str().unwrap().starts_with("text/html")) {
            continue;
        }
        for link in page.body.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let link = link.replace("&amp;", "&");
            if link.starts_with('/') && seen.insert(link.clone()) {
                assert!(seen.len() < 2_000, "there is no end of links: {link}");
                open.push((link, path.clone()));
            }
        }
    }
    assert!(seen.len() > 80, "{seen:?}");
    works.worker.shutdown().await;
}

#[tokio::test]
async fn the_list_of_jobs_tells_how_many_there_are_of_what() {
    let client = stores::memory().client;
    for big in 0..3 {
        client.enqueue(&Nobody { big }).await.unwrap();
    }
    client.enqueue(&Say::ok("one")).await.unwrap();
    let site = Site::new(&client, WebOptions::default());
    let page = site.get("/jobs?queue=lonely").await.body;
    let facets = page.split("class=\"facets\"").nth(1).unwrap().split("</nav>").next().unwrap();
    for (link, count) in [("/jobs?state=ready&amp;queue=lonely", 4), ("/jobs?queue=default", 1)] {
        let after = facets.split(&format!("href=\"{link}\"")).nth(1).unwrap_or_else(|| panic!("no {link}: {facets}"));
        assert_eq!(after.split("<b>").nth(1).unwrap().split('<').next(), Some(count.to_string().as_str()), "{facets}");
    }
    // The one that is set leads back out.
    let set = facets.split("<a ").find(|link| link.contains(">lonely<")).unwrap();
    assert!(set.contains("aria-current=\"true\"") && set.contains("href=\"/jobs\""), "{set}");
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_not_sent_again() {
    let client = stores::memory().client;
    let site = Site::new(&client, WebOptions::default());
    let page = site.get("/jobs").await.body;
    let tag = page.split("data-tag=\"").nth(1).unwrap().split("\" data").next().unwrap().replace("&quot;", "\"");
    let look = || {
        let request = Request::get("/jobs").header("host", "localhost").header("x-towpath-live", "1");
        request.header("if-none-match", &tag).body(Body::empty()).unwrap()
    };
    assert_eq!(site.send(look()).await.status, 304);
    client.enqueue(&Nobody { big: 1 }).await.unwrap();
    assert_eq!(site.send(look()).await.status, 200);
}

#[tokio::test]
async fn what_is_written_as_a_page_begins_to_listen_is_told() {
    let client = stores::memory().client;
    let site = Site::new(&client, WebOptions::default());
    let mut news = site.stream("/live").await;
    assert!(news.next().await.unwrap().unwrap().ends_with(b": hello\n\n"));
    client.enqueue(&Nobody { big: 1 }).await.unwrap();
    // Well before the comment that a quiet line brings.
    let told = tokio::time::timeout(Duration::from_secs(15), news.next()).await.expect("it is told of nothing");
    assert_eq!(&told.unwrap().unwrap()[..], b"event: changed\ndata:\n\n");
}

#[tokio::test]
async fn assets_are_kept_for_good_and_named_by_what_they_hold() {
    let site = Site::new(&stores::memory().client, WebOptions::default());
    let page = site.get("/").await.body;
    let links = page.split('"').filter(|text| text.starts_with("/assets/"));
    let mut seen = 0;
    for link in links {
        let asset = site.get(link).await;
        assert_eq!(asset.status, 200, "{link}");
        assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"));
        seen += 1;
    }
    assert_eq!(seen, 2);
    assert_eq!(site.get("/assets/dashboard.000000000000.js").await.status, 404);
}

#[tokio::test]
async fn an_id_of_anything_leads_to_it() {
    let client = stores::memory().client;
    let job = client.enqueue(&Say::ok("x")).await.unwrap().id();
    let site = Site::new(&client, WebOptions::default());
    let found = site.get(&format!("/find?q=%20{job}")).await;
    assert_eq!(found.headers["location"].to_str().unwrap(), format!("/jobs/{job}"));
    assert_eq!(site.get(&format!("/find?q={}", Client::new_job_id())).await.status, 404);
}

#[cfg(feature = "metrics")]
#[tokio::test]
async fn metrics_tell_how_the_store_stands() {
    let client = stores::memory().client;
    client.enqueue(&Nobody { big: 1 }).await.unwrap();
    let mut tally = Tally::default();
    tally.ended(Counted::Succeeded, Duration::from_secs(2));
    tally.ended(Counted::Failed, Duration::from_secs(2));
    let now = client.store().schedules(None, 1).await.unwrap().now;
    // One in the minutes that are told of, one before.
    let at = [3, 30].map(|minutes| now - Duration::from_secs(60 * minutes));
    let record =
        |at| Record { at, queue: Queue::new("mail").unwrap(), kind: Kind::new("send").unwrap(), tally: tally.clone() };
    client.store().record(at.map(record).into()).await.unwrap();
    let text = Site::new(&client, WebOptions::default()).get("/metrics").await.body;
    let ran = "towpath_recent_run_seconds{queue=\"mail\",kind=\"send\",quantile=\"0.5\"} ";
    let ran = text.lines().find_map(|line| line.strip_prefix(ran)).unwrap_or_else(|| panic!("{text}"));
    assert!((1.3..=3.0).contains(&ran.parse::<f64>().unwrap()), "{ran}");
    for line in [
        "towpath_jobs{state=\"ready\"} 1",
        "towpath_queue_jobs{queue=\"lonely\",state=\"ready\"} 1",
        "towpath_queue_workers{queue=\"lonely\"} 0",
        "towpath_counters_repaired 0",
        "towpath_workers{lives=\"yes\"} 0",
        "towpath_recent_attempts{queue=\"mail\",kind=\"send\",outcome=\"succeeded\"} 1",
        "towpath_recent_attempts{queue=\"mail\",kind=\"send\",outcome=\"failed\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}
