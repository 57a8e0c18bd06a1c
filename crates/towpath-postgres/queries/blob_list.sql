-- Lists blobs.
-- $1 text after which name, $2 int most rows. Returns name, age (us), by name. No locks.
-- Index: blob (name).
select name, towpath.clock() - at as age from towpath.blob where name > $1::text collate "C" order by name limit $2::int
