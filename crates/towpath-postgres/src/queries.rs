//! Every statement with its parameter types, read from `queries/` and addressed to a schema.

use tokio_postgres::types::Type;

/// The texts of all statements, for one schema.
pub(crate) struct Queries {
    texts: Vec<String>,
}

impl Queries {
    /// The statements with `towpath.` replaced by the schema, and without their headers.
    pub(crate) fn new(schema: &str) -> Self {
        let texts = TABLE.iter().map(|(text, _)| in_schema(&without_header(text), schema)).collect();
        Self { texts }
    }

    pub(crate) fn text(&self, query: Query) -> &str {
        &self.texts[query as usize]
    }
}

impl Query {
    /// How many there are.
    pub(crate) const COUNT: usize = TABLE.len();

    /// The text of its file.
    #[cfg(test)]
    pub(crate) fn source(self) -> &'static str {
        TABLE[self as usize].0
    }

    /// The types of its parameters. They are always declared: a statement without a name has them
    /// nowhere else.
    pub(crate) fn types(self) -> &'static [Type] {
        TABLE[self as usize].1
    }
}

/// Addresses a text to a schema.
pub(crate) fn in_schema(text: &str, schema: &str) -> String {
    text.replace("towpath.", &format!("{}.", quoted(schema)))
}

/// A name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn without_header(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n")
}

macro_rules! queries {
    ($($name:ident = $file:literal $(+ $rest:literal)? ($($kind:ident),*);)*) => {
        /// A statement: the file of its name in `queries/`, and of some a second one behind it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Query {
            $($name,)*
        }

        impl Query {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name of its file.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $file,)*
                }
            }
        }

        const TABLE: &[(&str, &[Type])] = &[
            $((concat!(include_str!(concat!("../queries/", $file, ".sql")) $(, include_str!(concat!("../queries/", $rest, ".sql")))?), &[$(Type::$kind),*]),)*
        ];
    };
}

queries! {
    Ancestors = "ancestors" (UUID, BOOL, TEXT, TEXT, INT4);
    AppendLeft = "append_left" (INT8);
    AppendLockEnd = "append_lock_end" (UUID);
    AppendLockFirst = "append_lock_first" (INT8_ARRAY, UUID_ARRAY, TEXT_ARRAY);
    AppendLockGraph = "append_lock_graph" (UUID);
    AppendLockNodes = "append_lock_nodes" (UUID, TEXT_ARRAY);
    AppendLockUndecided = "append_lock_undecided" (UUID);
    AppendLook = "append_look" (INT8, TEXT_ARRAY);
    AppendReopen = "append_reopen" (INT8, INT8, INT4, INT4, INT4, INT8);
    ArrivalList = "arrival_list" (TEXT, INT8, INT4);
    AskCancel = "ask_cancel" (INT8_ARRAY, TEXT_ARRAY);
    AttemptList = "attempt_list" (UUID);
    Audit = "audit" (INT8, TEXT, TEXT, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY);
    AuditList = "audit_list" (INT8, INT4);
    AuditOf = "audit_of" (TEXT, INT8, INT4);
    Beat = "beat" (UUID, INT8, TEXT, TEXT, TEXT, TEXT, INT8, INT8, INT8, TEXT, TEXT, INT8);
    BlobDelete = "blob_delete" (TEXT_ARRAY);
    BlobGet = "blob_get" (TEXT);
    BlobList = "blob_list" (TEXT, INT4);
    BlobPut = "blob_put" (TEXT, BYTEA);
    Census = "census" ();
    Claim = "claim" + "claim_hold" (
        INT8, INT8, INT8, INT4_ARRAY, INT4, INT4_ARRAY, TEXT_ARRAY, TEXT_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY,
        INT4_ARRAY, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY
    );
    ClaimFreed = "claim_freed" + "claim_hold" (
        INT8, INT8, INT8, INT4_ARRAY, INT4, INT4_ARRAY, TEXT_ARRAY, TEXT_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY,
        INT4_ARRAY, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT8_ARRAY
    );
    ClaimLook = "claim_look" (TEXT, TEXT_ARRAY, INT4_ARRAY, INT4, INT4_ARRAY);
    ClaimOne = "claim_one" (INT8, INT8, INT8, INT4, INT4, INT4, INT8);
    Clock = "clock" ();
    CountChildren = "count_children" (INT8_ARRAY, INT4, BOOL);
    DrawKeys = "draw_keys" (INT4);
    EditJobs = "edit_jobs" (INT8_ARRAY, INT2_ARRAY, INT2_ARRAY, BYTEA_ARRAY, INT8_ARRAY);
    EditPlace = "edit_place" (INT8, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT8_ARRAY, INT8_ARRAY);
    EditTake = "edit_take" (INT8_ARRAY);
    EditWaiting = "edit_waiting" (INT8_ARRAY);
    EndCounts = "end_counts" (INT8_ARRAY);
    EndHeld = "end_held" (
        UUID, INT8_ARRAY, INT8_ARRAY, INT4_ARRAY, INT2_ARRAY, TEXT_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, TEXT_ARRAY,
        INT2_ARRAY, BYTEA_ARRAY
    );
    EndTries = "end_tries" (INT8_ARRAY);
    EndUndos = "end_undos" (INT8_ARRAY, INT4);
    Ended = "ended" (UUID_ARRAY);
    EnqueueJobs = "enqueue_jobs" (
        INT8, INT8_ARRAY, UUID_ARRAY, INT4_ARRAY, INT2_ARRAY, INT8_ARRAY, INT8_ARRAY, INT8_ARRAY, TEXT_ARRAY,
        TEXT_ARRAY, TEXT_ARRAY, INT2_ARRAY, BYTEA_ARRAY, INT8_ARRAY, BYTEA_ARRAY, BOOL_ARRAY
    );
    EnqueueItems = "enqueue_items" (TEXT, INT8);
    EnqueuedIn = "enqueued_in" (TEXT);
    EntryList = "entry_list" (UUID, INT4, INT8, INT4);
    ExistingGraphs = "existing_graphs" (UUID_ARRAY);
    ExistingJobs = "existing_jobs" (UUID_ARRAY);
    ExistingNodes = "existing_nodes" (INT8);
    ExistingRuns = "existing_runs" (TEXT_ARRAY);
    FindGraph = "find_graph" (UUID);
    FindJobs = "find_jobs" (UUID_ARRAY);
    GraphEdges = "graph_edges" (INT8);
    GraphInput = "graph_input" (UUID);
    GraphList = "graph_list" (INT8, INT4, UUID, INT2);
    GraphListNamed = "graph_list_named" (INT8, INT4, TEXT, INT2);
    GraphListOpen = "graph_list_open" (INT8, INT4, TEXT);
    GraphListOther = "graph_list_other" (INT8, INT4, INT2, TEXT);
    GraphNodes = "graph_nodes" (INT8);
    HandBack = "hand_back" (INT8_ARRAY);
    HandBackLock = "hand_back_lock" (INT8, INT8_ARRAY);
    Held = "held" (INT8, INT8, INT4, INT4);
    HeldBy = "held_by" (INT8);
    InsertEdges = "insert_edges" (INT8_ARRAY, INT4_ARRAY, INT8_ARRAY, INT4_ARRAY, TEXT_ARRAY);
    InsertGraphs = "insert_graphs" (
        INT8, INT8_ARRAY, UUID_ARRAY, TEXT_ARRAY, TEXT_ARRAY, INT2_ARRAY, BYTEA_ARRAY, INT4_ARRAY, INT4_ARRAY, UUID_ARRAY
    );
    InsertNodes = "insert_nodes" (
        INT8_ARRAY, INT8_ARRAY, TEXT_ARRAY, INT2_ARRAY, INT4_ARRAY, BOOL_ARRAY, INT4_ARRAY, INT4_ARRAY, INT8_ARRAY
    );
    InsertRuns = "insert_runs" (INT8_ARRAY, TEXT_ARRAY, INT8_ARRAY);
    InsertUndos = "insert_undos" (INT8_ARRAY, INT4_ARRAY, INT8_ARRAY);
    JobDetail = "job_detail" (UUID);
    JobList = "job_list" (INT8, INT4, INT2, TEXT, TEXT, INT8);
    JobListOfGraph = "job_list_of_graph" (INT8, INT4, INT2, TEXT, TEXT, UUID, BOOL, INT8);
    JobListEnded = "job_list_ended" (INT8, INT4, INT2, TEXT, TEXT, INT2, BOOL, INT8);
    JobListTagged = "job_list_tagged" (INT8, INT4, INT2, TEXT, TEXT, TEXT, TEXT_ARRAY, BOOL, UUID, INT8);
    MarkList = "mark_list" (UUID);
    MarkPut = "mark_put" (INT8, INT8_ARRAY, TEXT_ARRAY, INT2_ARRAY, BYTEA_ARRAY);
    NoteHold = "note_hold" (INT8_ARRAY, UUID_ARRAY, INT8_ARRAY, INT4_ARRAY);
    NoteNames = "note_names" (INT8_ARRAY, INT8_ARRAY);
    ProgressPut = "progress_put" (INT8, INT8_ARRAY, INT4_ARRAY, TEXT_ARRAY);
    TagAdd = "tag_add" (INT8_ARRAY, TEXT_ARRAY);
    TagList = "tag_list" (TEXT, TEXT, TEXT, INT4, INT4);
    TagPut = "tag_put" (UUID_ARRAY, TEXT_ARRAY);
    JobListLive = "job_list_live" (INT8, INT4, INT2, TEXT, TEXT, BOOL, INT8);
    JobListRuns = "job_list_runs" (INT8, INT4, INT2, TEXT, TEXT, INT8);
    JobListSucceeded = "job_list_succeeded" (INT8, INT4, BOOL, INT8);
    KeyAgain = "key_again" (INT8, INT8, INT2_ARRAY);
    KeyAgainGraph = "key_again_graph" (INT8, INT8);
    KeyLock = "key_lock" (UUID_ARRAY);
    KeyLockGraphs = "key_lock_graphs" (UUID_ARRAY);
    KeyTake = "key_take" (TEXT, TEXT, INT8, UUID, INT2, INT8, INT2);
    KeyUnlock = "key_unlock" (UUID_ARRAY);
    KeyUnlockGraphs = "key_unlock_graphs" (UUID_ARRAY);
    JobListWaiting = "job_list_waiting" (INT8, INT4, INT2, TEXT, TEXT, BOOL, INT8);
    LaneIntern = "lane_intern" (TEXT_ARRAY, TEXT_ARRAY, INT4_ARRAY);
    LaneList = "lane_list" ();
    LaterLook = "later_look" (INT8, INT4);
    LeaseWish = "lease_wish" (UUID, TEXT);
    LockGraphs = "lock_graphs" (INT8_ARRAY);
    LockNodes = "lock_nodes" (INT8_ARRAY);
    LockRunning = "lock_running" (INT8_ARRAY);
    NodeNote = "node_note" (INT8_ARRAY);
    Notify = "notify" (TEXT, TEXT_ARRAY);
    ParentsOf = "parents_of" (UUID);
    Peers = "peers" ();
    Promote = "promote" (INT8, INT4);
    PruneArrivals = "prune_arrivals" (INT4);
    PruneFind = "prune_find" ();
    PruneGraph = "prune_graph" (INT8);
    PruneJobs = "prune_jobs" (INT4);
    PruneKeys = "prune_keys" (INT4);
    PruneMark = "prune_mark" (INT8);
    PruneNodes = "prune_nodes" (INT8, INT4);
    PruneTombstones = "prune_tombstones" (INT4);
    QueueList = "queue_list" (INT8);
    ReadyMany = "ready_many" (INT4);
    Rearm = "rearm" (INT8);
    Recount = "recount" (INT8);
    RecountLock = "recount_lock" (INT8);
    RecountNodes = "recount_nodes" (INT8);
    RecountReset = "recount_reset" (INT8_ARRAY);
    ReleaseHold = "release_hold" (INT8_ARRAY);
    ReleaseLease = "release_lease" (INT8, INT8, INT8, INT4, INT8_ARRAY, INT2_ARRAY);
    ReleaseReady = "release_ready" (INT8, INT8_ARRAY, BOOL);
    RecountUndecided = "recount_undecided" (INT8);
    RequeuePut = "requeue_put" (INT8, INT8, INT4, INT2, BYTEA);
    RequeueTake = "requeue_take" (INT8, INT2_ARRAY, BOOL);
    RescueTake = "rescue_take" (INT8, INT8, INT8_ARRAY, INT4);
    RescueVictims = "rescue_victims" (INT8, INT8, UUID_ARRAY);
    EditInput = "edit_input" (INT8, INT2, BYTEA);
    RearmChildren = "rearm_children" (INT8_ARRAY);
    RearmFreed = "rearm_freed" (INT8_ARRAY);
    RearmBehind = "rearm_behind" (INT8, INT8_ARRAY, INT8_ARRAY, INT4_ARRAY);
    RearmCount = "rearm_count" (INT8, INT4);
    RearmHold = "rearm_hold" (INT8, INT8, INT8_ARRAY, INT4);
    RearmLook = "rearm_look" (INT8_ARRAY);
    RearmRuns = "rearm_runs" (INT8_ARRAY, TEXT, TEXT);
    RearmStopped = "rearm_stopped" (INT8_ARRAY);
    RearmTake = "rearm_take" (INT8_ARRAY, INT8, BOOL_ARRAY);
    RearmUndos = "rearm_undos" (INT8_ARRAY, INT8);
    RearmUncount = "rearm_uncount" (INT8_ARRAY);
    RearmWait = "rearm_wait" (INT8_ARRAY, INT4_ARRAY);
    RetryBegin = "retry_begin" (INT8, INT8, INT8, INT8, TEXT);
    RetryDelete = "retry_delete" (INT8);
    RetryEnd = "retry_end" (INT8);
    RetryList = "retry_list" (INT4);
    RetryLook = "retry_look" (INT8);
    RetryTakeBack = "retry_take_back" (INT8);
    ShapeEdges = "shape_edges" (INT8);
    ShapeGraph = "shape_graph" (UUID);
    ShapeNodes = "shape_nodes" (INT8);
    StopReplace = "stop_replace" (INT8, INT2, INT8, TEXT, TEXT);
    TallyDelete = "tally_delete" (INT2, INT8);
    TallyList = "tally_list" (INT2, INT8, TEXT, TEXT, INT4);
    TallyLock = "tally_lock" (INT2_ARRAY, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY);
    TallyPut = "tally_put" (INT2_ARRAY, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY);
    StreamList = "stream_list" (TEXT, TEXT, INT4);
    StreamRead = "stream_read" (TEXT, TEXT, INT8, INT4);
    ContentNodes = "content_nodes" (INT8);
    GraphContent = "graph_content" (UUID);
    GraphRestarts = "graph_restarts" (UUID);
    Revision = "revision" ();
    RunArrived = "run_arrived" (INT8_ARRAY, TEXT);
    RunFind = "run_find" (TEXT_ARRAY);
    RunLook = "run_look" (INT8_ARRAY, BOOL_ARRAY);
    RunPause = "run_pause" (INT8, TEXT);
    RunResume = "run_resume" (TEXT_ARRAY, INT8);
    RunRewind = "run_rewind" (INT8, INT4, INT4, INT4_ARRAY, INT4, INT2, BYTEA, INT8, TEXT);
    RunsBegun = "runs_begun" (INT8_ARRAY);
    RunsBeside = "runs_beside" (INT8_ARRAY);
    RunsOfGraph = "runs_of_graph" (INT8, INT2);
    ScheduleDue = "schedule_due" (INT4);
    ScheduleList = "schedule_list" (TEXT, INT4);
    SettleAgain = "settle_again" (
        INT8_ARRAY, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, BOOL_ARRAY
    );
    SettleAttempts = "settle_attempts" (
        INT8, INT4, INT8_ARRAY, INT4_ARRAY, INT2_ARRAY, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY
    );
    SettleBlock = "settle_block" (
        INT8_ARRAY, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, TEXT_ARRAY
    );
    SettleClose = "settle_close" (INT8, INT8_ARRAY, INT2_ARRAY, TEXT_ARRAY, INT8_ARRAY);
    SettleEnd = "settle_end" (
        INT8, INT8_ARRAY, INT2_ARRAY, TEXT_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY, INT8_ARRAY, INT8_ARRAY,
        TEXT_ARRAY
    );
    SettleJournal = "settle_journal" (INT8, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT2_ARRAY, BYTEA_ARRAY);
    SettleLook = "settle_look" (INT8_ARRAY);
    SettleOutput = "settle_output" (INT8_ARRAY, INT2_ARRAY, BYTEA_ARRAY);
    SettlePlain = "settle_plain" (INT8, INT8, INT8, INT8_ARRAY, INT2, INT4, INT4, INT4, INT8);
    SettleRenew = "settle_renew" (
        INT8, INT8, TEXT, TEXT, INT8_ARRAY, INT4_ARRAY, INT2_ARRAY, BYTEA_ARRAY
    );
    RenewArrivals = "renew_arrivals" (TEXT, INT8_ARRAY, INT8_ARRAY);
    SettleShow = "settle_show" (INT8, INT8_ARRAY, TEXT_ARRAY, BOOL_ARRAY, INT2_ARRAY, BYTEA_ARRAY);
    SettleStay = "settle_stay" (INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY);
    SettleUndo = "settle_undo" (INT8, INT8, INT2, INT4, INT8_ARRAY, INT8_ARRAY, INT4, BOOL);
    Settleable = "settleable" (UUID, INT4);
    ShownRead = "shown_read" (TEXT, TEXT);
    SignalDeliver = "signal_deliver" (
        INT8, INT8, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, INT2_ARRAY, BYTEA_ARRAY
    );
    SignalLock = "signal_lock" (TEXT_ARRAY);
    SignalLook = "signal_look" (TEXT_ARRAY, TEXT_ARRAY);
    SignalWake = "signal_wake" (TEXT_ARRAY);
    StateCounts = "state_counts" (INT4);
    Suspects = "suspects" (INT8, INT8, INT4);
    MetaRepaired = "meta_repaired" (INT8);
    StateOf = "state_of" (INT8_ARRAY);
    StepHeld = "step_held" (
        UUID, INT8, BYTEA, INT8_ARRAY, INT8_ARRAY, INT4_ARRAY, INT4_ARRAY, INT8_ARRAY, INT4_ARRAY, INT2_ARRAY, BYTEA_ARRAY
    );
    StopByFailure = "stop_by_failure" (INT8, INT8_ARRAY, TEXT, TEXT);
    StopCounts = "stop_counts" (INT8);
    StopDelete = "stop_delete" (INT8, INT2);
    StopLook = "stop_look" (INT8);
    StopInsert = "stop_insert" (INT8, INT2, INT8, TEXT, TEXT, INT8);
    StopSettled = "stop_settled" (INT8, INT8);
    StopDue = "stop_due" (INT4);
    TakeIdle = "take_idle" (INT8_ARRAY);
    TakeOverdue = "take_overdue" (INT8, INT8, INT8, INT4, INT4);
    TakeUndecided = "take_undecided" (INT8, INT8, INT8, INT4, INT4);
    TakeRunning = "take_running" (INT8_ARRAY);
    TombstoneFind = "tombstone_find" (TEXT);
    TurnFinish = "turn_finish" (INT8, INT8, BYTEA);
    TransactHold = "transact_hold" (INT8, UUID, INT8, INT4);
    PauseDelete = "pause_delete" (TEXT);
    PauseInsert = "pause_insert" (TEXT, INT8, TEXT, TEXT);
    TurnStart = "turn_start" (UUID);
    Upstream = "upstream" (INT8_ARRAY);
    VersionList = "version_list" (TEXT, INT8);
    PatchList = "patch_list" ();
    WorkerForget = "worker_forget" (INT8_ARRAY);
    WorkerLeaves = "worker_leaves" (UUID);
    WorkerList = "worker_list" ();
    WriteSchedules = "write_schedules" (TEXT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_any_name_is_quoted_and_the_headers_stay_here() {
        let queries = Queries::new("my own");
        assert_eq!(queries.text(Query::Clock), "select \"my own\".clock() as now");
        assert!(!queries.text(Query::Claim).contains("towpath."));
    }
}
