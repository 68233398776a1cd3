"""Other shapes of the same records: `migrate --layout langmem|deepagents`."""
