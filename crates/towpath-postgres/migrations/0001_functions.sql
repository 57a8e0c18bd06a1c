-- The functions of version 1: enqueue in one call, inside whatever transaction the caller has open. Their item is JSON, so
-- that any driver can send it as one text. `enqueue_items` is for this product's drivers, which have checked every item;
-- what is for other languages stands at the end.

-- The lane of a job, made when it is the first there.
create function towpath.lane_of(of_queue text, of_kind text, of_version int) returns int language plpgsql as $towpath$
declare
  number int;
begin
  loop
    select l.lane into number from towpath.lane l
    where l.queue = of_queue and l.kind = of_kind and l.version = of_version;
    if found then
      return number;
    end if;
    insert into towpath.lane (queue, kind, version) values (of_queue, of_kind, of_version) on conflict do nothing;
  end loop;
end $towpath$;

-- Eight bytes, little-endian, as `job.parents` has them.
create function towpath.key_bytes(key bigint) returns bytea language sql immutable as $towpath$
  select substr(b, 8, 1) || substr(b, 7, 1) || substr(b, 6, 1) || substr(b, 5, 1)
    || substr(b, 4, 1) || substr(b, 3, 1) || substr(b, 2, 1) || substr(b, 1, 1)
  from (select int8send(key) as b) as big
$towpath$;

-- The bytes of a payload: text, or hexadecimal digits.
create function towpath.payload_of(j jsonb) returns bytea language sql immutable as $towpath$
  select case when j ? 'hex' then decode(j->>'hex', 'hex') else convert_to(coalesce(j->>'input', ''), 'UTF8') end
$towpath$;

-- Puts a lone job that was just written where it is due.
create function towpath.place_job(new_key bigint, to_lane int, to_turnout int, due bigint, now_us bigint, deadline bigint)
returns void language plpgsql as $towpath$
begin
  if due <= now_us then
    insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
    values (to_lane, to_turnout, new_key, new_key, 0, 0, 0);
  else
    insert into towpath.later (job, due, lane, turnout, attempt, failures, crashes)
    values (new_key, due, to_lane, to_turnout, 0, 0, 0);
  end if;
  if deadline is not null then
    insert into towpath.deadline (job, at) values (new_key, deadline);
  end if;
end $towpath$;

-- Gives a job the tags that a JSON text lists; null: none.
create function towpath.put_tags(of_job bigint, tags text) returns void language sql as $towpath$
  insert into towpath.tag (job, tag)
  select of_job, t.tag from jsonb_array_elements_text(tags::jsonb) as t(tag) on conflict (job, tag) do nothing
$towpath$;

-- Who holds a key: null, or the row with `stage`: 0 not begun, 1 begun, 2 over, null gone. The row is locked before.
create function towpath.key_holder(now_us bigint, in_scope int, of_kind text, of_key text) returns jsonb
language plpgsql as $towpath$
declare
  u towpath.unique_key;
  stage int;
begin
  select * into u from towpath.unique_key k where k.scope = in_scope and k.kind = of_kind and k.key = of_key;
  if not found or u.job = 0 then
    return null;
  end if;
  if in_scope = 1 then
    select case when g.ended_at is null then 1 else 2 end into stage from towpath.graph g where g.graph = u.job;
  else
    select case when s.state >= 4 then 2 when s.state = 3 or s.attempt > 0 then 1 else 0 end into stage
    from towpath.standing s where s.key = u.job;
  end if;
  if (case u.hold when 0 then stage = 0 when 1 then stage < 2 else now_us < u.until_at end) then
    return jsonb_build_object('job', u.job, 'id', u.id, 'at', u.at, 'stage', stage);
  end if;
  return null;
end $towpath$;

create function towpath.take_key(now_us bigint, in_scope int, of_kind text, u jsonb, owner bigint, owner_id uuid)
returns void language sql as $towpath$
  update towpath.unique_key
  set job = owner, id = owner_id, hold = (u->>'hold')::smallint, at = now_us, until_at = now_us + (u->>'window_us')::bigint
  where scope = in_scope and kind = of_kind and key = u->>'key'
$towpath$;

-- Puts a job into the place of one that has not begun, under its id; whether it did. Which fields it takes is in the bits of
-- `fields`: 1 input and version, 2 queue, 4 priority, 8 due, 16 deadline, 32 rules, 64 tags, 128 headers.
create function towpath.replace_job(now_us bigint, old_key bigint, taken_at bigint, j jsonb, of_kind text) returns boolean
language plpgsql as $towpath$
declare
  fields int := (j->'unique'->>'fields')::int;
  old towpath.job;
  lane towpath.lane;
  taken record;
  new_key bigint;
  due bigint;
  was_watched boolean;
begin
  select b.* into old from towpath.job b where b.key = old_key;
  if not found then
    return false;
  end if;
  -- The deadline first: a turn that looks for overdue jobs passes by those whose deadline is locked.
  delete from towpath.deadline d where d.job = old_key;
  was_watched := found;
  with head as (
    delete from towpath.ready h where h.lane = old.lane and h.turnout = -old.priority::int and h.seq = old_key
    returning h.attempt, null::bigint as due
  ), moved as (
    delete from towpath.ready h where h.job = old_key and h.seq <> h.job returning h.attempt, null::bigint
  ), wait as (
    delete from towpath.later l where l.job = old_key returning l.attempt, l.due
  ), aside as (
    delete from towpath.blocked b where b.job = old_key returning b.attempt, null::bigint
  )
  select * into taken from (select * from head union all select * from moved union all select * from wait
    union all select * from aside) as idle;
  if not found then
    -- A job that is taken since its deadline has passed has none to watch.
    if was_watched then
      insert into towpath.deadline (job, at) values (old_key, old.deadline);
    end if;
    return false;
  end if;
  if taken.attempt > 0 then
    raise exception 'a job was claimed meanwhile' using errcode = 'serialization_failure';
  end if;
  select l.* into lane from towpath.lane l where l.lane = old.lane;
  due := coalesce(taken.due, now_us);
  if fields & 8 <> 0 then
    due := greatest(now_us, coalesce(now_us + (j->>'delay_us')::bigint, (j->>'due_at')::bigint, now_us));
    due := least(due, taken_at + (j->'unique'->>'at_most_us')::bigint);
  end if;
  if fields & 1 <> 0 then
    old.codec := (j->>'codec')::smallint;
    old.input := towpath.payload_of(j);
    lane.version := (j->>'version')::int;
  end if;
  if fields & 2 <> 0 then
    lane.queue := j->>'queue';
  end if;
  if fields & 4 <> 0 then
    old.priority := (j->>'priority')::smallint;
  end if;
  if fields & 16 <> 0 then
    old.deadline := (j->>'deadline')::bigint;
  end if;
  if fields & 32 <> 0 then
    -- With its own key as it was: the holder's word counts.
    old.rules := nullif(jsonb_strip_nulls(coalesce((j->>'rules')::jsonb, '{}')
      || jsonb_build_object('own_key', old.rules::jsonb->'own_key')), '{}')::text;
  end if;
  if fields & 64 <> 0 then
    old.tags := j->>'tags';
  end if;
  if fields & 128 <> 0 then
    old.headers := j->>'headers';
  end if;
  delete from towpath.job b where b.key = old_key;
  new_key := nextval('towpath.key');
  old.key := new_key;
  old.enqueued_at := now_us;
  old.lane := towpath.lane_of(lane.queue, lane.kind, lane.version);
  insert into towpath.job values (old.*);
  delete from towpath.tag t where t.job = old_key;
  if old.tags is not null then
    perform towpath.put_tags(new_key, old.tags);
  end if;
  perform towpath.place_job(new_key, old.lane, -old.priority::int, due, now_us, old.deadline);
  update towpath.unique_key u set job = new_key where u.scope = 0 and u.kind = of_kind and u.key = j->'unique'->>'key';
  return true;
end $towpath$;

-- The answer to an item whose key is held, or null.
create function towpath.key_clash(now_us bigint, in_scope int, of_kind text, j jsonb) returns jsonb
language plpgsql as $towpath$
declare
  holder jsonb;
  u jsonb := j->'unique';
begin
  if u is null then
    return null;
  end if;
  holder := towpath.key_holder(now_us, in_scope, of_kind, u->>'key');
  if holder is null then
    return null;
  end if;
  if (u->>'clash')::int = 1 then
    return jsonb_build_object('is', 'key_taken', 'id', holder->>'id');
  end if;
  if (u->>'clash')::int = 2 and (holder->>'stage')::int = 0
    and towpath.replace_job(now_us, (holder->>'job')::bigint, (holder->>'at')::bigint, j, of_kind)
  then
    return jsonb_build_object('is', 'replaced', 'id', holder->>'id');
  end if;
  return jsonb_build_object('is', 'held', 'id', holder->>'id');
end $towpath$;

create function towpath.enqueue_job(now_us bigint, j jsonb) returns jsonb language plpgsql as $towpath$
declare
  new_id uuid := (j->>'id')::uuid;
  of_kind text := j->>'kind';
  bytes bytea := towpath.payload_of(j);
  to_lane int := coalesce((j->>'lane')::int, towpath.lane_of(j->>'queue', of_kind, (j->>'version')::int));
  due bigint := greatest(now_us, coalesce(now_us + (j->>'delay_us')::bigint, (j->>'due_at')::bigint, now_us));
  new_key bigint;
  old record;
  answer jsonb;
begin
  loop
    select l.kind, l.version, b.codec, b.input, r.id as run into old
    from towpath.job b join towpath.lane l on l.lane = b.lane
    left join towpath.run r on r.job = case when b.run then b.key end
    where b.id = new_id;
    if found then
      if old.kind = of_kind and old.version = (j->>'version')::int and old.codec = (j->>'codec')::smallint
        and old.input = bytes and old.run is not distinct from j->>'run'
      then
        return jsonb_build_object('is', 'existing');
      end if;
      return jsonb_build_object('is', 'job_conflict', 'id', new_id, 'kind', old.kind);
    end if;
    if j ? 'run' then
      select b.id into old from towpath.run r join towpath.job b on b.key = r.job where r.id = j->>'run';
      if found then
        return jsonb_build_object('is', 'run_taken', 'run', j->>'run', 'id', old.id);
      end if;
      -- Looked for after the run: a prune puts the one in the place of the other.
      select t.job as id into old from towpath.tombstone t where t.run = j->>'run';
      if found and old.id = new_id then
        return jsonb_build_object('is', 'existing');
      elsif found then
        return jsonb_build_object('is', 'run_taken', 'run', j->>'run', 'id', old.id);
      end if;
    end if;
    answer := towpath.key_clash(now_us, 0, of_kind, j);
    if answer is not null then
      return answer;
    end if;
    new_key := nextval('towpath.key');
    insert into towpath.job (key, enqueued_at, deadline, id, lane, priority, codec, input, rules, tags, headers, run)
    values (new_key, now_us, (j->>'deadline')::bigint, new_id, to_lane, (j->>'priority')::smallint,
      (j->>'codec')::smallint, bytes, j->>'rules', j->>'tags', j->>'headers', case when j ? 'run' then true end)
    on conflict (id) do nothing;
    exit when found;
  end loop;
  if j ? 'tags' then
    perform towpath.put_tags(new_key, j->>'tags');
  end if;
  if j ? 'run' then
    insert into towpath.run (job, id, chapter, entries, keep_id_us)
    values (new_key, j->>'run', 1, 0, (j->>'keep_id_us')::bigint) on conflict (id) do nothing;
    if not found then
      raise exception 'a run was started meanwhile' using errcode = 'serialization_failure';
    end if;
  end if;
  if j ? 'unique' then
    perform towpath.take_key(now_us, 0, of_kind, j->'unique', new_key, new_id);
  end if;
  perform towpath.place_job(new_key, to_lane, -(j->>'priority')::int, due, now_us, (j->>'deadline')::bigint);
  return jsonb_build_object('is', 'inserted', 'key', new_key);
end $towpath$;

create function towpath.enqueue_graph_row(now_us bigint, g jsonb) returns jsonb language plpgsql as $towpath$
declare
  new_id uuid := (g->>'graph')::uuid;
  nodes jsonb := g->'jobs';
  total int := jsonb_array_length(g->'jobs');
  old record;
  answer jsonb;
  new_graph bigint;
  keys bigint[];
begin
  select o.graph, o.name into old from towpath.graph o where o.id = new_id;
  if found then
    if old.name = g->>'name'
      and not exists (select 1 from towpath.stop s where s.graph = old.graph and s.reason = 2)
      and not exists (
        select 1 from jsonb_array_elements(nodes) as x(j)
        where not exists (
          select 1 from towpath.node n join towpath.job b on b.key = n.job
          where n.graph = old.graph and n.name = x.j->>'name' and b.id = (x.j->>'id')::uuid))
    then
      return jsonb_build_object('is', 'existing');
    end if;
    return jsonb_build_object('is', 'graph_conflict', 'id', new_id, 'name', old.name);
  end if;
  answer := towpath.key_clash(now_us, 1, g->>'name', g);
  if answer is not null then
    return answer;
  end if;
  select b.id, l.kind into old
  from jsonb_array_elements(nodes) with ordinality as x(j, place)
  join towpath.job b on b.id = (x.j->>'id')::uuid join towpath.lane l on l.lane = b.lane
  order by x.place limit 1;
  if found then
    return jsonb_build_object('is', 'job_conflict', 'id', old.id, 'kind', old.kind);
  end if;
  select x.run, coalesce(b.id, t.job, x.first_id) as id into old
  from (
    select j->>'run' as run, place, (j->>'id')::uuid as id,
      first_value((j->>'id')::uuid) over (partition by j->>'run' order by place) as first_id
    from jsonb_array_elements(nodes) with ordinality as y(j, place) where y.j ? 'run'
  ) as x
  left join towpath.run r on r.id = x.run left join towpath.job b on b.key = r.job
  left join towpath.tombstone t on t.run = x.run
  where b.id is not null or t.job is not null or x.first_id <> x.id
  order by x.place limit 1;
  if found then
    return jsonb_build_object('is', 'run_taken', 'run', old.run, 'id', old.id);
  end if;
  new_graph := nextval('towpath.key');
  select array_agg(nextval('towpath.key')) into keys from generate_series(1, total);
  begin
    insert into towpath.graph (graph, id, name, rules, codec, input, nodes, edges, restart_of, created_at)
    values (new_graph, new_id, g->>'name', g->>'rules', (g->>'codec')::smallint,
      case when g ? 'codec' then towpath.payload_of(g) end, total - 1, jsonb_array_length(g->'edges'),
      (g->>'restart_of')::uuid, now_us);
    if g ? 'restart' then
      insert into towpath.audit (key, at, actor, reason, action, target, outcome)
      select nextval('towpath.key'), now_us, r->>'actor', r->>'reason', r->>'action', g->>'restart_of', r->>'outcome'
      from (select g->'restart' as r) as x;
    end if;
    insert into towpath.job (key, enqueued_at, graph, delay_us, due_at, deadline, id, lane, priority, codec, input,
      rules, tags, headers, parents, run)
    select keys[x.place], now_us, new_graph, (j->>'delay_us')::bigint, (j->>'due_at')::bigint,
      (j->>'deadline')::bigint, (j->>'id')::uuid,
      coalesce((j->>'lane')::int, towpath.lane_of(j->>'queue', j->>'kind', (j->>'version')::int)),
      (j->>'priority')::smallint, (j->>'codec')::smallint, towpath.payload_of(j), j->>'rules', j->>'tags',
      j->>'headers',
      case when j ? 'parents' then coalesce((
        select string_agg(towpath.key_bytes(keys[p.parent::int + 1]), ''::bytea order by p.at)
        from jsonb_array_elements_text(j->'parents') with ordinality as p(parent, at)), ''::bytea) end,
      case when j ? 'run' then true end
    from jsonb_array_elements(nodes) with ordinality as x(j, place);
    insert into towpath.run (job, id, chapter, entries)
    select keys[x.place], j->>'run', 1, 0 from jsonb_array_elements(nodes) with ordinality as x(j, place)
    where x.j ? 'run';
  exception when unique_violation then
    raise exception 'an id was taken meanwhile' using errcode = 'serialization_failure';
  end;
  insert into towpath.node (job, graph, name, role, need, eager, "left", depth, guards, phase)
  select keys[x.place], new_graph, j->>'name', (j->>'role')::smallint, (j->>'need')::int, (j->>'eager')::boolean,
    (j->>'left')::int, (j->>'depth')::int, keys[(j->>'guards')::int + 1],
    case when (j->>'left')::int = 0 then 2 else 0 end
  from jsonb_array_elements(nodes) with ordinality as x(j, place);
  perform towpath.put_tags(keys[x.place], j->>'tags')
  from jsonb_array_elements(nodes) with ordinality as x(j, place) where j ? 'tags';
  insert into towpath.undo (graph, rank, job)
  select new_graph, (x.j->>'depth')::int, keys[x.place]
  from jsonb_array_elements(nodes) with ordinality as x(j, place) where x.j ? 'guards';
  insert into towpath.edge (parent, ord, child, verdicts, label)
  select keys[(e->>0)::int + 1], (e->>2)::int, keys[(e->>1)::int + 1], (e->>3)::int, e->>4
  from jsonb_array_elements(g->'edges') as e;
  perform towpath.place_job(b.key, b.lane, -b.priority::int,
    greatest(now_us, coalesce(now_us + b.delay_us, b.due_at, now_us)), now_us, null)
  from towpath.job b where b.key = any(keys) and b.parents = ''::bytea;
  insert into towpath.deadline (job, at)
  select b.key, b.deadline from towpath.job b where b.key = any(keys) and b.deadline is not null;
  if g ? 'unique' then
    perform towpath.take_key(now_us, 1, g->>'name', g->'unique', new_graph, new_id);
  end if;
  return jsonb_build_object('is', 'inserted', 'key', keys[1]);
end $towpath$;

-- Deletes a run that has ended and is no node, to make place for another one of its id; answers whether it was there. Waits for
-- who has it: a prune or a retry may be first.
create function towpath.replace_run(old_key bigint) returns boolean language plpgsql as $towpath$
begin
  delete from towpath.ended e where e.job = old_key;
  if not found then
    return false;
  end if;
  delete from towpath.output o where o.job = old_key;
  delete from towpath.progress p where p.job = old_key;
  delete from towpath.tag t where t.job = old_key;
  delete from towpath.mark m where m.job = old_key;
  delete from towpath.attempt a where a.job = old_key;
  delete from towpath.entry e where e.run = old_key;
  delete from towpath.shown s where s.run = old_key;
  delete from towpath.arrival v using towpath.run r where r.job = old_key and v.run = r.id;
  delete from towpath.run r where r.job = old_key;
  delete from towpath.job j where j.key = old_key;
  return true;
end $towpath$;

-- Starts a run whose id may be taken, with a signal, or with lines of another run's journal; all or nothing. Shares the lock of the
-- run's id before it looks: no worker parks it, or ends it with the signal unread, from there on.
create function towpath.start_run(now_us bigint, s jsonb) returns jsonb language plpgsql as $towpath$
declare
  j jsonb := s->'start';
  f jsonb := s->'fork';
  there record;
  of_key bigint;
  new_key bigint;
  lines int;
  sent jsonb := '{}';
  answer jsonb;
begin
  perform pg_advisory_xact_lock_shared('towpath.run'::regclass::int, towpath.run_lock(j->>'run'));
  -- One that is sent again, its signal with it, was carried out as a whole.
  if exists (select 1 from towpath.job b where b.id = (j->>'id')::uuid) then
    return towpath.enqueue_job(now_us, j);
  end if;
  loop
    select b.key, b.id, x.job is not null as has_ended, b.graph is not null as is_node into there
    from towpath.run r join towpath.job b on b.key = r.job left join towpath.ended x on x.job = r.job
    where r.id = j->>'run';
    if not found then
      -- Looked for after the run: a prune puts the one in the place of the other.
      select null::bigint as key, t.job as id, true as has_ended, false as is_node into there
      from towpath.tombstone t where t.run = j->>'run';
      exit when not found;
    end if;
    if s->>'taken' = 'replace' and there.has_ended and not there.is_node then
      -- A prune may be first and leave a tombstone, or a retry, and it lives: it is looked at again then.
      continue when there.key is not null and not towpath.replace_run(there.key);
      delete from towpath.tombstone t where t.run = j->>'run';
      exit;
    end if;
    if s->>'taken' = 'refuse' or there.has_ended then
      -- It says which job has the id.
      return towpath.enqueue_job(now_us, j);
    end if;
    if s ? 'signal' then
      sent := towpath.signal_items(jsonb_build_array(s->'signal'));
    end if;
    if sent->'items'->>0 = 'full' then
      return jsonb_build_object('is', 'inbox_full');
    end if;
    return sent || jsonb_build_object('is', 'run', 'id', there.id);
  end loop;
  begin
    if s ? 'signal' then
      sent := towpath.signal_items(jsonb_build_array(s->'signal'));
    end if;
    if sent->'items'->>0 = 'full' then
      return jsonb_build_object('is', 'inbox_full');
    end if;
    answer := towpath.enqueue_job(now_us, j);
    if s ? 'fork' and answer->>'is' = 'inserted' then
      select r.job into of_key
      from towpath.job b join towpath.run r on r.job = b.key where b.id = (f->>'of')::uuid;
      new_key := (answer->>'key')::bigint;
      -- The lines are counted as they are copied: no lock holds up the other run, or its prune.
      insert into towpath.entry (run, chapter, seq, codec, bytes, at)
      select new_key, 1, row_number() over (order by e.seq)::int, e.codec, e.bytes, e.at
      from towpath.entry e
      where e.run = of_key and e.chapter = (f->>'chapter')::int and e.seq >= 1 and e.seq < (f->>'below')::int
        and not f->'without' @> to_jsonb(e.seq);
      get diagnostics lines = row_count;
      if of_key is null or lines <> (f->>'lines')::int then
        raise exception 'the journal to fork is gone' using errcode = 'TP002';
      end if;
      insert into towpath.entry (run, chapter, seq, codec, bytes, at)
      values (new_key, 1, 0, (f->'first'->>'codec')::smallint, towpath.payload_of(f->'first'), now_us);
      update towpath.run r set entries = lines + 1, origin = f->>'origin' where r.job = new_key;
    end if;
  exception when sqlstate 'TP002' then
    return jsonb_build_object('is', 'journal_gone');
  end;
  return sent || answer;
end $towpath$;

-- Writes jobs and graphs, and starts runs, each accepted or refused alone; answers `now` and an answer for each item, in order.
-- Unique keys are locked first, in their order, so that two batches cannot wait for each other.
create function towpath.enqueue_items(items jsonb, at_us bigint default null) returns jsonb language plpgsql
  set enable_seqscan to off set jit to off as $towpath$
declare
  now_us bigint := coalesce(at_us, towpath.clock());
  answers jsonb := '[]';
  item jsonb;
  places record;
begin
  for places in
    select distinct case when i ? 'graph' then 1 else 0 end as scope,
      (case when i ? 'graph' then i->>'name' else i->>'kind' end) collate "C" as kind,
      (i->'unique'->>'key') collate "C" as key
    from jsonb_array_elements(items) as i where i ? 'unique' order by 1, 2, 3
  loop
    insert into towpath.unique_key as u (scope, kind, key, job, id, hold, at)
    values (places.scope, places.kind, places.key, 0, '00000000-0000-0000-0000-000000000000', 1, now_us)
    on conflict (scope, kind, key) do update set hold = u.hold;
  end loop;
  for item in select * from jsonb_array_elements(items) loop
    if item ? 'graph' then
      answers := answers || towpath.enqueue_graph_row(now_us, item);
    elsif item ? 'start' then
      answers := answers || towpath.start_run(now_us, item);
    else
      answers := answers || towpath.enqueue_job(now_us, item);
    end if;
  end loop;
  -- Keys of items that were refused for another reason.
  delete from towpath.unique_key u using (
    select case when i ? 'graph' then 1 else 0 end as scope, case when i ? 'graph' then i->>'name' else i->>'kind' end as kind,
      i->'unique'->>'key' as key
    from jsonb_array_elements(items) as i where i ? 'unique'
  ) as p
  where u.scope = p.scope and u.kind = p.kind and u.key = p.key and u.job = 0;
  return jsonb_build_object('now', now_us, 'items', answers);
end $towpath$;

-- Puts signals into the inboxes of runs and wakes those that are parked; answers `now`, what became of each signal, and the
-- lanes and the least seq of the woken. Who signals shares the locks of the runs first; the look is a later statement.
create function towpath.signal_items(items jsonb) returns jsonb language plpgsql
  set enable_seqscan to off set jit to off as $towpath$
declare
  now_us bigint := towpath.clock();
  answers jsonb := '[]';
  lanes jsonb := '[]';
  first_seq bigint;
  item jsonb;
  arrived bigint;
  is_there boolean;
  found_job record;
begin
  perform pg_advisory_xact_lock_shared('towpath.run'::regclass::int, l.lock)
  from (select distinct towpath.run_lock(i->>'run') as lock from jsonb_array_elements(items) as i order by 1) as l;
  for item in select * from jsonb_array_elements(items) loop
    if item->>'dedup' is not null and exists (
      select 1 from towpath.arrival a where a.run = item->>'run' and a.dedup = item->>'dedup')
    then
      answers := answers || '"duplicate"'::jsonb;
      continue;
    end if;
    is_there := exists (select 1 from towpath.run r where r.id = item->>'run');
    if (is_there and exists (
        select 1 from towpath.run r join towpath.ended e on e.job = r.job where r.id = item->>'run'))
      or (not is_there and exists (select 1 from towpath.tombstone t where t.run = item->>'run'))
    then
      answers := answers || '"ended"'::jsonb;
      continue;
    end if;
    select count(*) into arrived from towpath.arrival a where a.run = item->>'run';
    if arrived >= 10000 then
      answers := answers || '"full"'::jsonb;
      continue;
    end if;
    insert into towpath.arrival (seq, run, name, dedup, codec, bytes, at, prune_at)
    values (nextval('towpath.key'), item->>'run', item->>'name', item->>'dedup', (item->>'codec')::smallint,
      towpath.payload_of(item), now_us,
      case when not is_there then now_us + 2592000000000 end)
    on conflict (run, dedup) where dedup is not null do nothing;
    if not found then
      answers := answers || '"duplicate"'::jsonb;
      continue;
    end if;
    answers := answers || to_jsonb(case when is_there then 'delivered' else 'kept' end);
    delete from towpath.later l using towpath.run r
    where r.id = item->>'run' and l.job = r.job and l.parked returning l.* into found_job;
    if found then
      insert into towpath.ready (lane, turnout, seq, job, attempt, failures, crashes)
      values (found_job.lane, found_job.turnout, nextval('towpath.key'), found_job.job, found_job.attempt,
        found_job.failures, found_job.crashes);
      lanes := lanes || to_jsonb(found_job.lane);
      first_seq := least(coalesce(first_seq, currval('towpath.key')), currval('towpath.key'));
    end if;
  end loop;
  return jsonb_build_object('now', now_us, 'items', answers, 'lanes', lanes, 'first', first_seq);
end $towpath$;

-- Changes schedules, each if its revision is still the one that was read, and enqueues what it mints; answers of each whether it
-- was done, and the least key of its jobs. Locks the rows in the order given: who ticks writes only what is due, and a
-- deadlock with another is replayed.
create function towpath.write_schedules(items jsonb) returns jsonb language plpgsql
  set enable_seqscan to off set jit to off as $towpath$
declare
  now_us bigint := towpath.clock();
  answers jsonb := '[]';
  item jsonb;
  job jsonb;
  answer jsonb;
  is_done boolean;
  first_key bigint;
begin
  for item in select * from jsonb_array_elements(items) loop
    if item->>'revision' is null then
      insert into towpath.schedule (name, revision, next, body)
      values (item->>'name', nextval('towpath.key'), (item->>'next')::bigint, item->>'body') on conflict do nothing;
    elsif item->>'body' is null then
      delete from towpath.schedule s where s.name = item->>'name' and s.revision = (item->>'revision')::bigint;
    else
      update towpath.schedule s
      set revision = nextval('towpath.key'), next = (item->>'next')::bigint, body = item->>'body'
      where s.name = item->>'name' and s.revision = (item->>'revision')::bigint;
    end if;
    is_done := found;
    first_key := null;
    if is_done then
      for job in select * from jsonb_array_elements(item->'mint') loop
        answer := towpath.enqueue_job(now_us, job);
        first_key := least(coalesce(first_key, (answer->>'key')::bigint), (answer->>'key')::bigint);
      end loop;
    end if;
    if jsonb_typeof(item->'audit') = 'object' then
      insert into towpath.audit (key, at, actor, reason, action, target, outcome)
      values (nextval('towpath.key'), now_us, item->'audit'->>'actor', item->'audit'->>'reason',
        item->'audit'->>'action', item->>'name', item->'audit'->>(case when is_done then 'done' else 'stale' end));
    end if;
    answers := answers || jsonb_build_object('done', is_done, 'first', first_key);
  end loop;
  return answers;
end $towpath$;
