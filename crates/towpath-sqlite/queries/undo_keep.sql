-- Keeps an undo again until its graph has failed or was cancelled.
-- ?1 job key number.
-- Changes no row if the node undoes nothing.
-- Index: node (job).
insert into undo (graph, rank, job) select graph, depth, job from node where job = ?1 and guards is not null
