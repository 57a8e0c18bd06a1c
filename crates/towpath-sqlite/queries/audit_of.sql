-- Lists what operators have done to one target.
-- ?1 target text, ?2 only keys below this, ?3 most rows.
-- Returns what audit_list returns, newest first.
-- Index: audit (target, key).
select key, at, actor, reason, action, target, outcome from audit where target = ?1 and key < ?2 order by key desc limit ?3
