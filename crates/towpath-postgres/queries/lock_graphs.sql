-- Locks the graphs whose `end` a turn is about to settle, before anything of theirs.
-- $1 bigint[] jobs (keys). Returns nothing of use. Locks: the graphs' rows, in the order
-- of their keys.
-- Index: job (key), graph (graph).
select count(*) from (
  select graph from towpath.graph
  where graph = any(array(select graph from towpath.job where key = any($1::bigint[]) and graph is not null))
  order by graph
  for update
) locked
