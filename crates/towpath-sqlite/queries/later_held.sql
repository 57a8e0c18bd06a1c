-- Finds a run that was paused and that neither time nor a signal wakes.
-- ?1 job key number, ?2 the instant that never comes.
-- Returns lane, turnout, attempt, failures, crashes; one row or none.
-- Index: later (job).
select lane, turnout, attempt, failures, crashes from later where job = ?1 and due = ?2 and parked = 0
