-- Lets runs that have ended be as if they had not begun: their next chapters are empty. The journals that ended are kept,
-- older ones go, and so does what the engine has told the runs: a cancel, ends of children.
-- $1 bigint[] jobs (keys), $2 text the name of the arrival that cancels, $3 text how those of children begin.
-- Returns nothing. Locks: those rows.
-- Index: run (job), entry (run, chapter, seq), arrival (run, seq).
with anew as (
  update towpath.run set chapter = chapter + 1, entries = 0 where job = any($1::bigint[]) returning job, id, chapter
), old as (
  delete from towpath.entry e using anew a where e.run = a.job and e.chapter < a.chapter - 1
)
delete from towpath.arrival v using anew a
where v.run = a.id and (v.name = $2::text or starts_with(v.name, $3::text))
