//! The plan of every statement on the path of work, on tables that are filled and analysed: which index it uses.
//!
//! The plans are kept as text, reduced to the nodes that read or sort; `INSTA_UPDATE=always` writes new ones. Other
//! versions of the server than the one they were kept from are only asked not to read a table whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use towpath_core::store::Inspect;
use towpath_core::{JobId, Store};

use crate::queries::{Queries, Query, in_schema};
use crate::{PostgresOptions, PostgresStore};

/// The version that the snapshots are of.
const VERSION: &str = "15";

/// Each with arguments as a turn, a client or maintenance would give them; and the list of people that pages through a name.
const HOT: [(Query, &str); 25] = [
    (
        Query::EnqueueJobs,
        "1, null, array_agg(gen_random_uuid()), array_agg(1), array_agg(0), null, null, null, null, null, null, \
         array_agg(0), array_agg(''::bytea), null, null, null",
    ),
    (Query::TurnStart, "uuid_at(3)"),
    (Query::SettleLook, "keys(41000, 200)"),
    (Query::SettlePlain, "9, 3, 3, keys(41000, 200), 0::smallint, 1, 0, 0, 99"),
    (Query::LockNodes, "keys(60000, 50)"),
    (Query::CountChildren, "keys(60000, 50), 0, false"),
    (Query::ReleaseReady, "9, keys(60000, 50), true"),
    (Query::ReleaseHold, "keys(60000, 50)"),
    (Query::ReleaseLease, "9, 3, 9, 0, keys(60000, 50), array_fill(1::smallint, array[50])"),
    (Query::TakeUndecided, "9, 3, 9, 0, 512"),
    (Query::TakeOverdue, "9, 3, 9, 0, 512"),
    (Query::Promote, "5000, 2048"),
    (
        Query::Claim,
        "9, 3, 9, '{0}', 2048, '{1,1}', '{default,default}', '{k1,k2}', '{1,1}', '{100}', '{}', '{}', '{}', '{}', '{0,0}'",
    ),
    (
        Query::ClaimFreed,
        "9, 3, 9, '{0}', 2048, '{1,1}', '{default,default}', '{k1,k2}', '{1,1}', '{100}', '{}', '{}', '{}', '{}', '{0,0}', \
         keys(60000, 50)",
    ),
    (
        Query::EndHeld,
        "uuid_at(3), keys(41000, 50), array_fill(3::bigint, array[50]), array_fill(1, array[50]), \
         array_fill(0::smallint, array[50]), null, array_fill(1, array[50]), array_fill(0, array[50]), \
         array_fill(0, array[50]), null, null, null",
    ),
    (
        Query::StepHeld,
        "uuid_at(3), 9, ''::bytea, keys(41000, 50), array_fill(3::bigint, array[50]), array_fill(1, array[50]), \
         array_fill(1, array[50]), keys(41000, 50), array_fill(0, array[50]), array_fill(0::smallint, array[50]), \
         array_fill(''::bytea, array[50])",
    ),
    (Query::Held, "3, 3, 0, 100"),
    (Query::TurnFinish, "3, 9, ''::bytea"),
    (Query::Beat, "uuid_at(3), 3, 'w', '', '', '', 1, 1, 1, '[]', '{}', 10000000"),
    (Query::HeldBy, "3"),
    (Query::HandBackLock, "3, keys(41000, 50)"),
    (Query::RescueTake, "3, 9, '{4,5}', 100"),
    (Query::PruneJobs, "1000"),
    (Query::PruneFind, ""),
    (Query::GraphListNamed, "1400, 20, 'g2', null"),
];

/// Rows as a busy store has them: 40,000 ready, 4,000 later, 4,000 running of 20 workers, 40,000 ended, 500 graphs.
const FILL: &str = "
insert into towpath.lane (queue, kind, version) select 'default', 'k' || n, 1 from generate_series(1, 5) n;
insert into towpath.worker (worker, incarnation, turn, settled, name, machine, boot, pid_namespace, pid, started, build,
    queues, registered_at)
  select n, lpad(to_hex(n), 32, '0')::uuid, 3, '', 'w', '', '', '', n, n, 1, '[]', 1 from generate_series(1, 20) n;
insert into towpath.lease (worker, until_at) select n, 10 from generate_series(1, 20) n;
insert into towpath.job (key, enqueued_at, id, lane, priority, codec, input, graph)
  select n, n, gen_random_uuid(), 1 + n % 5, 0, 0, '', case when n >= 60000 then 1 + (n - 60000) / 20 end
  from generate_series(1, 90000) n;
insert into towpath.ready (seq, job, lane, turnout, attempt, failures, crashes)
  select n, n, 1 + n % 5, 0, 0, 0, 0 from generate_series(1, 40000) n;
insert into towpath.running (job, worker, turn, started_at, idx, lane, turnout, attempt, failures, crashes, decide, id)
  select n, 1 + n % 20, 3, 1, n % 200, 1 + n % 5, 0, 1, 0, 0, 0, gen_random_uuid() from generate_series(41000, 44999) n;
insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
  select n, n, 1, 0, 0, 0, 0 from generate_series(45000, 48999) n;
insert into towpath.deadline (job, at) select n, n from generate_series(45000, 46999) n;
insert into towpath.ended (job, ended_at, prune_at, attempt, failures, crashes, state)
  select n, n, 9000000000000000 + n, 1, 0, 0, 0 from generate_series(49000, 59999) n;
insert into towpath.graph (graph, id, name, nodes, edges, created_at)
  select n, gen_random_uuid(), 'g' || n % 12, 20, 40, 1 from generate_series(1, 1500) n;
insert into towpath.node (job, graph, name, role, need, eager, phase, \"left\", ok, untaken, spoiled, depth)
  select n, 1 + (n - 60000) / 20, 'n' || n, 0, 1, false, 0, 1, 0, 0, 0, 0 from generate_series(60000, 89999) n;
insert into towpath.edge (parent, ord, child, verdicts)
  select n, o, n + o, 0 from generate_series(60000, 89990) n, generate_series(1, 2) o;
insert into towpath.undecided (job) select n from generate_series(60000, 60099) n;
insert into towpath.stop (graph, reason, at, actor, why) select n, 0, 1, 'ann', '' from generate_series(1, 10) n;
create function towpath.keys(first bigint, many int) returns bigint[] language sql immutable
  as $$ select array_agg(n) from generate_series(first, first + many - 1) n $$;
create function towpath.uuid_at(n int) returns uuid language sql immutable as $$ select lpad(to_hex(n), 32, '0')::uuid $$;
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_statement_on_the_path_of_work_uses_its_index() {
    let Some(url) = std::env::var("TOWPATH_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
        println!("LEFT OUT: PostgreSQL, because TOWPATH_TEST_POSTGRES names no cluster");
        return;
    };
    let schema = format!("plans_{}", std::process::id());
    let store = PostgresStore::connect(&url, PostgresOptions::default().schema(&schema)).unwrap();
    store.drop_schema().await.unwrap();
    store.migrate().await.unwrap();
    let name = format!("\"{schema}\"");
    for text in FILL.split(";\n").filter(|text| !text.trim().is_empty()) {
        store.ask(in_schema(text, &schema)).await.unwrap();
    }
    for table in ["ready", "running", "later", "deadline", "ended", "job", "node", "edge", "graph", "undecided", "lane"]
    {
        store.ask(format!("analyze {name}.{table}")).await.unwrap();
    }
    let version = store.ask("show server_version").await.unwrap().unwrap();
    let queries = Queries::new(&schema);
    let mut whole = Vec::new();
    let mut text = String::new();
    for (query, arguments) in HOT {
        for mode in ["custom", "generic"] {
            let plan = plan(&store, &schema, queries.text(query), query, arguments, mode).await;
            let reads = reads(&plan);
            whole.extend(reads.iter().filter(|read| is_whole(read)).map(|read| format!("{query:?}, {mode}: {read}")));
            if mode == "custom" {
                let _ = writeln!(text, "{}", query.name());
                for read in &reads {
                    let _ = writeln!(text, "  {read}");
                }
            }
        }
    }
    store.drop_schema().await.unwrap();
    assert!(whole.is_empty(), "tables that grow are read whole:\n{}", whole.join("\n"));
    if version.starts_with(VERSION) {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!("plans", text) });
    }
}

/// What a header says is what `docs/schema.md` prints.
#[tokio::test]
async fn the_headers_name_the_indexes_of_the_plans() {
    let Some(bench) = super::Bench::new().await else { return };
    let schema = &bench.schema;
    let version = bench.store.ask("show server_version").await.unwrap().unwrap();
    if !version.starts_with(VERSION) {
        println!("LEFT OUT: the plans are of PostgreSQL {VERSION}, this is {version}");
        return;
    }
    let queries = Queries::new(schema);
    let mut wrong = Vec::new();
    // These read tables whole, each by its smallest index.
    for query in Query::ALL
        .iter()
        .copied()
        .filter(|query| ![Query::Census, Query::PatchList, Query::VersionList].contains(query))
    {
        let nothing = vec!["null"; query.types().len()].join(", ");
        let plan = explained(&bench.store, queries.text(query), query, &nothing, "generic").await;
        let header = header(query);
        for read in reads(&plan) {
            let index = read.rsplit(' ').next().unwrap();
            let text = format!(
                "select tablename || substring(indexdef from ' USING btree( [(][^)]*[)])') from pg_indexes \
                 where schemaname = '{schema}' and indexname = '{index}'"
            );
            let Some(described) = bench.store.ask(text).await.unwrap() else { continue };
            if !header.contains(&described.replace('"', "")) {
                wrong.push(format!("{query:?}: {read}: {described}"));
            }
        }
    }
    bench.finish().await;
    assert!(wrong.is_empty(), "indexes that no header names:\n{}", wrong.join("\n"));
}

/// A wait looks at what it waits for, so a thousand waits look a thousand times: planning that takes longer than it does.
#[tokio::test]
async fn a_look_at_one_job_is_planned_once() {
    if std::env::var_os("TOWPATH_TEST_POOLER").is_some() {
        println!("LEFT OUT: through a pooler no plan is kept");
        return;
    }
    let Some(bench) = super::Bench::new().await else { return };
    for _ in 0..7 {
        bench.store.job(JobId::from_bytes([1; 16])).await.unwrap();
    }
    let asked = "select sum(generic_plans) || ' kept, ' || sum(custom_plans) || ' anew' from pg_prepared_statements \
                 where statement like '%tags_now%'";
    let plans = bench.store.ask(asked).await.unwrap();
    bench.finish().await;
    assert_eq!(plans.as_deref(), Some("7 kept, 0 anew"));
}

/// A retry counts a whole graph again: what it costs grows with the graph, not with its square.
#[tokio::test]
async fn a_graph_is_counted_again_without_comparing_all_nodes_with_all() {
    // Every counter but the first is wrong.
    compares_few(
        Query::Recount,
        "1",
        "insert into towpath.node (job, graph, name, role, need, eager, phase, \"left\", ok, untaken, spoiled, depth)
           select n, 1, 'n' || n, 0, 1, false, 0, case n when 1 then 0 else 5 end, 0, 0, 0, 0 from generate_series(1, 2000) n;
         insert into towpath.edge (parent, ord, child, verdicts) select 1, n, n, 0 from generate_series(2, 2000) n",
    )
    .await;
}

#[tokio::test]
async fn patches_are_listed_without_comparing_all_lines_with_all_runs() {
    compares_few(
        Query::PatchList,
        "",
        "insert into towpath.lane (queue, kind, version) values ('default', 'k', 1);
         insert into towpath.job (key, enqueued_at, id, lane, priority, codec, input, run)
           select n, n, gen_random_uuid(), (select min(lane) from towpath.lane), 0, 0, '', true from generate_series(1, 2000) n;
         insert into towpath.run (job, id, chapter, entries) select n, 'r' || n, 0, 1 from generate_series(1, 2000) n;
         insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
           select n, n, (select min(lane) from towpath.lane), 0, 0, 0, 0 from generate_series(1, 2000) n;
         insert into towpath.entry (run, chapter, seq, codec, at, bytes)
           select n, 0, 0, 0, 1, convert_to('{\"patched\":\"p\"}', 'UTF8') from generate_series(1, 2000) n",
    )
    .await;
}

/// Carries out a statement on 2,000 rows that no statistics know of, and counts what its joins have compared in vain.
async fn compares_few(query: Query, arguments: &str, fill: &str) {
    let Some(bench) = super::Bench::new().await else { return };
    bench.session().await.batch(&in_schema(fill, &bench.schema)).await.unwrap();
    let queries = Queries::new(&bench.schema);
    let how = ("generic", ", analyze, timing off");
    let plan = explained_or_run(&bench.store, queries.text(query), query, arguments, how).await;
    bench.finish().await;
    let removed = plan.split("Rows Removed by Join Filter\": ").skip(1);
    let compared: u64 =
        removed.map(|rest| rest.split([',', '\n']).next().unwrap().trim().parse::<u64>().unwrap()).sum();
    assert!(plan.contains("\"Actual Rows\": 2000") || plan.contains("\"Actual Rows\": 1999"), "{plan}");
    assert!(compared < 20_000, "{compared} rows were compared in vain:\n{plan}");
}

fn header(query: Query) -> String {
    let lines = query.source().lines().filter(|line| line.starts_with("--"));
    lines.map(|line| line.trim_start_matches("--").trim()).collect::<Vec<_>>().join(" ")
}

/// The plan as the store would have it made: within its settings, for these values or for any.
async fn plan(store: &PostgresStore, schema: &str, text: &str, query: Query, arguments: &str, mode: &str) -> String {
    let arguments = evaluated(store, schema, arguments, &types(query)).await;
    explained(store, text, query, &arguments, mode).await
}

/// The names of the types of its parameters.
fn types(query: Query) -> Vec<String> {
    let types: Vec<String> = query.types().iter().map(|kind| kind.name().replace('_', "")).collect();
    let named = types.iter().zip(query.types());
    named.map(|(name, kind)| if kind.name().starts_with('_') { format!("{name}[]") } else { name.clone() }).collect()
}

async fn explained(store: &PostgresStore, text: &str, query: Query, arguments: &str, mode: &str) -> String {
    explained_or_run(store, text, query, arguments, (mode, "")).await
}

async fn explained_or_run(
    store: &PostgresStore,
    text: &str,
    query: Query,
    arguments: &str,
    (mode, analyze): (&str, &str),
) -> String {
    let types = types(query);
    let (types, call) = match query.types().len() {
        0 => (String::new(), "execute it".to_owned()),
        _ => (format!("({})", types.join(", ")), format!("execute it({arguments})")),
    };
    // One call is one batch, so that it all happens on one connection.
    let text = format!(
        "begin; set local enable_seqscan to off; set local enable_hashjoin to off; set local enable_mergejoin to off; \
         set local jit to off; set local plan_cache_mode to force_{mode}_plan; prepare it{types} as {text}; \
         explain (format json, costs off{analyze}) {call}; rollback; deallocate it"
    );
    store.ask(text).await.unwrap().unwrap_or_default()
}

/// Arguments of an `execute` may not contain aggregates or look anything up: they are worked out first.
async fn evaluated(store: &PostgresStore, schema: &str, arguments: &str, types: &[String]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let arguments = arguments.replace("keys(", &format!("\"{schema}\".keys("));
    let arguments = arguments.replace("uuid_at(", &format!("\"{schema}\".uuid_at("));
    let mut values = Vec::new();
    let columns = types.len();
    for (at, kind) in types.iter().enumerate() {
        let names: Vec<String> = (0..columns).map(|n| format!("c{n}")).collect();
        let text = format!(
            "select coalesce(quote_literal(c{at}::{kind}::text), 'null') from (select {arguments} from generate_series(1, 100)) \
             as a({})",
            names.join(", ")
        );
        values.push(store.ask(text).await.unwrap().unwrap_or_else(|| "null".into()));
    }
    values.join(", ")
}

/// The nodes that read a table or sort, by depth first, each with its index.
fn reads(plan: &str) -> Vec<String> {
    let plan: serde_json::Value = serde_json::from_str(plan).unwrap_or_else(|e| panic!("{e}: {plan}"));
    let mut reads = Vec::new();
    walk(&plan[0]["Plan"], &mut reads);
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    reads.retain(|read| {
        let seen = times.entry(read.clone()).or_default();
        *seen += 1;
        *seen == 1
    });
    reads
}

fn walk(node: &serde_json::Value, reads: &mut Vec<String>) {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let kind = text("Node Type");
    match (kind, text("Relation Name"), text("Index Name")) {
        ("ModifyTable", table, _) => reads.push(format!("{} {table}", text("Operation"))),
        ("Sort" | "Incremental Sort" | "Hash Join" | "Merge Join", ..) => reads.push(kind.to_owned()),
        (_, "", "") => {}
        (_, table, "") => reads.push(format!("{kind} {table}")),
        (_, table, index) => reads.push(format!("{kind} {table} {index}").replace("  ", " ")),
    }
    node["Plans"].as_array().into_iter().flatten().for_each(|child| walk(child, reads));
}

/// Whether a table that grows is read from end to end. A few workers, lanes and stops are.
fn is_whole(read: &str) -> bool {
    let small = ["worker", "lane", "stop", "lease", "undecided"];
    read.strip_prefix("Seq Scan ").is_some_and(|table| !small.contains(&table))
}
