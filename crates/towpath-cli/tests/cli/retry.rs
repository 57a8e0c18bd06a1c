//! Work that ended badly is put back on the command line.

use serde::{Deserialize, Serialize};
use towpath::{Client, Context, Failure, Job, Worker};

use crate::{Folder, wait_until};

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "halve", output = u64, attempts = 1)]
struct Halve(u64);

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_requeued_with_another_input_from_a_file() {
    let folder = Folder { store: Some("sqlite:s.db".into()), ..Folder::new() };
    let client = Client::open(&format!("sqlite:{}", folder.file("s.db").display())).await.unwrap();
    let halve = |job: Halve, _: Context| async move {
        if job.0.is_multiple_of(2) { Ok(job.0 / 2) } else { Err(Failure::new("odd")) }
    };
    let worker = Worker::builder(&client).handle(halve).start().unwrap();
    let handle = client.enqueue(&Halve(7)).await.unwrap();
    let id = handle.id().to_string();
    client.wait(handle.id()).await.unwrap();

    for (file, text) in [("bad.json", "seven"), ("eight.json", "8")] {
        std::fs::write(folder.file(file), text).unwrap();
    }
    for refused in [
        &["requeue"][..],
        &["requeue", &id, "--input", "none.json"],
        &["requeue", &id, "--input", "bad.json"],
        &["requeue", &id, &id, "--input", "eight.json"],
    ] {
        assert_eq!(folder.run(refused).code, 2, "{refused:?}");
    }
    let done = folder.run(&["requeue", &id, "--input", "eight.json", "--reason", "odd", "--actor", "ann"]);
    assert_eq!((done.code, done.stdout), (0, format!("job {id}: requeued\n")));
    wait_until("it succeeds", || folder.json(&["job", &id])["output"] == 4);
    let audit = &folder.json(&["audit"])[0];
    assert_eq!((&audit["actor"], &audit["reason"]), (&"ann".into(), &"odd".into()));

    let refused = folder.run(&["requeue", &id, "nobody", "--json"]);
    assert_eq!(refused.code, 1);
    let lines: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(lines[0]["requeued"], false);
    assert!(lines[0]["outcome"].as_str().unwrap().contains("is succeeded: say that"), "{lines}");
    assert_eq!(lines[1]["outcome"], "there is no such job or run; `towpath jobs` lists them");
    assert_eq!(folder.json(&["requeue", &id, "--even-succeeded"])[0]["requeued"], true);
    worker.shutdown().await;
}
