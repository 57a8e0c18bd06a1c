-- Takes a row out of the head.
-- ?1 lane, ?2 turnout, ?3 seq: numbers.
delete from ready where lane = ?1 and turnout = ?2 and seq = ?3
