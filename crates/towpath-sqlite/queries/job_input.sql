-- Gives a job that nobody holds another input.
-- ?1 job key number, ?2 codec code, ?3 input bytes.
-- Index: job (key).
update job set codec = ?2, input = ?3 where key = ?1
