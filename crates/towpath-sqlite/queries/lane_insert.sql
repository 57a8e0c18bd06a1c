-- Interns a lane. It is never deleted.
-- ?1 queue text, ?2 kind text, ?3 version number.
insert into lane (queue, kind, version) values (?1, ?2, ?3)
