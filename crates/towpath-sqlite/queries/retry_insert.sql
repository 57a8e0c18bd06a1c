-- Notes that a graph is being retried.
-- ?1 graph key number, ?2 mode JSON, ?3 since µs, ?4 due µs.
insert into retry (graph, mode, since, due) values (?1, ?2, ?3, ?4)
