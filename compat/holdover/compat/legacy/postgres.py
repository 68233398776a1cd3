"""The table a classic `PostgresChatMessageHistory` kept: only selected from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdover.compat.adopting import OldItems
from holdover.compat.errors import AddressError, MissingDependency, StoreUnavailable
from holdover.compat.legacy.histories import OldHistory, OldMessage, read_message
from holdover.compat.stores.address import redact_url, resolve_env, scheme_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.store.base import BaseStore

# The classic class wrote its table's name without quotes, so case is folded, and a
# schema may stand before it.
_NAME = "SELECT to_regclass(%s)::text AS name, current_database() AS base"
_ROWS = "SELECT id, message FROM {} WHERE session_id::text = %s ORDER BY id"


class LegacyJsonbTable(OldHistory):
    """One session's rows: `id`, `session_id`, `message`.

    Args:
        address: The classic connection string.
        table: The classic table name.
        session: The session id.
        opened: A store in that database, whose connections may be used.
    """

    def __init__(
        self, address: str, table: str, session: str, opened: BaseStore | None
    ) -> None:
        super().__init__(table)
        self._address, self._table, self._session = address, table, session
        self._opened = opened
        self._database = ""

    @property
    def locator(self) -> str:
        """Database and table."""
        return f"postgresql:{self._database}#{self._table}"

    def read(self) -> OldItems | None:
        """See `OldHistory.read`."""
        try:
            import psycopg  # noqa: PLC0415 - an extra

            from holdover.compat.stores.postgres import reason  # noqa: PLC0415
        except ImportError as error:
            raise MissingDependency(
                "PostgreSQL needs packages that are not installed.",
                hint="Run: pip install 'holdover[postgres]'",
            ) from error
        if "\x00" in self._session or not _is_unicode(self._session):
            # The classic class could not have written it.
            return None
        try:
            rows = self._rows()
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"The old table {self._table} cannot be read: {reason(error)}.",
                hint="Check it, or pass legacy='off' to go on without it.",
            ) from error
        return self._items(
            OldMessage(row["id"], read_message(row["message"])) for row in rows
        )

    def _rows(self) -> Sequence[dict[str, Any]]:
        pool: Any = getattr(self._opened or self._reading(), "conn", None)
        with pool.connection() as connection:
            found = connection.execute(_NAME, (self._table,)).fetchone()
            self._database = found["base"]
            if found["name"] is None:
                return []
            # What the server made of the name is quoted as it has to be.
            query = _ROWS.format(found["name"])
            rows: list[dict[str, Any]] = connection.execute(
                query, (self._session,)
            ).fetchall()
        return rows

    def _reading(self) -> BaseStore:
        from holdover.compat.stores.opening import open_store  # noqa: PLC0415

        return open_store(libpq_url(self._address), setup=False)


def libpq_url(address: str) -> str:
    """A URL for what libpq takes as an address.

    Raises:
        AddressError: It is of another kind, or cannot be read.
    """
    address = resolve_env(address)
    scheme = scheme_of(address)
    if scheme in ("postgresql", "postgres"):
        return address
    if scheme != "keywords":
        raise AddressError(
            f"{redact_url(address)} is not an address of PostgreSQL.",
            hint="Give postgresql://user@host/database, or pass store=.",
        )
    import psycopg  # noqa: PLC0415 - an extra
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        raise AddressError(
            f"{redact_url(address)} is not an address libpq can read."
        ) from None
    # Everything as a parameter: a host may be a folder, or several.
    database = quote(str(parts.pop("dbname", "")), safe="")
    query = "&".join(f"{name}={quote(str(value))}" for name, value in parts.items())
    return f"postgresql:///{database}?{query}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
