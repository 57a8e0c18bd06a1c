-- How many rows each table has. Reads them whole.
-- Returns one row: jobs, ready, later, running, blocked, undecided, ended, graphs, nodes, edges, stops, attempts, outputs,
-- deadlines, workers, leases, runs, entries, arrivals, undos, keys, shown, notes (progress, tag and mark together), tombstones. No locks.
select (select count(*) from towpath.job) as jobs, (select count(*) from towpath.ready) as ready,
  (select count(*) from towpath.later) as later, (select count(*) from towpath.running) as running,
  (select count(*) from towpath.blocked) as blocked, (select count(*) from towpath.undecided) as undecided,
  (select count(*) from towpath.ended) as ended, (select count(*) from towpath.graph) as graphs,
  (select count(*) from towpath.node) as nodes, (select count(*) from towpath.edge) as edges,
  (select count(*) from towpath.stop) as stops, (select count(*) from towpath.attempt) as attempts,
  (select count(*) from towpath.output) as outputs, (select count(*) from towpath.deadline) as deadlines,
  (select count(*) from towpath.worker) as workers, (select count(*) from towpath.lease) as leases,
  (select count(*) from towpath.run) as runs, (select count(*) from towpath.entry) as entries,
  (select count(*) from towpath.arrival) as arrivals, (select count(*) from towpath.undo) as undos,
  (select count(*) from towpath.unique_key) as keys, (select count(*) from towpath.shown) as shown,
  (select count(*) from towpath.progress) + (select count(*) from towpath.tag) + (select count(*) from towpath.mark) as notes,
  (select count(*) from towpath.tombstone) as tombstones
