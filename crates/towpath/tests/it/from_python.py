"""Enqueues inside transactions of psycopg's own. Called with a URL and a schema; prints what it was told, as JSON."""

import datetime
import json
import sys

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

url, schema = sys.argv[1:]
told = {}

with psycopg.connect(url, autocommit=True) as db:
    db.execute(sql.SQL("set search_path to {}").format(sql.Identifier(schema)))
    db.execute("create table py_orders (id int primary key)")

    class SoldOut(Exception):
        pass

    try:
        with db.transaction():
            db.execute("insert into py_orders values (1)")
            db.execute("select enqueue('ship', %s)", [Jsonb(1)])
            db.execute("select enqueue_graph(%s)", [Jsonb({"name": "lost", "nodes": [{"name": "a", "kind": "ship"}]})])
            raise SoldOut
    except SoldOut:
        pass
    told["after_rollback"] = db.execute("select count(*) from py_orders").fetchone()[0]

    with db.transaction():
        db.execute("insert into py_orders values (7)")
        enqueue = "select enqueue('ship', %s, unique_key => %s, tags => %s, headers => %s, attempts => 3)"
        given = [Jsonb(7), "order-7", ["python", "shop=7"], Jsonb({"tenant": "7"})]
        told["job"] = str(db.execute(enqueue, given).fetchone()[0])
        told["again"] = str(db.execute(enqueue, given).fetchone()[0])
        later = "select enqueue('ship', %s, delay => %s, deadline => %s)"
        tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=2)
        told["later"] = str(db.execute(later, [Jsonb(8), datetime.timedelta(days=1), tomorrow]).fetchone()[0])
        nodes = [
            {"name": "pack", "kind": "ship", "input": 1},
            {"name": "send", "kind": "ship", "input": 2, "after": ["pack"]},
        ]
        told["graph"] = str(db.execute("select enqueue_graph(%s)", [Jsonb({"name": "order", "nodes": nodes})]).fetchone()[0])
    db.execute("select wake()")

    try:
        db.execute("select enqueue('Ship')")
    except psycopg.Error as refused:
        told["refused"] = [refused.sqlstate, refused.diag.message_primary]

    with db.transaction():
        db.execute("select cancel(%s, actor => 'ann', reason => 'sold out')", [told["later"]])
    db.execute("select wake()")

print(json.dumps(told))
