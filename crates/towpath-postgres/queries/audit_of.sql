-- What operators have done to one target, newest first.
-- $1 text target, $2 bigint only before this key (null for the start), $3 int limit. Returns what audit_list returns. No locks.
-- Index: audit (target, key).
select key, at, actor, reason, action, target, outcome from towpath.audit
where target = $1::text and ($2::bigint is null or key < $2::bigint)
order by key desc
limit $3::int
