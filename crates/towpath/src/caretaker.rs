//! A worker for a moment, without a queue: it takes over from processes that are known to be gone, makes the
//! decisions that nobody has made, and leaves. So an operator's command comes to its end where no worker runs.

use std::sync::Arc;

use towpath_core::store::{Assigned, Beat, Claim, Intent, Rescue, Rescued, Settle, Turn, WorkerIdentity};
use towpath_core::{Store, StoreError, Timestamp, defaults, limits, settle_decision, settle_rescued};

use crate::host;
use crate::random;
use crate::worker::peers;

/// Turns at most: each may release nodes that must be decided in turn, one layer of a graph at a time.
const TURNS_MAX: u64 = 100_000;

pub(crate) async fn settle_left(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let here = host::this_process();
    let worker = random::incarnation();
    let identity = WorkerIdentity {
        name: "caretaker".into(),
        host: here.clone(),
        build: 0,
        queues: Vec::new(),
        kinds: Default::default(),
    };
    let beat = |intent, acknowledged| Beat {
        worker,
        identity: identity.clone(),
        lease: defaults::LEASE,
        acknowledged,
        holds: Vec::new(),
        intent,
    };
    store.extend(beat(Intent::Stay, 0)).await?;
    let gone = peers::look(store, worker, &here, Timestamp::ZERO).await?.gone;
    let mut number = 0;
    let mut settle: Vec<Settle> = Vec::new();
    while !gone.is_empty() && number < TURNS_MAX {
        number += 1;
        let ask = Rescue { worker, number, gone: gone.clone(), limit: limits::DECISIONS_MAX };
        let reply = store.rescue(ask).await?;
        let taken = reply.rescued.len();
        settle.extend(reply.rescued.iter().map(|item| match item {
            Rescued::Job(head) => settle_rescued(head, reply.now),
            Rescued::Decision(undecided) => settle_decision(undecided),
        }));
        if taken < usize::from(limits::DECISIONS_MAX) || settle.len() >= limits::SETTLE_MAX / 2 {
            break;
        }
    }
    while number < TURNS_MAX {
        number += 1;
        let claim = Some(Claim { queues: Vec::new(), most: 0, decisions_max: limits::DECISIONS_MAX });
        let asked = !settle.is_empty();
        let turn = Turn { worker, number, settle: std::mem::take(&mut settle), claim };
        let reply = store.turn(turn).await?;
        settle.extend(reply.assigned.iter().filter_map(|item| match item {
            Assigned::Decision(undecided) => Some(settle_decision(undecided)),
            Assigned::Job(_) => None,
        }));
        if settle.is_empty() && !asked {
            break;
        }
    }
    store.extend(beat(Intent::Leave, number)).await?;
    Ok(())
}
