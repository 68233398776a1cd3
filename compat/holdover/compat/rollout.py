"""Which sessions go first: a share of them by hash, the same everywhere, every time.

`holdover migrate --sample 10%` moves the sessions for which `in_share(session, 0.1)` is
true, so an application that asks the same question sends just those to the new code.
"""

from __future__ import annotations

from hashlib import sha256

__all__ = ["in_share"]


def in_share(session: str, share: float) -> bool:
    """Whether a session is in a share of all sessions.

    Args:
        session: The session id, as the old classes were given it.
        share: From 0, none, to 1, all. A larger share holds every smaller one.
    """
    digest = sha256(session.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) / 2**64 < share
