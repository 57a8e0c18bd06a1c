-- Counts the rows of each table.
-- Returns one row: job, ready, later, running, blocked, undecided, ended, graph, node, edge, stop, attempt, output,
-- deadline, worker, lease, run, entry, arrival, undo.
select
    (select count(*) from job),
    (select count(*) from ready),
    (select count(*) from later),
    (select count(*) from running),
    (select count(*) from blocked),
    (select count(*) from undecided),
    (select count(*) from ended),
    (select count(*) from graph),
    (select count(*) from node),
    (select count(*) from edge),
    (select count(*) from stop),
    (select count(*) from attempt),
    (select count(*) from output),
    (select count(*) from deadline),
    (select count(*) from worker),
    (select count(*) from lease),
    (select count(*) from run),
    (select count(*) from entry),
    (select count(*) from arrival),
    (select count(*) from undo)
