-- Records what an operator did.
-- $1 bigint at (us), $2 text actor, $3 text reason; one array element per change: $4 text[] actions, $5 text[] targets,
-- $6 text[] outcomes. Returns nothing. Locks: the new rows.
insert into towpath.audit (key, at, actor, reason, action, target, outcome)
select nextval('towpath.key'), $1::bigint, $2::text, $3::text, i.*
from unnest($4::text[], $5::text[], $6::text[]) as i
