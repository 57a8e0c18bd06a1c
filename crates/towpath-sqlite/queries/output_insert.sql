-- Keeps what a job left.
-- ?1 job key number, ?2 codec number, ?3 bytes.
insert into output (job, codec, bytes) values (?1, ?2, ?3)
