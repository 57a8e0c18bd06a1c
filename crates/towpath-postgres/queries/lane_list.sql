-- All lanes, for the names of those that a claim brought and this process has not seen.
-- Returns lane, queue, kind, version, in no order. Reads the whole table, which is small. No locks.
select lane, queue, kind, version from towpath.lane
