"""What the codemod cannot read."""

from __future__ import annotations

from holdover.migrate.errors import MigrateError


class Unparsable(MigrateError):
    """A source is not Python 3, or nested too deeply.

    Attributes:
        line: Where the parser stopped, from 1; 0 when it cannot tell.
        reason: One short phrase.
    """

    code = "unparsable"

    def __init__(self, reason: str, *, line: int = 0, hint: str = "") -> None:
        where = f"line {line}: " if line else ""
        super().__init__(f"{where}{reason}", hint=hint)
        self.line = line
        self.reason = reason
