"""Addresses of stores and sources: reading them, and showing them without secrets."""

from __future__ import annotations

import os
import re

from holdover.compat.errors import AddressError

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://")
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
# Its value may stand in quotes, as libpq's do, and hold spaces.
_SECRET_PARAMETER = re.compile(
    r"(?i)([\w-]*(?:password|passwd|passphrase|pwd|secret|token|credential|access[_-]?key"
    r"|api[_-]?key|mechanismproperties)[\w-]*)=(?:'(?:[^'\\]|\\.)*(?:'|\Z)|[^&\s])*"
)
# What is no port, and so may be the password of a login that lost its host.
_NO_PORT = re.compile(
    r"((?:[^/?#\[\]]|\[[^\]]*\])*?:)(?!\d*(?:[,/?#]|\Z)).+", re.DOTALL
)
_VARIABLE = re.compile(r"[^\W\d][\w ]*")
# libpq's other way to write an address.
_KEYWORDS = re.compile(r"(?:\w+\s*=\s*\S+\s+)*(?:host|dbname|user|password)\s*=")
_MASK = "***"
_QUOTES = "'\""
# A known scheme with something else than `://` behind it.
_MISTYPED = re.compile(
    r"(?i)((?:postgres(?:ql)?|rediss?|sqlite|unix|memory|mysql|mariadb|upstash|https?"
    r"|mongodb|dynamodb|file)(?:\+\w+)?)\s*(?:[:;]|//)[:;/\\]*"
)
# What a path does not begin with: `user:password@`.
_LOGIN = re.compile(r"(?://)?[^/\\@:]*:[^@]*@")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_FORMS = {
    "postgresql": "postgresql://USER:PASSWORD@HOST/DATABASE",
    "postgres": "postgresql://USER:PASSWORD@HOST/DATABASE",
    "redis": "redis://USER:PASSWORD@HOST:6379/0",
    "rediss": "rediss://USER:PASSWORD@HOST:6379/0",
    "unix": "unix:///PATH/TO/SOCKET",
    "sqlite": "sqlite:///FILE, or sqlite:////ABSOLUTE/FILE",
    "memory": "memory://",
    "mysql": "mysql://USER:PASSWORD@HOST:3306/DATABASE",
    "mariadb": "mariadb://USER:PASSWORD@HOST:3306/DATABASE",
    "mongodb": "mongodb://USER:PASSWORD@HOST/DATABASE",
    "dynamodb": "dynamodb://TABLE?region=REGION",
    "file": "file:///ABSOLUTE/PATH",
    "upstash": "upstash+https://HOST",
}
_DRIVERS = ("postgresql", "postgres", "sqlite")
REDIS_SCHEMES = {"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"}
_UPSTASH_SCHEMES = {"upstash+https", "upstash+http"}
_UPSTASH_DOMAIN = ".upstash.io"
# Over HTTP there are no users: what stands before the `@` is a token.
_TOKENS = {"https", "http", *_UPSTASH_SCHEMES}
# Where a user alone is common; elsewhere a password was taken for one, most likely.
_LONE_USERS = ("postgres", "mysql", "mariadb", "mongodb")


def tidy(address: str) -> str:
    """An address without what a `.env` file or a paste leaves around it."""
    address = address.strip()
    while len(address) > 1 and address[0] in _QUOTES and address[0] == address[-1]:
        address = address[1:-1].strip()
    return address


def check_not_empty(address: str) -> None:
    """Refuse an empty address: for SQLite, it is a database that nobody can find.

    Raises:
        AddressError: Nothing is in it.
    """
    if not tidy(address):
        raise AddressError(
            "The address is empty.",
            hint="Give a path or URL; leave store= out, or None, for no store.",
        )


def resolve_env(address: str) -> str:
    """Follow `env:NAME`, which keeps a password out of the command line.

    Raises:
        AddressError: The variable is not set or empty, or the address is.
    """
    check_not_empty(address)
    address = tidy(address)
    if not address.startswith("env:"):
        return address
    name = address[len("env:") :]
    value = os.environ.get(name)
    if value is None and name and not _VARIABLE.fullmatch(name):
        # Not shown: it may be the address itself, with its password.
        raise AddressError(
            "What stands behind env: is not the name of a variable that is set.",
            hint="Write env:NAME, without a $, and set NAME to the address.",
        )
    if value is None or not tidy(value):
        raise AddressError(
            f"The environment variable {name or '(no name)'} is "
            f"{'not set' if value is None else 'empty'}.",
            hint="Set it to an address, for example postgresql://user@host/db.",
        )
    return tidy(value)


def scheme_of(address: str) -> str:
    """The URL's scheme; `"sqlite"` for a path, `"factory"` for `module:name`.

    `"keywords"` for `host=… dbname=…`, which nothing here takes.
    """
    found = _SCHEME.match(address)
    if found:
        return found[0][:-3].lower()
    if _KEYWORDS.match(address):
        return "keywords"
    return "factory" if _FACTORY.match(address) else "sqlite"


def is_upstash(address: str) -> bool:
    """Whether an address is one of Upstash's REST interface."""
    scheme = scheme_of(address)
    if scheme != "https":
        return scheme in _UPSTASH_SCHEMES
    place = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return place.partition(":")[0].lower().endswith(_UPSTASH_DOMAIN)


def sqlite_path(address: str) -> str:
    """The file of a bare path or of `sqlite:///relative`, `sqlite:////absolute`.

    Raises:
        AddressError: It names none, or looks like a mistyped URL or a login.
    """
    if "\0" in address:
        raise AddressError("No path holds a NUL.")
    if not _SCHEME.match(address):
        _check_path(address)
        return address
    path = address.split("://", 1)[1]
    if not path.startswith("/"):
        raise AddressError(
            f"{redact_url(address)!r} is not a SQLite address.",
            hint="Write sqlite:///file.db, or sqlite:////absolute/file.db.",
        )
    if path == "/":
        raise AddressError("The SQLite address names no file.")
    return path[1:]


def _check_path(path: str) -> None:
    """Refuse what was hardly meant as a path: a file by that name would be made."""
    login = _LOGIN.match(path) and not _DRIVE.match(path)
    if path == "-":
        raise AddressError(
            "Standard input and output are neither a source nor a target.",
            hint="Give the path of a file.",
        )
    if not (_MISTYPED.match(path) or login or "://" in path):
        return
    raise AddressError(
        f"{redact_url(path)!r} looks like a URL or a login, not like a path.",
        hint=right_form(path)
        or "Write postgresql://USER:PASSWORD@HOST/DATABASE or redis://…; for a file "
        "of that name, sqlite:///FILE.",
    )


def right_form(address: str) -> str:
    """A hint for a known scheme that is followed by a wrong separator; else empty."""
    found = _MISTYPED.match(address)
    form = _FORMS.get(found[1].lower().partition("+")[0]) if found else None
    return f"Write {form}." if form else ""


def refuse_driver(address: str) -> None:
    """Refuse an address of SQLAlchemy's, which names a driver, with the right form.

    Raises:
        AddressError: It does.
    """
    base, driver, _ = scheme_of(address).partition("+")
    if driver and base in _DRIVERS:
        raise AddressError(
            f"{redact_url(address)} names a driver, which no store's address does.",
            hint=f"Leave it out: {_FORMS[base]}.",
        )


def check_login(url: str) -> None:
    """Refuse a login that drivers would read otherwise than it was meant.

    They would take a part of the password for the host, and print it.

    Raises:
        AddressError: The user or password holds a bare `@` or `/`.
    """
    found = _SCHEME.match(url)
    place = url[found.end() :].partition("?")[0] if found else ""
    authority, _, path = place.partition("/")
    if authority.count("@") > 1 or "@" in path:
        raise AddressError(
            f"The login in {redact_url(url)} cannot be told from the host.",
            hint="In a user or password, write @ as %40, / as %2F and : as %3A.",
        )


def redact_url(address: str) -> str:
    """The address with every password replaced, safe to print and to store."""
    address = tidy(address)
    found = _SCHEME.match(address)
    if not found:
        return _SECRET_PARAMETER.sub(rf"\1={_MASK}", _masked_path(address))
    rest = address[found.end() :]
    if found[0].lower() == "sqlite://":
        return found[0] + _masked_path(rest)
    # The last `@` ends the user part, also where a password holds `@`, `/` or `?`;
    # where the two cannot be told apart, more is hidden rather than less.
    place = rest.partition("?")[0]
    userinfo, at, _ = (place if "@" in place else rest).rpartition("@")
    scheme = scheme_of(address)
    if at and (":" in userinfo or not scheme.startswith(_LONE_USERS)):
        hidden = len(userinfo) + 1
        user, colon, _ = userinfo.partition(":")
        if scheme in _TOKENS or not colon:
            user = ""
        rest = f"{user}:{_MASK}@" + rest[hidden:]
    elif not at and (lost := _NO_PORT.match(rest)):
        rest = f"{lost[1]}{_MASK}"
    return found[0] + _SECRET_PARAMETER.sub(rf"\1={_MASK}", rest)


def _masked_path(path: str) -> str:
    """A path, without the password of a login that was taken for one."""
    begin = _MISTYPED.match(path) or _DRIVE.match(path)
    start = begin.end() if begin else 0
    head, at, rest = path[start:].rpartition("@")
    user, colon, _ = head.partition(":")
    if at and colon:
        return f"{path[:start]}{user}:{_MASK}@{rest}"
    if at and _MISTYPED.match(path):
        return f"{path[:start]}{_MASK}@{rest}"
    return path
