-- Jobs by state, each counted up to a limit.
-- $1 int the limit. Returns one row: ready, later, running with a handler, blocked, dead, quarantined, cancelled, skipped,
-- open_graphs, repaired (nodes that recounts have put right). No locks.
-- What is ready or not due is counted as it lies.
-- Index: blocked (job), ended (state, job), graph (graph).
select (select count(*) from (select from towpath.ready where ctid > '(0,0)' limit $1::int) x) as ready,
  (select count(*) from (select from towpath.later where ctid > '(0,0)' limit $1::int) x) as later,
  (select count(*) from (select from towpath.running where decide = 0 limit $1::int) x) as running,
  (select count(*) from (select from towpath.blocked limit $1::int) x) as blocked,
  (select count(*) from (select from towpath.ended where state = 1 and state <> 0 limit $1::int) x) as dead,
  (select count(*) from (select from towpath.ended where state = 2 and state <> 0 limit $1::int) x) as quarantined,
  (select count(*) from (select from towpath.ended where state = 3 and state <> 0 limit $1::int) x) as cancelled,
  (select count(*) from (select from towpath.ended where state in (4, 5) and state <> 0 limit $1::int) x) as skipped,
  (select count(*) from (select from towpath.graph where "end" is null limit $1::int) x) as open_graphs,
  (select repaired from towpath.meta) as repaired
