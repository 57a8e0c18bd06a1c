-- Takes the start of a lane out of the head, up to a row.
-- ?1 lane, ?2 turnout, ?3 seq: numbers.
-- Index: ready (lane, turnout, seq).
delete from ready where lane = ?1 and (turnout, seq) <= (?2, ?3)
