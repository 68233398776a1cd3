"""Move what LangChain's classic memory left behind into a LangGraph store."""
