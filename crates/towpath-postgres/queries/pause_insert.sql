-- Pauses a queue; one that is paused keeps its pause.
-- $1 text queue, $2 bigint now (us), $3 text actor, $4 text why.
-- Returns nothing.
-- Locks: the new row.
insert into towpath.pause (queue, at, actor, why) values ($1::text, $2::bigint, $3::text, $4::text)
on conflict do nothing
