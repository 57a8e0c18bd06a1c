//! Deletes what is past its retention, a bounded number of rows at a time.

use towpath_core::store::Pruned;

use crate::error::Fault;
use crate::queries::Query;
use crate::session::{Commit, Session};

/// Deletes lone jobs, or if there are none, a part of one graph, or if there is none, arrivals of runs that are not there.
pub(crate) async fn prune(session: Session, limit: u32) -> Result<Pruned, Fault> {
    let limit = i32::try_from(limit).unwrap_or(i32::MAX);
    session.begin(Commit::Lazy).await?;
    let jobs: i64 = session.one(Query::PruneJobs, &[&limit]).await?.try_get(0)?;
    let mut pruned = Pruned { jobs: u32::try_from(jobs).unwrap_or(u32::MAX), ..Pruned::default() };
    let found = if jobs == 0 { session.run(Query::PruneFind, &[]).await? } else { Vec::new() };
    if let Some(row) = found.first() {
        let graph: i64 = row.try_get(0)?;
        session.run(Query::PruneMark, &[&graph]).await?;
        let row = session.one(Query::PruneNodes, &[&graph, &limit]).await?;
        pruned.nodes = u32::try_from(row.try_get::<_, i64>(0)?).unwrap_or(u32::MAX);
        if !row.try_get::<_, bool>(1)? {
            session.run(Query::PruneGraph, &[&graph]).await?;
            pruned.graphs = 1;
        }
    } else if jobs == 0 {
        let arrivals: i64 = session.one(Query::PruneArrivals, &[&limit]).await?.try_get(0)?;
        pruned.arrivals = u32::try_from(arrivals).unwrap_or(u32::MAX);
        if arrivals == 0 {
            let keys: i64 = session.one(Query::PruneKeys, &[&limit]).await?.try_get(0)?;
            pruned.keys = u32::try_from(keys).unwrap_or(u32::MAX);
        }
        if pruned.is_empty() {
            let tombstones: i64 = session.one(Query::PruneTombstones, &[&limit]).await?.try_get(0)?;
            pruned.tombstones = u32::try_from(tombstones).unwrap_or(u32::MAX);
        }
    }
    session.commit().await?;
    Ok(pruned)
}
