-- Locks a graph's `end` and the parents that an append names.
-- $1 uuid graph, $2 text[] names. Returns name, job (key), role, depth, by job. Locks: those
-- nodes, in the order of their keys.
-- Index: graph (id), node (graph, name).
select name, job, role, depth from towpath.node
where graph = (select graph from towpath.graph where id = $1::uuid) and (name = any($2::text[]) or name = 'end')
order by job
for update
