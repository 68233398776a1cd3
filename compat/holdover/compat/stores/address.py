"""Addresses of stores and sources: reading them, and showing them without secrets."""

from __future__ import annotations

import os
import re

from holdover.compat.errors import AddressError

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://")
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")
_SECRET_PARAMETER = re.compile(
    r"(?i)([\w-]*(?:password|passwd|pwd|secret|token|api[_-]?key))=([^&\s]*)"
)
# libpq's other way to write an address.
_KEYWORDS = re.compile(r"(?:\w+\s*=\s*\S+\s+)*(?:host|dbname|user|password)\s*=")
_MASK = "***"
REDIS_SCHEMES = {"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel"}
_UPSTASH_SCHEMES = {"upstash+https", "upstash+http"}
_UPSTASH_DOMAIN = ".upstash.io"
# Over HTTP there are no users: what stands before the `@` is a token.
_TOKENS = {"https", "http", *_UPSTASH_SCHEMES}


def resolve_env(address: str) -> str:
    """Follow `env:NAME`, which keeps a password out of the command line.

    Raises:
        AddressError: The variable is not set or empty.
    """
    if not address.startswith("env:"):
        return address
    name = address[len("env:") :]
    value = os.environ.get(name, "")
    if not value:
        raise AddressError(
            f"The environment variable {name or '(no name)'} is not set.",
            hint="Set it to an address, for example postgresql://user@host/db.",
        )
    return value


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
    """The file of a bare path or of `sqlite:///relative`, `sqlite:////absolute`."""
    if not _SCHEME.match(address):
        return address
    path = address.split("://", 1)[1]
    if not path.startswith("/"):
        raise AddressError(
            f"{address!r} is not a SQLite address.",
            hint="Write sqlite:///file.db, or sqlite:////absolute/file.db.",
        )
    if path == "/":
        raise AddressError("The SQLite address names no file.")
    return path[1:]


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
    found = _SCHEME.match(address)
    if not found:
        return _SECRET_PARAMETER.sub(rf"\1={_MASK}", address)
    if found[0].lower() == "sqlite://":
        return address
    rest = address[found.end() :]
    # The last `@` ends the user part, also where a password holds `@`, `/` or `?`;
    # where the two cannot be told apart, more is hidden rather than less.
    place = rest.partition("?")[0]
    userinfo, at, _ = (place if "@" in place else rest).rpartition("@")
    if at and (":" in userinfo or scheme_of(address) in _TOKENS):
        hidden = len(userinfo) + 1
        user = "" if scheme_of(address) in _TOKENS else userinfo.partition(":")[0]
        rest = f"{user}:{_MASK}@" + rest[hidden:]
    return found[0] + _SECRET_PARAMETER.sub(rf"\1={_MASK}", rest)
