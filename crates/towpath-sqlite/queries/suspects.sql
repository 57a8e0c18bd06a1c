-- Counts open graphs again, the oldest first behind one.
-- ?1 the key behind which to look, ?2 how many nodes and edges, ?3 most graphs, ?4 and ?5 the stops of graphs that are left
-- out, ?6 the role of undos: numbers.
-- Returns graph, id, whether it is left out, whether a node that waits has other counters than its edges say, or does not
-- stand where they put it; by graph.
-- Index: graph (graph), stop (graph), node (graph, name), edge (parent, ord), node (job), ended (job), undecided (job),
-- running (job).
with behind as (
    select graph, id, nodes + edges as size from graph where "end" is null and graph > ?1 order by graph limit ?3
),
part as materialized (
    select b.graph, b.id, s.reason in (?4, ?5) as held
    from (select graph, id, sum(size) over (order by graph) - size as before from behind) b
    left join stop s on s.graph = b.graph
    where b.before < ?2
),
verdict as materialized (
    select
        p.graph, e.child,
        case
            when x.job is null then -1
            when e.label is not null and x.state = 0
                and not exists (select 1 from json_each(ifnull(x.branches, '[]')) as b where b.value = e.label) then 2
            else (e.verdicts >> (2 * x.state)) & 3
        end as verdict
    from part p
    cross join node n on n.graph = p.graph
    cross join edge e on e.parent = n.job
    left join ended x on x.job = n.job
    where p.held is not 1
),
total as (
    select
        graph, child, count(case verdict when -1 then 1 end) as waits, count(case verdict when 0 then 1 end) as ok,
        count(case verdict when 2 then 1 end) as untaken, count(case verdict when 1 then 1 end) as spoiled
    from verdict
    group by graph, child
),
wrong as (
    select distinct t.graph
    from total t
    join node n on n.job = t.child
    where n.phase < 2
        and n.role & ?6 = 0
        and not exists (select 1 from ended x where x.job = n.job)
        and (
            (n."left", n.ok, n.untaken, n.spoiled) <> (t.waits, t.ok, t.untaken, t.spoiled)
            or n.phase = 0 and (n."left" = 0 or n.eager and n.ok >= n.need)
            or n.phase = 1
                and not exists (select 1 from undecided u where u.job = n.job)
                and not exists (select 1 from running r where r.job = n.job)
        )
)
select p.graph, p.id, p.held is 1, p.graph in (select graph from wrong) from part p order by p.graph
