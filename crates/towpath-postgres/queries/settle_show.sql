-- Writes what runs show to their clients: in place of what they have shown under those names before, or as the next line of a
-- stream.
-- $1 bigint now (us); one array element per showing, in the order of the lines, no two that are none of a run and a name:
-- $2 bigint[] runs (keys), $3 text[] names, $4 boolean[] whether it is a line, $5 smallint[] codecs, $6 bytea[] bytes.
-- Returns nothing. Locks: those rows, of runs whose claims are locked.
-- Index: shown (run, name, seq).
insert into towpath.shown (run, name, seq, codec, bytes, at)
select i.run, i.name,
  case when i.is_line
    then coalesce((select max(s.seq) from towpath.shown s where s.run = i.run and s.name = i.name), 0)
      + row_number() over (partition by i.run, i.name, i.is_line order by i.place)
    else 0
  end,
  i.codec, i.bytes, $1::bigint
from unnest($2::bigint[], $3::text[], $4::boolean[], $5::smallint[], $6::bytea[]) with ordinality
  as i(run, name, is_line, codec, bytes, place)
on conflict (run, name, seq) do update set codec = excluded.codec, bytes = excluded.bytes, at = excluded.at
