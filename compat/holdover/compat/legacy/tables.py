"""The table a classic `SQLChatMessageHistory` kept: only selected from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdover.compat.adopting import OldItems
from holdover.compat.legacy.histories import OldHistory, OldMessage, read_message
from holdover.compat.message_keys import MAX_POSITION
from holdover.compat.message_records import message_content
from holdover.compat.sql_engines import database_file, sqlalchemy, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

Row = tuple[Any, dict[str, Any] | None]


class LegacyTable(OldHistory):
    """One session's rows, by an engine that the caller has, or makes at first use.

    Args:
        engine: Gives the engine, sync or asyncio.
        table: The table's name.
        column: The column of the session id.
        session: The session id.
        converter: A classic message converter, for another table layout.
    """

    def __init__(
        self,
        engine: Callable[[], Engine | AsyncEngine],
        table: str,
        column: str,
        session: str,
        converter: Any = None,
    ) -> None:
        super().__init__(table)
        self._engine = engine
        self._table, self._column, self._session = table, column, session
        self._converter = converter
        self._database = ""

    @property
    def locator(self) -> str:
        """Database and table."""
        return f"{self._database}#{self._table}"

    def read(self) -> OldItems | None:
        """See `OldHistory.read`."""
        engine: Any = self._engine()
        if self._is_missing(engine):
            return None
        try:
            with engine.connect() as connection:
                return self._found(connection)
        except sqlalchemy().exc.SQLAlchemyError as error:
            raise unreadable(self._table, error) from None

    async def aread(self) -> OldItems | None:
        """See `OldHistory.read`; an asyncio engine is used in this loop."""
        engine: Any = self._engine()
        if not hasattr(engine, "sync_engine"):
            return await asyncio.to_thread(self.read)
        if self._is_missing(engine):
            return None
        try:
            async with engine.connect() as connection:
                found: OldItems | None = await connection.run_sync(self._found)
        except sqlalchemy().exc.SQLAlchemyError as error:
            raise unreadable(self._table, error) from None
        return found

    def _is_missing(self, engine: Any) -> bool:
        """Whether there is no file: connecting would make one."""
        file = database_file(engine.url)
        self._database = engine.url.get_backend_name()
        name = Path(file).name if file else engine.url.database or ""
        self._database += f":{name}"
        return file is not None and not Path(file).exists()

    def _found(self, connection: Connection) -> OldItems | None:
        try:
            self._session.encode()
        except UnicodeEncodeError:
            # The classic class could not have written it.
            return None
        package = sqlalchemy()
        model = self._converter and self._converter.get_sql_model_class()
        name, schema = self._table, None
        if model is not None:
            described = package.inspect(model).local_table
            name, schema = described.name, described.schema
        if not package.inspect(connection).has_table(name, schema=schema):
            return None
        rows = (
            self._plain_rows(connection)
            if model is None
            else self._converted_rows(connection, model)
        )
        return self._items(_placed(rows))

    def _plain_rows(self, connection: Connection) -> list[Row]:
        package = sqlalchemy()
        number, message = package.column("id"), package.column("message")
        session = package.column(self._column, package.Text)
        if connection.dialect.name == "sqlite":
            # Text that is no valid UTF-8 is found out row by row.
            message = package.cast(message, package.LargeBinary)
        statement = (
            package.select(number, message)
            .select_from(package.table(self._table))
            .where(session == self._session)
            .order_by(number)
        )
        return [(row[0], read_message(row[1])) for row in connection.execute(statement)]

    def _converted_rows(self, connection: Connection, model: Any) -> list[Row]:
        from sqlalchemy.orm import Session  # noqa: PLC0415 - takes long to load

        column = getattr(model, self._column)
        statement = sqlalchemy().select(model).where(column == self._session)
        with Session(bind=connection) as session:
            rows = session.scalars(statement.order_by(model.id.asc()))
            return [(row.id, self._converted(row)) for row in rows]

    def _converted(self, row: Any) -> dict[str, Any] | None:
        try:
            return message_content(self._converter.from_sql_model(row))
        except Exception:  # noqa: BLE001 - of the application's own converter
            return None


def _placed(rows: Sequence[Row]) -> list[OldMessage]:
    """Rows at their ids, or by number where those are no numbers in order."""
    ids = [number for number, _ in rows]
    ordered = all(
        isinstance(number, int) and 0 <= number <= MAX_POSITION for number in ids
    ) and len(set(ids)) == len(ids)
    return [
        OldMessage(number if ordered else at, content)
        for at, (number, content) in enumerate(rows)
    ]
