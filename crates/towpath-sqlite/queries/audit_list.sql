-- Lists what operators have done.
-- ?1 only keys below this, ?2 most rows.
-- Returns key, at, actor, reason, action, target, outcome, newest first.
-- Index: audit (key).
select key, at, actor, reason, action, target, outcome from audit where key < ?1 order by key desc limit ?2
