-- Takes undos from those that nobody has decided about, and lets the `end` of their graph wait for those that start.
-- $1 bigint end (job's key), $2 bigint graph (key), $3 smallint how the graph had ended, $4 int the rank that starts (or
-- null), $5 bigint[] jobs that start, $6 bigint[] jobs that end unrun, $7 int verdicts of the new edges, $8 boolean
-- whether the end is decided again before they have ended.
-- Returns undecided: whether the end waits for a decision now; ids[] of the jobs that end unrun. Locks: the graph and the end's node (held already), its
-- other rows.
-- Index: node (job), undo (graph, rank DESC, job), graph (graph), running (job), job (key).
with gone as (
  delete from towpath.undo u using towpath.node n
  where n.job = any($5::bigint[] || $6::bigint[]) and u.graph = n.graph and u.rank = n.depth and u.job = n.job
), edges as (
  insert into towpath.edge (parent, ord, child, verdicts) select job, 0, $1::bigint, $7::int from unnest($5::bigint[]) as s(job)
), noted as (
  update towpath.graph set undoing = $3::smallint, undo_rank = coalesce($4::int, undo_rank) where graph = $2::bigint
), held as (
  delete from towpath.running where job = $1::bigint
), waits as (
  update towpath.node
  set "left" = "left" + cardinality($5::bigint[]),
    phase = case when $8::boolean or "left" + cardinality($5::bigint[]) = 0 then 1 else 0 end
  where job = $1::bigint
  returning job, phase
), kept as (
  insert into towpath.undecided (job) select job from waits where phase = 1
)
select phase = 1 as undecided, array(select id from towpath.job where key = any($6::bigint[])) as ids from waits
