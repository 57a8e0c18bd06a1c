-- Writes a job, unless its id is there.
-- ?1 key number, ?2 id bytes, ?3 lane number, ?4 priority number, ?5 enqueued_at µs, ?6 delay_us µs or NULL,
-- ?7 due_at µs or NULL, ?8 deadline µs or NULL, ?9 rules JSON or NULL, ?10 tags JSON or NULL, ?11 headers JSON or
-- NULL, ?12 codec number, ?13 input bytes, ?14 graph key or NULL, ?15 parents: keys of 8 bytes, or NULL, ?16 run: 1 or NULL.
-- Changes no row if the id is there.
-- Index: job (id).
insert into job (
    key, id, lane, priority, enqueued_at, delay_us, due_at, deadline, rules, tags, headers, codec, input, graph, parents,
    run
) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
on conflict (id) do nothing
