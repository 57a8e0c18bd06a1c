-- What operators have done, newest first.
-- $1 bigint only before this key (null for the start), $2 int limit. Returns key, at (us), actor, reason, action, target,
-- outcome, by key, descending. No locks.
-- Index: audit (key).
select key, at, actor, reason, action, target, outcome from towpath.audit
where $1::bigint is null or key < $1::bigint
order by key desc
limit $2::int
