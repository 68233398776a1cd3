"""Sessions as LangGraph threads: `migrate --into threads`."""
