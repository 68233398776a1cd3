"""Rewrites old LangChain imports and arguments in source files."""
