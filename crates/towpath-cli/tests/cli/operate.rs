//! What operators do to queues and to jobs.

use serde::{Deserialize, Serialize};
use towpath::{Client, Job};

use crate::Folder;

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "greet", queue = "mail")]
struct Greet;

async fn folder() -> (Folder, Client) {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    (folder, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_and_resumed_and_says_by_whom() {
    let (folder, client) = folder().await;
    client.enqueue(&Greet).await.unwrap();
    let paused = folder.run(&["queues", "pause", "mail", "--actor", "ann", "--reason", "no relay"]);
    assert_eq!((paused.code, paused.stdout.as_str()), (0, "queue mail: paused\n"), "{}", paused.stderr);
    let line = folder.json(&["queues"])[0].clone();
    assert_eq!((&line["queue"], &line["ready"]), (&"mail".into(), &1.into()));
    assert_eq!((&line["paused"]["actor"], &line["paused"]["why"]), (&"ann".into(), &"no relay".into()));
    assert!(folder.run(&["queues"]).stdout.contains("by ann: no relay"));
    assert_eq!(folder.json(&["queues", "resume", "mail"])["paused"], false);
    assert!(folder.json(&["queues"])[0]["paused"].is_null());
    let audit = folder.json(&["audit"]);
    assert_eq!((&audit[1]["action"], &audit[1]["target"]), (&"pause".into(), &"mail".into()));
    let wrong = folder.run(&["queues", "pause", "Not A Queue"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
}
