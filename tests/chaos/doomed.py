"""A process that forks others to be killed: each begins with everything imported.

It reads one JSON object a line from stdin, says the pid of the child on stdout, and
when the child has ended how it ended and how many statements it sent.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path


def count_statements(crash_at, note):
    """Count what is sent to any target; end abruptly before the given one."""
    import psycopg

    from holdover.compat.stores import sqlite
    from holdover.compat.stores.redis_transport import RedisTransport

    sent = 0

    def one_more(*_):
        nonlocal sent
        sent += 1
        note.write_text(str(sent), "utf-8")
        if sent == crash_at:
            os._exit(9)

    connect = sqlite.connect

    def traced(*arguments, **options):
        conn = connect(*arguments, **options)
        conn.set_trace_callback(one_more)
        return conn

    sqlite.connect = traced
    wait = psycopg.Connection.wait

    def counted(self, *arguments, **options):
        one_more()
        return wait(self, *arguments, **options)

    psycopg.Connection.wait = counted
    send = RedisTransport.send

    def each(self, commands):
        # One command at a time: the process may end between any two.
        answers = []
        for command in commands:
            one_more()
            answers += send(self, [command])
        return answers

    RedisTransport.send = each


def carry_out(order):
    import old_sources

    from holdover.migrate.options import Options
    from holdover.migrate.rollback import rollback
    from holdover.migrate.run import migrate

    os.chdir(order["cwd"])
    if order["count"]:
        count_statements(order["crash_at"], Path(order["cwd"]) / "sent")
    if order["what"] == "rollback":
        rollback(order["target"])
        return 0
    if "workers" in order["options"]:
        old_sources.divide_what_is_small()
    options = Options(**order["options"])
    return migrate(order["source"], order["target"], options).exit_code


def child(order):
    try:
        code = carry_out(order)
    except BaseException:
        Path(order["cwd"], "error").write_text(traceback.format_exc(), "utf-8")
        code = 70
    os._exit(code)


def main():
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import holdover.migrate.rollback
    import holdover.migrate.run
    import holdover.migrate.sources.redis
    import holdover.migrate.sources.sql
    import holdover.migrate.sources.sqlite
    import holdover.migrate.targets.postgres
    import holdover.migrate.targets.redis
    import holdover.migrate.targets.sqlite  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if not pid:
            child(order)
        print(pid, flush=True)
        _, ended = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(ended), flush=True)


if __name__ == "__main__":
    main()
