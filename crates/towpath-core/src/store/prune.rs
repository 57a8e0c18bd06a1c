//! What a prune did.

/// How much a prune deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Lone jobs deleted.
    pub jobs: u32,
    /// Nodes deleted of graphs that are past their retention.
    pub nodes: u32,
    /// Graphs whose last row is gone.
    pub graphs: u32,
    /// Arrivals deleted of runs that never started, or are gone.
    pub arrivals: u32,
    /// Unique keys deleted that were held for a window which is over.
    pub keys: u32,
    /// Tombstones forgotten: ids of runs that are free again.
    pub tombstones: u32,
}

impl Pruned {
    /// Whether there was nothing left to delete.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
