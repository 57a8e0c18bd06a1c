-- Records what an operator did.
-- ?1 key number, ?2 at µs, ?3 actor text, ?4 reason text, ?5 action text, ?6 target text, ?7 outcome text.
insert into audit (key, at, actor, reason, action, target, outcome) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
