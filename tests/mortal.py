"""What tests send to processes of a pool: some calls do not survive."""

import os
import time

from holdover.migrate.codemod.running import examine


def number_of(path, wanted):
    """The length of a path; a path that is wanted dead ends the process."""
    if path in wanted:
        os._exit(11)
    if path.startswith("slow"):
        time.sleep(0.2)
    return len(path)


def examine_or_die(path, wanted):
    """What the codemod does with a file, but for one that ends the process."""
    if path.startswith("deadly"):
        os._exit(11)
    return examine(path, wanted)


def process_of(path, wanted):
    time.sleep(0.01)
    return os.getpid()
