-- Tells other processes which queues have work.
-- $1 text channel, $2 text[] payloads. Returns nothing of use. No index, no locks; one transaction of its own.
select count(pg_notify($1::text, p)) from unnest($2::text[]) as p
