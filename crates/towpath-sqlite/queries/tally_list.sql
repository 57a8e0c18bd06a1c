-- Lists what was counted from an instant on.
-- ?1 width number, ?2 from µs, ?3 queue or NULL for any, ?4 kind or NULL for any, ?5 most rows.
-- Returns at µs, queue, kind, body JSON, by at, queue, kind.
-- Index: tally (width, at, queue, kind).
select at, queue, kind, body from tally
where width = ?1 and at >= ?2 and (?3 is null or queue = ?3) and (?4 is null or kind = ?4)
order by at, queue, kind
limit ?5
