-- Lists nodes of a graph.
-- ?1 graph key number, ?2 most rows.
-- Returns job, by job.
-- Index: node (graph, name).
select job from node where graph = ?1 order by job limit ?2
