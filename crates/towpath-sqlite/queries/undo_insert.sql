-- Keeps an undo until its graph has failed or was cancelled.
-- ?1 graph key, ?2 rank, ?3 job key: numbers.
insert into undo (graph, rank, job) values (?1, ?2, ?3)
