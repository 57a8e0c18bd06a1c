-- Version 2: a worker says which kinds it serves, so that people see what nobody does.
--
-- A JSON object of kinds, each with the newest version that it takes. Nothing from a binary of version 1.
alter table worker add column kinds text;
