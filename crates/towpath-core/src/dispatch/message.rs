//! What a dispatcher hears and what it asks for.

use crate::id::{Fence, Incarnation};
use crate::lifecycle::Cause;
use crate::outcome::{Report, RunCommit};
use crate::store::{Beat, BeatReply, Claimed, Rescue, RescueReply, Settled, Turn, TurnReply};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// Nothing but time.
    Timer,
    /// There may be work.
    Hint,
    /// Somebody may have asked to cancel something.
    CancelHint,
    /// A handler is done. Sent once for each [`Effect::Start`], also when it was aborted.
    Finished {
        /// The claim.
        fence: Fence,
        /// What it reports.
        report: Report,
    },
    /// A run has something to write. Answered by [`Effect::Committed`]; a second one waits for that answer.
    Commit {
        /// The claim.
        fence: Fence,
        /// What to write.
        commit: RunCommit,
    },
    /// The answer to [`Effect::Turn`].
    Turn(Result<Box<TurnReply>, Failure>),
    /// The answer to [`Effect::Rescue`].
    Rescued(Result<RescueReply, Failure>),
    /// The answer to [`Effect::Beat`].
    Beat(Result<BeatReply, Failure>),
    /// The answer to [`Effect::LookForPeers`].
    Peers(PeerNews),
    /// An operator's or the process's wish.
    Command(Command),
}

/// Why a verb of the store failed, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The worker is not registered.
    UnknownWorker,
    /// The turn's number was overtaken.
    StaleTurn,
    /// Anything else: try again. What was sent may have happened.
    Other,
}

/// What was seen of other workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerNews {
    /// Whether some lease is over.
    pub expired: bool,
    /// Workers on this host whose process is gone.
    pub gone: Vec<Incarnation>,
}

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Claim nothing more, finish what is held.
    Quiet,
    /// Claim again.
    Resume,
    /// Hand back, finish, leave. A second one does not wait for handlers.
    Shutdown,
}

/// Something to do.
#[derive(Debug)]
pub enum Effect {
    /// Send this turn.
    Turn(Box<Turn>),
    /// Send this request.
    Rescue(Box<Rescue>),
    /// Send this heartbeat, on a way of its own.
    Beat(Box<Beat>),
    /// Read the store's workers, and look whether those on this host still live.
    LookForPeers,
    /// Delete what is past its retention.
    Prune,
    /// Run this job's handler.
    Start(Box<Claimed>),
    /// Tell this run what became of its commit. After [`Settled::Done`] for one that parks or ends, and after
    /// [`Settled::Stale`], it is not this worker's any more.
    Committed {
        /// The claim.
        fence: Fence,
        /// What became of it.
        settled: Settled,
    },
    /// Tell this handler to stop.
    Cancel {
        /// The claim.
        fence: Fence,
        /// Why.
        why: CancelWhy,
    },
    /// Stop this handler by force.
    Abort {
        /// The claim.
        fence: Fence,
    },
    /// This handler does not stop even so: it holds its slot. Tell people.
    Stuck {
        /// The claim.
        fence: Fence,
    },
    /// The store refused what became of this job: the job is quarantined, or if even that is refused, held. Tell people.
    Refused {
        /// The claim.
        fence: Fence,
        /// What the database said.
        problem: String,
    },
    /// The worker has left its store.
    Gone,
}

/// Why a handler is told to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelWhy {
    /// Somebody asked.
    Asked(Cause),
    /// Its attempt takes longer than its timeout.
    Timeout,
    /// Its deadline has passed.
    Deadline,
    /// The worker shuts down.
    Shutdown,
    /// The claim is lost: somebody else has the job, and what this one does no longer counts.
    Lost,
}
