-- Pauses a queue; one that is paused keeps its pause.
-- ?1 queue text, ?2 now (us), ?3 actor text, ?4 why text.
-- Returns nothing.
insert or ignore into pause (queue, at, actor, why) values (?1, ?2, ?3, ?4)
