-- Registers a worker.
-- ?1 key number, ?2 incarnation bytes, ?3 turn number, ?4 name text, ?5 machine text, ?6 boot text, ?7 pid_namespace
-- text, ?8 pid number, ?9 started number, ?10 build number, ?11 queues JSON, ?12 kinds JSON,
-- ?13 registered_at µs.
insert into worker (
    worker, incarnation, turn, settled, name, machine, boot, pid_namespace, pid, started, build, queues, kinds,
    registered_at
) values (?1, ?2, ?3, x'', ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
