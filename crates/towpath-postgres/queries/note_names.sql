-- What jobs have already of what there may be only so many.
-- $1 bigint[] jobs (keys) that gain tags, $2 bigint[] jobs that gain marks.
-- Returns job, name, whether it is a mark, in no order. No locks: the claims are locked.
-- Index: tag (job, tag), mark (job, name).
select job, tag as name, false as is_mark from towpath.tag where job = any($1::bigint[])
union all
select job, name, true from towpath.mark where job = any($2::bigint[])
