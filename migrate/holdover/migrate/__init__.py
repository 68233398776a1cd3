"""Move what LangChain's classic memory left behind into a LangGraph store.

One function per command of `holdover`, usable from Python; each returns a
dataclass, and the command line only prints it:

    from holdover.migrate.scan import scan
    from holdover.migrate.run import migrate
    from holdover.migrate.verify import verify
    from holdover.migrate.status import status
    from holdover.migrate.rollback import rollback
    from holdover.migrate.care import forget, probe, sweep
    from holdover.migrate.options import Options
    from holdover.migrate.sources.base import ReadOptions
"""
