//! Every limit, in one place. Each is checked before anything is written.

use std::time::Duration;

/// Longest kind, queue or branch label, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;
/// Longest name of a node or a graph, in bytes.
pub const NODE_NAME_BYTES_MAX: usize = 128;
/// Longest id of a run, in bytes.
pub const RUN_ID_BYTES_MAX: usize = 200;
/// Longest time for which the id of a run stays taken after its end: ten years. What is kept meanwhile is one narrow row.
pub const KEEP_ID_MAX: Duration = Duration::from_secs(3_650 * 24 * 3_600);
/// Longest unique key, in bytes.
pub const UNIQUE_KEY_BYTES_MAX: usize = 256;
/// Longest dedup key of a signal, in bytes.
pub const DEDUP_KEY_BYTES_MAX: usize = 256;
/// Largest input, output, graph input or signal, in bytes, and largest outcome of a step.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 20;
/// Largest entry of a journal, in bytes: a payload, with what it is the outcome of.
pub const ENTRY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + (4 << 10);
/// Largest enqueue, turn or batch of signals, in bytes of its payloads and names.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Longest error text of an attempt, in bytes; longer ones are cut.
pub const ERROR_BYTES_MAX: usize = 8 << 10;
/// Largest log of an attempt, in bytes: its head and its tail.
pub const LOG_BYTES_MAX: usize = 64 << 10;
/// Most nodes of a graph, unless the client has another limit ([`GraphLimits`](crate::GraphLimits)); the hidden `end` is not
/// counted.
pub const GRAPH_NODES_MAX: usize = 20_000;
/// Most edges of a graph, unless the client has another limit; those to the hidden `end` are not counted.
pub const GRAPH_EDGES_MAX: usize = 100_000;
/// Most nodes that a client may allow: an enqueue is one transaction, and a view of the graph one answer.
pub const GRAPH_NODES_CEILING: usize = 100_000;
/// Most edges that a client may allow.
pub const GRAPH_EDGES_CEILING: usize = 1_000_000;
/// Most jobs in one claim.
pub const CLAIM_MAX: u16 = 2_048;
/// Most outcomes in one turn.
pub const SETTLE_MAX: usize = 4_096;
/// Most undecided nodes handed to a worker in one turn; the rest waits in the store.
pub const DECISIONS_MAX: u16 = 512;
/// Most undos that one decision of a graph's `end` starts or passes over.
pub const UNDOS_MAX: u16 = 500;
/// Lines of a journal from which people are warned.
pub const JOURNAL_WARN: u32 = 10_000;
/// Most lines of a journal; a run that would write more is blocked.
pub const JOURNAL_MAX: u32 = 200_000;
/// Most arrivals kept of one run; who signals it beyond them is refused.
pub const INBOX_MAX: u32 = 10_000;
/// Most journal entries or arrivals in one page.
pub const PAGE_MAX: u32 = 1_000;
/// Tags of a job, and the longest of them in bytes.
pub const TAGS_MAX: usize = 32;
/// Longest tag, in bytes.
pub const TAG_BYTES_MAX: usize = 128;
/// Largest blob: an input or output that is kept elsewhere, in bytes.
pub const BLOB_BYTES_MAX: usize = 64 << 20;
/// How much of a blob its reference shows, in bytes.
pub const BLOB_PREVIEW_BYTES: usize = 1 << 10;
/// Marks of a job: what it keeps across its attempts.
pub const MARKS_MAX: usize = 1_000;
/// Longest name of a mark, in bytes: the name of a step or cursor, and which of the two it is.
pub const MARK_NAME_BYTES_MAX: usize = 160;
/// Longest message of a progress, in bytes; longer ones are cut.
pub const PROGRESS_BYTES_MAX: usize = 512;
/// Tags that one look lists at most, and up to how many jobs of each are counted.
pub const TAGS_LISTED_MAX: u32 = 100;
/// Jobs of one tag that are counted; a count that reaches it means that or more.
pub const TAG_JOBS_COUNTED_MAX: u32 = 1_000;
/// Largest headers of a job, in bytes of JSON.
pub const HEADERS_BYTES_MAX: usize = 4 << 10;
/// Attempts kept of a job: the first one and this many of the newest.
pub const ATTEMPTS_KEPT_NEWEST: u32 = 19;
/// Longest text of a schedule's spec, in bytes: every minute of the hour listed one by one fits.
pub const SPEC_BYTES_MAX: usize = 512;
/// Most items in one field of a cron expression.
pub const SPEC_ITEMS_MAX: usize = 60;
/// Longest period of `@every`, in seconds: 366 days.
pub const EVERY_SECONDS_MAX: i64 = 366 * 86_400;
/// Years in which the next tick is looked for. The rarest rule, five Mondays in a February, comes again within 40.
pub const TICK_YEARS_MAX: i16 = 50;
/// Most missed ticks that one look at a schedule catches up.
pub const BACKFILL_MAX: u8 = 100;
/// Most ticks in time that one look at a schedule takes; the next look, at once, takes the others.
pub const TICKS_LOOK_MAX: usize = 100;
/// Most schedules in one look.
pub const SCHEDULE_LOOK_MAX: u32 = 100;
/// Spans of skipped ticks that are kept of a schedule: the newest.
pub const SCHEDULE_SPANS_KEPT: usize = 20;
/// Records of what was counted that are taken at a time.
pub const RECORDS_MAX: usize = 1_000;
/// Tallies that are listed at most: a day in quarters of an hour, of 500 kinds and queues.
pub const TALLIES_MAX: u32 = 50_000;
/// Streams of one run that are listed.
pub const STREAMS_MAX: u32 = 100;
/// Jobs that a schedule remembers to have minted: the newest.
pub const SCHEDULE_MINTED_KEPT: usize = 10;
/// Up to how many skipped ticks are counted one by one; of more, this many and "or more" is known.
pub const TICKS_COUNTED_MAX: u32 = 100;
/// Nodes that one order re-arms at most: short transactions.
pub const REARM_MAX: usize = 500;
/// Edges that one look at a graph which is retried adds at most, for nodes that wait for others over some that stay.
pub const BEHIND_MAX: usize = 100_000;
/// Most attempts of a graph whose rules retry it.
pub const GRAPH_ATTEMPTS_MAX: u32 = 1_000;
/// Retries that one look for interrupted ones finds at most.
pub const RETRIES_LOOK_MAX: u32 = 100;
/// The longest delay of a job, a hundred years: a longer one is a mistake.
pub const DELAY_MAX: Duration = Duration::from_secs(36_525 * 86_400);
/// Stopped graphs that one look lists at most.
pub const STOPS_LOOK_MAX: u32 = 100;
/// Nodes of a stopped graph that are listed at a time, to be settled.
pub const SETTLEABLE_MAX: u32 = 10_000;
/// Nodes of a stopped graph that one transaction settles at most.
pub const SETTLE_STOPPED_MAX: u32 = 500;
/// Graphs that one look of a sweeper counts again.
pub const SWEEP_GRAPHS_MAX: u32 = 1_000;
/// Nodes and edges of them, one graph at least: some tenths of a second of a server's time.
pub const SWEEP_SIZE_MAX: u32 = 50_000;
/// Most elements of a list that a node goes through, unless the worker's client has another limit.
pub const MAP_ELEMENTS_MAX: usize = 20_000;
/// Most elements that a client may allow: what they leave must still fit into one output.
pub const MAP_ELEMENTS_CEILING: usize = 100_000;
/// Most elements of such a node at work at once: each of them is part of what its run is rebuilt from.
pub const MAP_CONCURRENCY_MAX: u32 = 1_000;
/// How deep graphs may stand inside graphs, unless the client has another limit.
pub const GRAPH_DEPTH_MAX: usize = 8;
/// How deep a client may allow them to stand: each is read and judged within the one before.
pub const GRAPH_DEPTH_CEILING: usize = 32;

/// Longest expression of a condition, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 1 << 10;
/// Most branches of a gate whose branches are expressions.
pub const BRANCHES_MAX: usize = 64;

/// Cuts a text to at most `max` bytes at a character boundary, and says that it did.
pub fn cut(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let note = format!(" … ({} bytes in all)", text.len());
    let mut end = max.saturating_sub(note.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{note}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_text_is_cut_within_its_limit_and_says_so() {
        let long = "ü".repeat(6_000);
        let short = cut(&long, 8 << 10);
        assert!(short.len() <= 8 << 10);
        assert!(short.ends_with("(12000 bytes in all)"));
        assert_eq!(cut("brief", 8), "brief");
    }
}
