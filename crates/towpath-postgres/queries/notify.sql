-- Tells other processes which queues have work. The commit does not wait for the disk: there is nothing to keep.
-- $1 text channel, $2 text[] payloads. Returns nothing of use. No index, no locks; one transaction of its own.
select set_config('synchronous_commit', 'off', true), count(pg_notify($1::text, p)) from unnest($2::text[]) as p
