"""What is done with both libraries; importing it fills `comparing.SCENARIOS`."""

from parity.scenarios import (
    agents,
    buffers,
    chat,
    entities,
    graphs,
    histories,
    summaries,
    vectors,
    wrapping,
)

__all__ = [
    "agents",
    "buffers",
    "chat",
    "entities",
    "graphs",
    "histories",
    "summaries",
    "vectors",
    "wrapping",
]
