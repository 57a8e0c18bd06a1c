//! What handlers say of their jobs while they work, as the API and the pages show it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use towpath::{Context, Failure, Job, Progress, Worker};
use towpath_web::WebOptions;

use crate::site::Site;
use crate::stores::{Subject, on_every_store};

on_every_store!(a_job_shows_how_far_it_is_its_tags_and_what_it_keeps);

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "import", tag = "imports")]
struct Import;

async fn a_job_shows_how_far_it_is_its_tags_and_what_it_keeps(subject: Subject) {
    let site = Site::new(&subject.client, WebOptions::default());
    let handler = |_: Import, cx: Context| async move {
        cx.cursor::<u32>("rows").await?.set(&3).await?;
        cx.tag("<b>").await?;
        cx.progress(Progress::of(3, 12).say("<i>rows</i>"));
        Err::<(), _>(Failure::permanent("no relay"))
    };
    let worker = Worker::builder(&subject.client).handle(handler).start().unwrap();
    let job = subject.client.job(&Import).tag_value("customer", 7).await.unwrap().id();
    subject.client.wait(job).await.unwrap();
    worker.shutdown().await;
    subject.client.job(&Import).await.unwrap();

    let shown = site.json(&format!("/api/jobs/{job}")).await;
    assert_eq!(shown["tags"], json!(["imports", "customer=7", "<b>"]));
    assert_eq!(
        (&shown["keeps"][0]["name"], &shown["keeps"][0]["value"]),
        (&json!("cursor/rows"), &json!({ "json": 3 }))
    );
    let said = &shown["progress"];
    assert_eq!((&said["fraction"], &said["done"], &said["total"]), (&json!(0.25), &json!(3), &json!(12)));
    assert_eq!((&said["message"], &said["attempt"]), (&json!("<i>rows</i>"), &json!(1)));
    let found = site.json("/api/jobs?tag=imports,customer%3D7").await;
    assert_eq!(found["items"].as_array().unwrap().iter().map(|job| &job["id"]).collect::<Vec<_>>(), [&shown["id"]]);
    assert_eq!(site.json("/api/jobs/many?do=requeue&tag=customer%3D7").await["count"], 1);
    let tags = site.json("/api/tags?limit=2").await;
    assert_eq!(tags["items"][1], json!({ "tag": "customer=7", "jobs": 1, "may_be_more": false }));
    let rest = site.json(&format!("/api/tags?after={}", tags["next"].as_str().unwrap().replace('=', "%3D"))).await;
    assert_eq!(rest["items"], json!([{ "tag": "imports", "jobs": 2, "may_be_more": false }]));
    assert_eq!(site.json("/api/tags?prefix=zz").await["items"], json!([]));

    let page = site.get(&format!("/jobs/{job}")).await.body;
    assert!(page.contains("<progress aria-label=\"Progress\" max=\"1\" value=\"0.25\">"), "{page}");
    assert!(page.contains("3 of 12 (25 %): &lt;i&gt;rows&lt;/i&gt;"), "{page}");
    assert!(page.contains("tag=customer%3D7"), "{page}");
    let list = site.get("/jobs?tag=customer%3D7").await.body;
    assert_eq!(list.matches("<tr data-key").count(), 1, "{list}");
    assert!(list.contains("&lt;b&gt; (1)"), "{list}");
}
