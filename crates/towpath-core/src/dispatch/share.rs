//! Which queue is served first, when a worker has fewer slots in all than its queues could fill.
//!
//! Strict: the queues in their order, a later one only with what the earlier ones leave. Weighted: by weights among the
//! queues that have work, and what one leaves goes to the others. A queue that gave less than it was asked for has no
//! more work; it is asked for its share again at the next claim, but the others need not wait for it.

/// What a worker has room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Of each queue, in the order of the configuration.
    pub(super) each: Vec<u16>,
    /// Of all of them together.
    pub(super) all: u16,
}

impl Room {
    /// No room at all.
    pub(super) fn none() -> Self {
        Self { each: Vec::new(), all: 0 }
    }

    pub(super) fn is_any(&self) -> bool {
        self.all > 0 && self.each.iter().any(|room| *room > 0)
    }
}

/// How a worker chooses among its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// By their order.
    Strict,
    /// By weight, which is at least 1.
    Weighted(Vec<u16>),
}

impl Choice {
    /// What a claim asks for: queues by their place in the configuration, in the order in which they are served, each with
    /// its limit. `empty`: queues that gave less than they were asked for the last time.
    pub(super) fn shares(&self, room: &Room, empty: &[bool]) -> Vec<(usize, u16)> {
        let rooms = room.each.iter().copied().enumerate();
        let Self::Weighted(weights) = self else {
            return rooms.filter(|(_, limit)| *limit > 0).map(|(at, limit)| (at, limit.min(room.all))).collect();
        };
        let weight = |at: usize| u64::from(weights.get(at).copied().unwrap_or(1).max(1));
        let is_empty = |at: usize| empty.get(at).copied().unwrap_or(false);
        let open: Vec<(usize, u16)> = rooms.filter(|(_, limit)| *limit > 0).collect();
        // Those that were empty stand first, with their share of everything: most give nothing. The others share as if
        // those were not there.
        let (empty, full): (Vec<_>, Vec<_>) = open.into_iter().partition(|(at, _)| is_empty(*at));
        let every: u64 = empty.iter().chain(&full).map(|(at, _)| weight(*at)).sum();
        let first = empty.into_iter().map(|(at, limit)| (at, limit.min(part(room.all, weight(at), every))));
        first.chain(shared(full, room.all, weight)).collect()
    }

    /// Which queue starts its next job, of those that wait for a slot: how many run of each, by place.
    pub(super) fn next(&self, waiting: &[(usize, u16)]) -> Option<usize> {
        let Self::Weighted(weights) = self else { return waiting.iter().map(|(at, _)| *at).min() };
        let weight = |at: usize| u64::from(weights.get(at).copied().unwrap_or(1).max(1));
        // The least of running / weight, compared without a division.
        let less = |a: &&(usize, u16), b: &&(usize, u16)| {
            let (left, right) = (u64::from(a.1) * weight(b.0), u64::from(b.1) * weight(a.0));
            left.cmp(&right).then(a.0.cmp(&b.0))
        };
        waiting.iter().min_by(less).map(|(at, _)| *at)
    }
}

/// At least one: a queue of little weight is late, not left out.
fn part(all: u16, weight: u64, weights: u64) -> u16 {
    u16::try_from((u64::from(all) * weight).div_ceil(weights.max(1))).unwrap_or(u16::MAX)
}

/// Shares by weight; what a queue has no room for goes to the others.
fn shared(mut open: Vec<(usize, u16)>, all: u16, weight: impl Fn(usize) -> u64) -> Vec<(usize, u16)> {
    let (mut shares, mut left) = (Vec::new(), all);
    loop {
        let weights: u64 = open.iter().map(|(at, _)| weight(*at)).sum();
        let (tight, wide): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|(at, limit)| *limit <= part(left, weight(*at), weights));
        left = left.saturating_sub(tight.iter().map(|(_, limit)| *limit).fold(0, u16::saturating_add));
        let is_done = tight.is_empty();
        shares.extend(tight);
        if is_done || wide.is_empty() {
            shares.extend(wide.iter().map(|(at, _)| (*at, part(left, weight(*at), weights))));
            break;
        }
        open = wide;
    }
    shares.sort_unstable();
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(each: &[u16], all: u16) -> Room {
        Room { each: each.to_vec(), all }
    }

    #[test]
    fn strict_asks_in_order_each_for_all_that_is_free() {
        assert_eq!(Choice::Strict.shares(&room(&[10, 0, 3], 4), &[]), [(0, 4), (2, 3)]);
        assert_eq!(Choice::Strict.next(&[(2, 0), (1, 9)]), Some(1));
        assert_eq!(Choice::Strict.next(&[]), None);
    }

    #[test]
    fn weights_share_what_is_free_and_leave_nothing_lying() {
        let weighted = Choice::Weighted(vec![3, 1, 1]);
        assert_eq!(weighted.shares(&room(&[10, 10, 10], 10), &[]), [(0, 6), (1, 2), (2, 2)]);
        assert_eq!(weighted.shares(&room(&[2, 10, 10], 10), &[]), [(0, 2), (1, 4), (2, 4)], "what one has no room for");
        assert_eq!(weighted.shares(&room(&[10, 10, 10], 1), &[]), [(0, 1), (1, 1), (2, 1)], "at least one each");
        assert_eq!(weighted.shares(&room(&[2, 3], 10), &[]), [(0, 2), (1, 3)], "room for all of it");
    }

    #[test]
    fn a_queue_that_was_empty_is_asked_for_its_share_and_the_others_for_the_whole() {
        let weighted = Choice::Weighted(vec![3, 1]);
        assert_eq!(weighted.shares(&room(&[10, 10], 8), &[true, false]), [(0, 6), (1, 8)]);
        assert_eq!(weighted.shares(&room(&[10, 10], 8), &[true, true]), [(0, 6), (1, 2)]);
    }

    #[test]
    fn by_weight_the_queue_starts_that_has_least_at_work_for_its_weight() {
        let weighted = Choice::Weighted(vec![3, 1]);
        assert_eq!(weighted.next(&[(0, 2), (1, 1)]), Some(0), "2 of 3 against 1 of 1");
        assert_eq!(weighted.next(&[(0, 4), (1, 1)]), Some(1));
        assert_eq!(weighted.next(&[(0, 3), (1, 1)]), Some(0), "the first of two that are alike");
    }
}
