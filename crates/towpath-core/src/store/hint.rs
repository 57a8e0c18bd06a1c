//! Wake-ups: lossy, cheap, and never needed for correctness.

use async_broadcast::{InactiveReceiver, Receiver, RecvError, Sender};

use crate::id::{GraphId, Incarnation, JobId};
use crate::name::{Queue, RunId};

/// Something that may be worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// A job of this queue became ready, or will be due earlier than anything before it.
    Ready(Queue),
    /// A worker's turn made a job of this queue ready. That worker needs no telling: the same turn claimed.
    Released {
        /// The queue.
        queue: Queue,
        /// The worker.
        by: Incarnation,
    },
    /// A job ended.
    Ended(JobId),
    /// A graph ended.
    GraphEnded(GraphId),
    /// A signal came for this run.
    Signalled(RunId),
    /// Somebody asked to cancel something that runs.
    Cancel,
    /// Anything may have happened: hints were lost, or another process has written.
    Anything,
}

/// Where a store puts hints. Cloned freely; all clones feed the same streams.
#[derive(Clone, Debug)]
pub struct Hints {
    sender: Sender<Hint>,
    /// Keeps the channel open while nobody listens.
    idle: InactiveReceiver<Hint>,
}

/// Hints kept for a listener that is slow; the oldest are dropped first, and it is told.
const BACKLOG: usize = 1_024;

impl Hints {
    /// A channel that nobody listens to yet.
    pub fn new() -> Self {
        let (mut sender, receiver) = async_broadcast::broadcast(BACKLOG);
        sender.set_overflow(true);
        sender.set_await_active(false);
        Self { sender, idle: receiver.deactivate() }
    }

    /// Tells all who listen. Costs next to nothing when nobody does.
    pub fn ring(&self, hint: Hint) {
        if self.is_heard() {
            // Overflow drops the oldest; a closed channel cannot be, since `idle` holds it open.
            let _ = self.sender.try_broadcast(hint);
        }
    }

    /// Whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Starts listening: hints from now on.
    pub fn listen(&self) -> HintStream {
        HintStream { receiver: self.idle.activate_cloned() }
    }
}

impl Default for Hints {
    fn default() -> Self {
        Self::new()
    }
}

/// Hints as they come.
#[derive(Debug)]
pub struct HintStream {
    receiver: Receiver<Hint>,
}

impl HintStream {
    /// Waits for the next hint. When some were lost, or the store is gone, says [`Hint::Anything`].
    ///
    /// # Cancel safety
    /// Dropping the future loses no hint.
    pub async fn next(&mut self) -> Hint {
        match self.receiver.recv_direct().await {
            Ok(hint) => hint,
            Err(RecvError::Overflowed(_)) => Hint::Anything,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }

    /// The next hint, if one is there.
    pub fn try_next(&mut self) -> Option<Hint> {
        match self.receiver.try_recv() {
            Ok(hint) => Some(hint),
            Err(async_broadcast::TryRecvError::Overflowed(_)) => Some(Hint::Anything),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_listener_is_told_that_it_missed_something() {
        let hints = Hints::new();
        hints.ring(Hint::Cancel);
        let mut stream = hints.listen();
        assert_eq!(stream.try_next(), None, "hints from before it listened are not for it");
        for _ in 0..=BACKLOG {
            hints.ring(Hint::Ready(Queue::default()));
        }
        assert_eq!(stream.try_next(), Some(Hint::Anything));
        assert_eq!(stream.try_next(), Some(Hint::Ready(Queue::default())));
    }
}
