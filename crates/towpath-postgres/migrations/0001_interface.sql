-- The interface for other languages: functions to call inside a transaction of one's own. A refusal is an error of SQL that
-- names the thing and the remedy, and nothing is written.

-- Refuses a name that cannot be one.
create function towpath.check_name(what text, name text) returns void language plpgsql as $towpath$
begin
  if name is null or name !~ '^[a-z0-9._-]{1,64}$' then
    raise exception '% % cannot be one: use 1 to 64 of a-z 0-9 . _ -', what, coalesce(quote_literal(name), 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  if what = 'kind' and starts_with(name, 'towpath' || '.') then
    raise exception 'the kind % is kept for the product: choose another', quote_literal(name)
      using errcode = 'invalid_parameter_value';
  end if;
end $towpath$;

-- What became of one item: the id of its job, or an error.
create function towpath.accepted(answer jsonb, own_id uuid, own_kind text, own_key text) returns uuid
language plpgsql as $towpath$
begin
  case answer->>'is'
    when 'inserted' then return own_id;
    when 'existing' then return own_id;
    when 'held' then return (answer->>'id')::uuid;
    when 'replaced' then return (answer->>'id')::uuid;
    when 'key_taken' then
      raise exception 'the unique key % is held by job %: wait until it is free, or use that one', quote_literal(own_key),
        answer->>'id' using errcode = 'unique_violation';
    else
      raise exception 'the id % is taken by a job of kind % with other content: draw another id', own_id, answer->>'kind'
        using errcode = 'unique_violation';
  end case;
end $towpath$;

-- Enqueues a job in the caller's transaction and answers its id. With a unique key that another live job of the kind has, it
-- answers that job's id and writes nothing; `on_conflict` says otherwise: 'reject', or 'replace' for all its fields.
-- Workers find it at their next poll; `wake` after the commit is faster.
create function towpath.enqueue(
  kind text, input jsonb default 'null', queue text default 'default', priority int default 0,
  delay interval default null, due timestamptz default null, deadline timestamptz default null, version int default 1,
  attempts int default null, unique_key text default null, on_conflict text default 'existing',
  tags text[] default null, headers jsonb default null, id uuid default null
) returns uuid language plpgsql as $towpath$
declare
  own_id uuid := coalesce(id, gen_random_uuid());
  item jsonb;
begin
  perform towpath.check_name('kind', kind);
  perform towpath.check_name('queue', queue);
  if input is null then
    input := 'null';
  end if;
  if octet_length(input::text) > 1048576 then
    raise exception 'the input of job % (%) has % bytes, at most 1048576 are allowed', own_id, kind,
      octet_length(input::text) using errcode = 'program_limit_exceeded';
  end if;
  if priority not between -32768 and 32767 or version not between 0 and 65535 or attempts < 1 then
    raise exception 'the priority is -32768 to 32767, the version 0 to 65535, attempts are at least 1'
      using errcode = 'invalid_parameter_value';
  end if;
  if unique_key is not null and (octet_length(unique_key) not between 1 and 256 or unique_key ~ '[[:cntrl:]]') then
    raise exception 'the unique key % cannot be one: use 1 to 256 bytes without control characters',
      quote_literal(left(unique_key, 200)) using errcode = 'invalid_parameter_value';
  end if;
  if on_conflict not in ('existing', 'reject', 'replace') then
    raise exception 'on_conflict is existing, reject or replace, not %', quote_literal(on_conflict)
      using errcode = 'invalid_parameter_value';
  end if;
  if cardinality(tags) > 32
    or exists (select 1 from unnest(tags) as t where octet_length(t) not between 1 and 128 or t ~ '[[:cntrl:]]')
  then
    raise exception 'at most 32 tags are allowed, each of 1 to 128 bytes without control characters'
      using errcode = 'program_limit_exceeded';
  end if;
  if headers is not null and (jsonb_typeof(headers) <> 'object' or octet_length(headers::text) > 4096
    or exists (select 1 from jsonb_each(headers) as h where jsonb_typeof(h.value) <> 'string'))
  then
    raise exception 'headers are a JSON object of texts, at most 4096 bytes' using errcode = 'invalid_parameter_value';
  end if;
  item := jsonb_strip_nulls(jsonb_build_object(
    'id', own_id, 'kind', kind, 'version', version, 'queue', queue, 'priority', priority, 'codec', 0,
    'delay_us', (extract(epoch from delay) * 1000000)::bigint,
    'due_at', (extract(epoch from due) * 1000000)::bigint,
    'deadline', (extract(epoch from deadline) * 1000000)::bigint,
    'rules', nullif(jsonb_strip_nulls(jsonb_build_object(
      'retry', case when attempts is not null then jsonb_build_object('attempts_max', attempts) end,
      'own_key', case when unique_key is not null then jsonb_build_object('key', unique_key) end)), '{}')::text,
    'tags', nullif(to_jsonb(tags)::text, '[]'), 'headers', nullif(headers::text, '{}'), 'input', input::text,
    'unique', case when unique_key is not null then jsonb_build_object('key', unique_key, 'hold', 1, 'fields', 255,
      'clash', case on_conflict when 'existing' then 0 when 'reject' then 1 else 2 end) end));
  return towpath.accepted(towpath.enqueue_items(jsonb_build_array(item))->'items'->0, own_id, kind, unique_key);
end $towpath$;

-- Hands something to the next worker of the queue, whose core judges it; a refusal is the error of the job, whose id is the
-- answer.
create function towpath.take_in(what jsonb, in_queue text) returns uuid language plpgsql as $towpath$
declare
  own_id uuid := gen_random_uuid();
begin
  perform towpath.check_name('queue', in_queue);
  if octet_length(what::text) > 1048576 then
    raise exception 'it has % bytes, at most 1048576 are allowed: enqueue it in parts', octet_length(what::text)
      using errcode = 'program_limit_exceeded';
  end if;
  perform towpath.enqueue_items(jsonb_build_array(jsonb_build_object('id', own_id, 'kind', 'towpath' || '.intake', 'version', 1,
    'queue', in_queue, 'priority', 0, 'codec', 0, 'input', what::text)));
  return own_id;
end $towpath$;

-- Enqueues a graph in the caller's transaction and answers its id. It is there once a worker of the queue has taken it in; what
-- is wrong with it is the error of the intake job, which `towpath jobs --kind` of that name shows.
create function towpath.enqueue_graph(graph jsonb, queue text default 'default', id uuid default null) returns uuid
language plpgsql as $towpath$
declare
  own_id uuid := coalesce(id, (graph->>'id')::uuid, gen_random_uuid());
begin
  perform towpath.take_in(jsonb_build_object('graph', jsonb_build_object('id', own_id, 'graph', graph)), queue);
  return own_id;
end $towpath$;

-- Asks for the cancel of a job, once the transaction commits and a worker of the queue has taken the order in. Answers the id of
-- the intake job.
create function towpath.cancel(
  job uuid, actor text default current_user, reason text default '', queue text default 'default'
) returns uuid language plpgsql as $towpath$
begin
  return towpath.take_in(
    jsonb_build_object('cancel', jsonb_build_object('job', job, 'actor', actor, 'reason', reason)), queue);
end $towpath$;

-- Wakes the workers of a queue at once. For after the commit, in a transaction of its own: inside a transaction that
-- enqueues it makes commits wait for each other.
create function towpath.wake(queue text default 'default') returns void language sql as $towpath$
  select pg_notify(left('towpath' || '_' || trim(both '"' from left('towpath.', -1)), 63), 'sql ' || queue)
$towpath$;
