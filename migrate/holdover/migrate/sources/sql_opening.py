"""Opens a database server to read it: an engine from an address, short snapshots.

A snapshot is a transaction that can only read and that ends with its block, so that
neither locks nor old row versions are held while a batch is being written elsewhere.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from holdover.compat.errors import AddressError
from holdover.compat.stores.address import (
    check_login,
    redact_url,
    resolve_env,
    scheme_of,
)
from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import Connection, Engine

CONNECT_SECONDS = 10

POSTGRES_SCHEMES = {"postgresql", "postgres"}
MYSQL_SCHEMES = {"mysql", "mariadb"}
#: What addresses of servers begin with, before a `+driver`.
SQL_SCHEMES = POSTGRES_SCHEMES | MYSQL_SCHEMES

# Of PostgreSQL's classes of errors, those whose messages name objects and never rows:
# connection, login, database, rights and names, resources, state, operators.
_SPEAKING_CLASSES = {"08", "28", "3D", "42", "53", "55", "57"}
_TIMEOUT_STATES = {"57014", "25P03", "25P04"}
_DENIED_STATES = {"42501"}
# Likewise for MariaDB and MySQL; from 2000 on they are the client's.
_SPEAKING_CODES = {1040, 1044, 1045, 1049, 1129, 1130, 1142, 1143, 1146, 1205, 1227}
_TIMEOUT_CODES = {1317, 1969, 3024}
_DENIED_CODES = {1044, 1142, 1143, 1227}
_CLIENT_CODES = range(2000, 3000)
# Servers that speak the protocol without having all of it: the statement is left out.
_NOT_SUPPORTED = {1064, 1193, 1231, 1235, 1706}
_MYSQL_SETTINGS = (
    # A TIMESTAMP is given in the session's zone.
    "SET time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION READ ONLY",
)


class StatementTimeout(SourceUnavailable):
    """The server ended a statement because it took too long."""

    code = "source-timeout"


class SqlServer:
    """A database of a server, connected when it is first read.

    Attributes:
        address: The address without its password.
        backend: What locators begin with: `postgresql`, `mysql` or `mariadb`.
        label: What it is, for a person.
        is_postgres: Whether it is a PostgreSQL.

    Args:
        address: `postgresql://…` as libpq reads it, `mysql://…` or `mariadb://…` as
            SQLAlchemy does; a `+driver` is accepted and does not matter.

    Raises:
        AddressError: It cannot be read, or is of another kind.
    """

    def __init__(self, address: str) -> None:
        address = resolve_env(address)
        check_login(address)
        scheme = scheme_of(address).partition("+")[0]
        if scheme not in SQL_SCHEMES:
            raise AddressError(
                f"{redact_url(address)} is not an address of a database server.",
                hint="Write postgresql://USER:PASSWORD@HOST/DATABASE, or mysql://….",
            )
        self.is_postgres = scheme in POSTGRES_SCHEMES
        self.backend = "postgresql" if self.is_postgres else scheme
        self.label = "PostgreSQL" if self.is_postgres else "MariaDB or MySQL"
        self.address = redact_url(address)
        self._url = f"{self.backend}://{address.partition('://')[2]}"
        self._made: Engine | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection in a transaction that reads one moment, and end it.

        Raises:
            SourceUnavailable: The database cannot be reached or read.
        """
        errors = _sqlalchemy().exc
        try:
            with self._engine.connect() as connection:
                yield connection
        except errors.SQLAlchemyError as error:
            raise self.unavailable(error) from None

    @cached_property
    def database(self) -> str:
        """The name of the database, as it calls itself."""
        ask = "SELECT current_database()" if self.is_postgres else "SELECT database()"
        with self.reading() as connection:
            return str(connection.exec_driver_sql(ask).scalar() or "")

    def unavailable(self, error: BaseException) -> SourceUnavailable:
        """Say in one sentence what an error means; never what a row holds."""
        said = f"{self.label} at {self.address} cannot be read: {_said(error)}."
        if _is_one(error, _TIMEOUT_STATES, _TIMEOUT_CODES):
            hint = "Raise this login's limit on the time of a statement."
            return StatementTimeout(said, hint=hint)
        hint = "Check the address, the login and that the server is up."
        if _is_one(error, _DENIED_STATES, _DENIED_CODES):
            hint = "Grant SELECT on it to this login; nothing else is needed."
        return SourceUnavailable(said, hint=hint)

    def close(self) -> None:
        """Give back the connections."""
        if self._made is not None:
            self._made.dispose()
            self._made = None

    @property
    def _engine(self) -> Engine:
        if self._made is None:
            create = _sqlalchemy().create_engine
            if self.is_postgres:
                dialect, connect = "postgresql+psycopg://", self._postgres()
            else:
                # Not the dialect of MariaDB, which refuses everything else.
                dialect, connect = "mysql+pymysql://", self._mysql()
            self._made = create(
                dialect,
                creator=connect,
                pool_pre_ping=True,
                hide_parameters=True,
            )
        return self._made

    def _postgres(self) -> Callable[[], Any]:
        psycopg = _needed("psycopg", "PostgreSQL", "postgres,sql")
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._url)
        except psycopg.ProgrammingError:
            # What libpq says quotes the part it cannot read: perhaps the password.
            raise SourceNotFound(
                f"{self.address} is not an address libpq can read.",
                hint="Percent-encode special characters: a space is %20, % is %25.",
            ) from None
        level = psycopg.IsolationLevel.REPEATABLE_READ
        settings: dict[str, Any] = {
            "application_name": "holdover",
            "client_encoding": "UTF8",
            # Poolers hand each transaction to another server process.
            "prepare_threshold": None,
        }
        if "connect_timeout" not in given:
            settings["connect_timeout"] = CONNECT_SECONDS

        def connect() -> Any:
            connection = psycopg.connect(self._url, **settings)
            connection.read_only = True
            connection.isolation_level = level
            return connection

        return connect

    def _mysql(self) -> Callable[[], Any]:
        pymysql = _needed("pymysql", "MariaDB and MySQL", "mysql")
        arguments = self._mysql_arguments()

        def connect() -> Any:
            try:
                connection = pymysql.connect(**arguments)
            except TypeError:
                raise SourceNotFound(
                    f"{self.address} has a parameter that PyMySQL does not know.",
                    hint="Its parameters are those of pymysql.connect().",
                ) from None
            except RuntimeError as error:
                # MySQL's way to send a password needs a package more.
                raise SourceUnavailable(
                    f"The login at {self.address} needs a package that is missing:"
                    " cryptography.",
                    hint="Run: pip install 'holdover[mysql]'",
                ) from error
            with connection.cursor() as cursor:
                for statement in _MYSQL_SETTINGS:
                    try:
                        cursor.execute(statement)
                    except pymysql.MySQLError as error:
                        if error.args[:1] and error.args[0] in _NOT_SUPPORTED:
                            continue
                        raise
            return connection

        return connect

    def _mysql_arguments(self) -> dict[str, Any]:
        package = _sqlalchemy()
        try:
            url = package.make_url(f"mysql+pymysql://{self._url.partition('://')[2]}")
            _, arguments = url.get_dialect()().create_connect_args(url)
        except (package.exc.ArgumentError, ValueError, TypeError):
            raise SourceNotFound(
                f"{self.address} is not an address that can be read.",
                hint="Write mysql://USER:PASSWORD@HOST:3306/DATABASE, and in a user or"
                " password @ as %40, / as %2F and : as %3A.",
            ) from None
        if not url.database:
            raise SourceNotFound(
                f"{self.address} names no database.",
                hint="Write mysql://USER:PASSWORD@HOST:3306/DATABASE.",
            )
        defaults = {"charset": "utf8mb4", "connect_timeout": CONNECT_SECONDS}
        return {**defaults, **arguments}


def _is_one(error: BaseException, states: set[str], codes: set[int]) -> bool:
    cause = getattr(error, "orig", None) or error
    state, first = getattr(cause, "sqlstate", None), next(iter(cause.args), None)
    return state in states or (isinstance(first, int) and first in codes)


def _said(error: BaseException) -> str:
    """What a driver said, in one line, where that cannot quote a row."""
    cause = getattr(error, "orig", None) or error
    code, *texts = cause.args or ("",)
    if isinstance(code, int):
        speaks = code in _SPEAKING_CODES or code in _CLIENT_CODES
        return _line(str(texts[0])) if speaks and texts else f"error {code}"
    state = getattr(cause, "sqlstate", None)
    if state is not None:
        diagnostic = getattr(cause, "diag", None)
        text = getattr(diagnostic, "message_primary", None)
        if text and state[:2] in _SPEAKING_CLASSES:
            return _line(text)
        return f"error {state}"
    if type(cause).__name__ == "OperationalError":  # while connecting
        return _line(str(cause))
    return type(cause).__name__


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip(".?")


def _sqlalchemy() -> Any:
    return _needed("sqlalchemy", "A database server", "sql")


def _needed(package: str, what: str, extra: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise UsageError(
            f"{what} needs packages that are not installed.",
            hint=f"Run: pip install 'holdover[{extra}]'",
        ) from error
