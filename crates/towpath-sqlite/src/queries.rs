//! Every statement by name. Its text, with what it is for, stands in the file of that name.

macro_rules! queries {
    ($($name:ident = $file:literal,)*) => {
        /// A statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Query {
            $($name,)*
        }

        impl Query {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its text.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => sql!($file),)*
                }
            }
        }
    };
}

queries! {
    AttemptDelete = "attempt_delete",
    AttemptInsert = "attempt_insert",
    AttemptList = "attempt_list",
    AttemptTrim = "attempt_trim",
    AuditInsert = "audit_insert",
    AuditList = "audit_list",
    Begin = "begin",
    BlockedByOthers = "blocked_by_others",
    BlockedInsert = "blocked_insert",
    BlockedTake = "blocked_take",
    Census = "census",
    Commit = "commit",
    DataVersion = "data_version",
    DeadlineDelete = "deadline_delete",
    DeadlineDue = "deadline_due",
    DeadlineInsert = "deadline_insert",
    EdgeChildren = "edge_children",
    EdgeDelete = "edge_delete",
    EdgeInsert = "edge_insert",
    Ended = "ended",
    EndedDelete = "ended_delete",
    EndedInsert = "ended_insert",
    EndedPast = "ended_past",
    EndedVerdict = "ended_verdict",
    GraphClose = "graph_close",
    GraphCounts = "graph_counts",
    GraphDelete = "graph_delete",
    GraphDetail = "graph_detail",
    GraphEdges = "graph_edges",
    GraphEndNode = "graph_end_node",
    GraphFind = "graph_find",
    GraphGrow = "graph_grow",
    GraphId = "graph_id",
    GraphInsert = "graph_insert",
    GraphList = "graph_list",
    GraphNodes = "graph_nodes",
    GraphPast = "graph_past",
    GraphReopen = "graph_reopen",
    GraphRules = "graph_rules",
    GraphToGrow = "graph_to_grow",
    JobDelete = "job_delete",
    JobDetail = "job_detail",
    JobFacts = "job_facts",
    JobFind = "job_find",
    JobInsert = "job_insert",
    JobList = "job_list",
    JobListOfGraph = "job_list_of_graph",
    JobRules = "job_rules",
    JobSame = "job_same",
    JobState = "job_state",
    LaneFind = "lane_find",
    LaneInsert = "lane_insert",
    LaneList = "lane_list",
    LaneName = "lane_name",
    LaterDelete = "later_delete",
    LaterDue = "later_due",
    LaterInsert = "later_insert",
    LaterNext = "later_next",
    LaterTake = "later_take",
    LeaseDelete = "lease_delete",
    LeaseWrite = "lease_write",
    NodeByName = "node_by_name",
    NodeDecided = "node_decided",
    NodeDelete = "node_delete",
    NodeEnd = "node_end",
    NodeInsert = "node_insert",
    NodeKeys = "node_keys",
    NodeList = "node_list",
    NodeName = "node_name",
    NodePhase = "node_phase",
    NodeRead = "node_read",
    NodeSame = "node_same",
    NodeUpdate = "node_update",
    OutputDelete = "output_delete",
    OutputInsert = "output_insert",
    ParentKeys = "parent_keys",
    PartBegin = "part_begin",
    PartKeep = "part_keep",
    PartUndo = "part_undo",
    Peers = "peers",
    QueueList = "queue_list",
    ReadBegin = "read_begin",
    ReadyDelete = "ready_delete",
    ReadyHead = "ready_head",
    ReadyInsert = "ready_insert",
    ReadyTake = "ready_take",
    ReadyTakeMoved = "ready_take_moved",
    Rollback = "rollback",
    RunningCancel = "running_cancel",
    RunningDecide = "running_decide",
    RunningDelete = "running_delete",
    RunningGiven = "running_given",
    RunningHeld = "running_held",
    RunningInsert = "running_insert",
    RunningIs = "running_is",
    RunningKnown = "running_known",
    RunningOf = "running_of",
    RunningTake = "running_take",
    RunningTakeOver = "running_take_over",
    RunningToStop = "running_to_stop",
    SequenceRead = "sequence_read",
    SequenceWrite = "sequence_write",
    Settleable = "settleable",
    StopCounts = "stop_counts",
    StopDelete = "stop_delete",
    StopFind = "stop_find",
    StopInsert = "stop_insert",
    StopMark = "stop_mark",
    StopRead = "stop_read",
    UndecidedDelete = "undecided_delete",
    UndecidedInsert = "undecided_insert",
    UndecidedNodes = "undecided_nodes",
    Upstream = "upstream",
    VerbBegin = "verb_begin",
    VerbKeep = "verb_keep",
    VerbUndo = "verb_undo",
    WorkerDelete = "worker_delete",
    WorkerFind = "worker_find",
    WorkerInsert = "worker_insert",
    WorkerLeases = "worker_leases",
    WorkerList = "worker_list",
    WorkerRemember = "worker_remember",
    WorkerTurn = "worker_turn",
}

impl Query {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::ALL.len();
}
