-- Keeps a node for whoever claims decisions.
-- ?1 job key number.
insert into undecided (job) values (?1)
