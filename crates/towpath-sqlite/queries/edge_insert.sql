-- Writes an edge.
-- ?1 parent job key, ?2 place in the graph, ?3 child job key, ?4 verdicts: numbers; ?5 label text or NULL.
insert into edge (parent, ord, child, verdicts, label) values (?1, ?2, ?3, ?4, ?5)
