//! Enqueues by programs that are not Rust, inside their own transactions: psql with a trigger, and Python.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use towpath::core::State;
use towpath::inspect::{JobFilter, Page};
use towpath::{Client, End, GraphEnd, JobId, Worker, WorkerHandle};

use crate::stores::{Subject, postgres};
use crate::within::Ship;

fn worker(client: &Client) -> WorkerHandle {
    Worker::builder(client).perform::<Ship>().start().unwrap()
}

/// The address of a subject's database, and its schema.
fn place(subject: &Subject) -> (&str, &str) {
    subject.url.split_once('#').unwrap()
}

/// What a program says, and what it complains of.
fn run(command: &mut Command, input: &str) -> (String, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{:?} cannot be started: {e}", command.get_program()));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
}

/// Runs a script by psql as people do: each statement by itself unless the script begins a transaction.
fn psql(subject: &Subject, script: &str) -> (String, String) {
    let program = std::env::var("TOWPATH_TEST_PSQL").unwrap_or_else(|_| "psql".into());
    let (url, schema) = place(subject);
    let mut psql = Command::new(program);
    psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", url]);
    run(&mut psql, &script.replace("SCHEMA", schema))
}

async fn count(client: &Client) -> u64 {
    client.inspect().census().await.unwrap().jobs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn triggers_enqueue_and_cancel_in_transactions_of_psql() {
    let Some(subject) = postgres().await else { return };
    let client = &subject.client;
    let (_, complaint) = psql(
        &subject,
        r#"
        create table SCHEMA.orders (id int primary key, queue text default 'default', job uuid, is_sold_out bool);
        create function SCHEMA.ordered() returns trigger language plpgsql as $$ begin
          new.job := SCHEMA.enqueue('ship', to_jsonb(new.id), delay => '1 hour', unique_key => 'order-' || new.id);
          perform SCHEMA.enqueue_graph(jsonb_build_object('name', 'order', 'nodes', jsonb_build_array(
            jsonb_build_object('name', 'pack', 'kind', 'ship', 'input', new.id),
            jsonb_build_object('name', 'send', 'kind', 'ship', 'input', new.id, 'after', jsonb_build_array('pack')))),
            queue => new.queue);
          return new;
        end $$;
        create trigger ordered before insert on SCHEMA.orders for each row execute function SCHEMA.ordered();
        create function SCHEMA.sold_out() returns trigger language plpgsql as $$ begin
          perform SCHEMA.cancel(new.job, actor => 'shop', reason => 'sold out');
          return new;
        end $$;
        create trigger sold_out after update on SCHEMA.orders for each row when (new.is_sold_out)
          execute function SCHEMA.sold_out();
        begin;
        insert into SCHEMA.orders (id) values (1), (2);
        rollback;"#,
    );
    assert_eq!(complaint, "");
    assert_eq!(count(client).await, 0, "a rollback leaves nothing");

    let (_, complaint) = psql(&subject, "insert into SCHEMA.orders (id, queue) values (3, 'No Queue');");
    assert!(
        complaint.contains("ERROR:  queue 'No Queue' cannot be one: use 1 to 64 of a-z 0-9 . _ -"),
        "the insert is refused: {complaint}"
    );
    assert_eq!(count(client).await, 0, "what the trigger had written before is gone too");

    let (said, complaint) = psql(
        &subject,
        "begin; insert into SCHEMA.orders (id) values (4); commit; select SCHEMA.wake();
         select job from SCHEMA.orders;",
    );
    assert_eq!(complaint, "");
    let job: JobId = said.trim().parse().unwrap();
    assert_eq!(count(client).await, 2, "the job, and the graph that is to be taken in");
    let worker = worker(client);
    let graph = loop {
        match client.inspect().graphs(Default::default(), Page::default()).await.unwrap().first() {
            Some(line) => break line.id,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    let line = client.inspect().job(job).await.unwrap().unwrap().line;
    assert_eq!(line.state, State::Ready, "it waits for its hour");

    let (_, complaint) = psql(&subject, "begin; update SCHEMA.orders set is_sold_out = true; rollback;");
    assert_eq!(complaint, "");
    let (_, complaint) = psql(&subject, "update SCHEMA.orders set is_sold_out = true; select SCHEMA.wake();");
    assert_eq!(complaint, "");
    let ended = tokio::time::timeout(Duration::from_secs(60), client.wait(job)).await.expect("the cancel reaches it");
    assert_eq!(ended.unwrap().state, State::Ended(End::Cancelled));
    let intakes = JobFilter { kind: Some("towpath.intake".parse().unwrap()), ..JobFilter::default() };
    let intakes = client.inspect().jobs(intakes, Page::default()).await.unwrap();
    assert_eq!(intakes.len(), 2, "one graph and one cancel; those of rollbacks never were");
    worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_that_sql_sends_is_told_all_that_is_wrong_with_it_expressions_too() {
    let Some(subject) = postgres().await else { return };
    let client = &subject.client;
    let worker = worker(client);
    let send = |nodes: &str| {
        let graph = format!(r#"{{"name": "order", "nodes": [{{"name": "pack", "kind": "ship"}}, {nodes}]}}"#);
        psql(&subject, &format!("select SCHEMA.enqueue_graph('{graph}'); select SCHEMA.wake();"))
    };
    let intakes = || JobFilter { kind: Some("towpath.intake".parse().unwrap()), ..JobFilter::default() };
    let path = r#"{"name": "send", "kind": "ship", "if": "outputs.pack == 1"}"#;
    let field = r#"{"name": "bill", "kind": "ship", "quue": "slow"}"#;
    for (at, nodes) in [path.to_owned(), format!("{path}, {field}")].into_iter().enumerate() {
        assert_eq!(send(&nodes).1, "");
        let error = loop {
            let intakes = client.inspect().jobs(intakes(), Page::default()).await.unwrap();
            let attempts = match intakes.first().filter(|_| intakes.len() > at) {
                Some(newest) => client.inspect().attempts(newest.id).await.unwrap(),
                None => Vec::new(),
            };
            match attempts.into_iter().find_map(|attempt| attempt.error) {
                Some(error) => break error,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        let above = "node send?: branch yes: `outputs.pack == 1` reads the node pack, which is not above it";
        assert!(error.contains(above), "{error}");
        assert_eq!(error.contains("unknown field `quue`"), at == 1, "{error}");
    }
    worker.shutdown().await;
}

/// What the script in Python was told.
#[derive(Deserialize)]
struct Told {
    after_rollback: u64,
    job: JobId,
    again: JobId,
    later: JobId,
    graph: String,
    refused: (String, String),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_enqueues_in_its_own_transactions() {
    let Some(subject) = postgres().await else { return };
    let Ok(python) = std::env::var("TOWPATH_TEST_PYTHON") else {
        eprintln!("left out: Python (set TOWPATH_TEST_PYTHON to one that has psycopg, or run `cargo xtask test`)");
        return;
    };
    let client = &subject.client;
    let worker = worker(client);
    let (url, schema) = place(&subject);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/from_python.py");
    let (said, complaint) = run(Command::new(python).args([script, url, schema]), "");
    let told: Told = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}{complaint}"));
    assert_eq!(told.after_rollback, 0);
    assert_eq!(told.again, told.job, "it holds the unique key");
    let refused = "kind 'Ship' cannot be one: use 1 to 64 of a-z 0-9 . _ -";
    assert_eq!((told.refused.0.as_str(), told.refused.1.as_str()), ("22023", refused));
    assert_eq!(client.wait(told.job).await.unwrap().output.unwrap().decode::<u64>().unwrap(), 7);
    let detail = client.inspect().job(told.job).await.unwrap().unwrap();
    assert_eq!(detail.tags, ["python", "shop=7"]);
    let graph = told.graph.parse().unwrap();
    while client.inspect().graph(graph).await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(client.wait_graph(graph).await.unwrap(), GraphEnd::Succeeded);
    let ended = tokio::time::timeout(Duration::from_secs(60), client.wait(told.later)).await;
    assert_eq!(ended.expect("the cancel reaches it").unwrap().state, State::Ended(End::Cancelled));
    let graphs = client.inspect().graphs(Default::default(), Page::default()).await.unwrap();
    assert_eq!(graphs.len(), 1, "that of the rollback never was");
    worker.shutdown().await;
}
