"""Sends Redis commands to Upstash over HTTPS, where nothing but HTTPS gets out.

The protocol is JSON: a command is an array of strings, a pipeline an array of those.
Arguments therefore have to be UTF-8; answers may hold any bytes.
"""

from __future__ import annotations

import http.client
import os
import ssl
import time
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
from redis.exceptions import (
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)

from holdover.compat.errors import AddressError, StoreUnavailable, UnportableValue
from holdover.compat.stores.address import check_login, redact_url

_PREFIX = "upstash+"
_SCHEMES = {"https", "http"}
_TOKEN = "UPSTASH_REDIS_REST_TOKEN"  # noqa: S105 - the variable's name
_FORMS = "Write upstash+https://HOST, with the token in UPSTASH_REDIS_REST_TOKEN."

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60
_TRIES = 5
_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
#: Upstash refuses requests beyond a size that depends on the plan, 1 MB at least.
_REQUEST_BYTES = 900_000
_REQUEST_COMMANDS = 1_000
_TOO_LARGE = 413
_TOO_MANY = 429
_REFUSED = {401, 403}
_SERVER_FAILS = 500
_KINDS = {
    "NOPERM": NoPermissionError,
    "NOSCRIPT": NoScriptError,
    "OOM": OutOfMemoryError,
    "READONLY": ReadOnlyError,
}


def parse_upstash(address: str) -> tuple[str, str]:
    """Read an address: the URL to speak to, and the token.

    The token is the password of the address, or else `UPSTASH_REDIS_REST_TOKEN`.

    Raises:
        AddressError: There is no host or no token.
    """
    check_login(address)
    try:
        parts = urlsplit(address)
        scheme = parts.scheme.removeprefix(_PREFIX)
        place = parts.netloc.rpartition("@")[2]
        url = parts._replace(scheme=scheme, netloc=place).geturl()
        token = unquote(parts.password or parts.username or "")
    except ValueError:
        # urllib's own words may hold the token.
        error = AddressError(f"{redact_url(address)} is not an address.", hint=_FORMS)
    else:
        return url, token or os.environ.get(_TOKEN, "")
    raise error


class UpstashRest:
    """A client of one database that many threads may share.

    A request that fails on its way is sent again, so that a command may be carried
    out twice, as it is with redis-py.

    Args:
        url: `https://NAME.upstash.io`.
        token: The REST token.

    Raises:
        AddressError: The URL or the token cannot be one.
    """

    def __init__(self, url: str, token: str) -> None:
        self.shown = redact_url(url)
        self._token = token.strip()
        if not self._token.isascii() or not self._token.isprintable():
            raise AddressError("The token of Upstash is not one.", hint=_FORMS)
        if not self._token:
            raise AddressError(
                f"There is no token for {self.shown}.", hint=f"Set {_TOKEN}."
            )
        self._scheme, self._host, self._port, self._path = _place(url, self.shown)
        self._proxy = _proxy(self._scheme, self._host)
        self._tls = ssl.create_default_context() if self._scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        #: Makes a replica that answers wait for our own writes.
        self._written = ""

    @classmethod
    def from_address(cls, address: str) -> UpstashRest:
        """Make a client for `upstash+https://[:TOKEN@]HOST`."""
        return cls(*parse_upstash(address))

    def send(self, commands: Sequence[Sequence[bytes | str]]) -> list[Any]:
        """Send commands in order; strings come back as bytes.

        What the database refuses is an answer: a `redis.ResponseError`.

        Raises:
            UnportableValue: An argument is not UTF-8.
            StoreUnavailable: The service does not answer, or not to us.
        """
        answers = []
        for chunk in _chunks([_encoded(command) for command in commands]):
            answers += self._send(chunk)
        return answers

    def close(self) -> None:
        """Close the connections that are not in use; another `send` opens one."""
        while self._idle:
            self._idle.pop().close()

    def _send(self, chunk: list[bytes]) -> list[Any]:
        alone = len(chunk) == 1
        path, body = ("", chunk[0]) if alone else ("/pipeline", _array(chunk))
        status, document = self._exchange(path, body)
        if isinstance(document, dict) and (message := document.get("error")):
            if status in _REFUSED:
                raise StoreUnavailable(
                    f"Upstash at {self.shown} refuses the token.",
                    hint=f"Give that of this database in {_TOKEN}.",
                )
            if not alone and _is_too_large(status, str(message)):
                # The plan allows less than we thought; none of them was carried out.
                half = len(chunk) // 2
                return self._send(chunk[:half]) + self._send(chunk[half:])
            return [_refusal(str(message))] * len(chunk)
        answers = [document] if alone else document
        if isinstance(answers, list) and len(answers) == len(chunk):
            try:
                return [_answer(one) for one in answers]
            except (AttributeError, TypeError, KeyError, ValueError):
                pass
        raise self._not_upstash(status)

    def _exchange(self, path: str, body: bytes) -> tuple[int, Any]:
        """Ask until there is an answer, a few times; an answer may be a refusal."""
        for attempt in range(1, _TRIES + 1):
            pause = min(_PAUSE * 4 ** (attempt - 1), _LONGEST_PAUSE)
            try:
                status, raw, wait = self._post(path, body)
            except (OSError, http.client.HTTPException) as error:
                if attempt == _TRIES or isinstance(error, ssl.SSLCertVerificationError):
                    raise self._unreachable(error) from None
            else:
                if status != _TOO_MANY and status < _SERVER_FAILS:
                    return status, self._document(status, raw)
                if attempt == _TRIES:
                    raise self._failing(status)
                if wait.isdigit():
                    pause = min(max(pause, int(wait)), _LONGEST_PAUSE)
            time.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _post(self, path: str, body: bytes) -> tuple[int, bytes, str]:
        if self._process != os.getpid():  # forked: these are our parent's
            self._process, self._idle = os.getpid(), []
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Upstash-Encoding": "base64",
        }
        if self._written:
            headers["upstash-sync-token"] = self._written
        try:
            connection.request("POST", self._path + path, body, headers)
            if connection.sock is not None:
                connection.sock.settimeout(_ANSWER_SECONDS)
            response = connection.getresponse()
            raw = response.read()
        except BaseException:
            connection.close()
            self.close()  # what broke this one may have broken the others
            raise
        self._written = response.headers.get("upstash-sync-token", self._written)
        if not response.will_close:
            self._idle.append(connection)
        return response.status, raw, response.headers.get("Retry-After", "")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._proxy or (self._host, self._port)
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
        connection = http.client.HTTPSConnection(
            host, port, timeout=_CONNECT_SECONDS, context=self._tls
        )
        if self._proxy:
            connection.set_tunnel(self._host, self._port)
        return connection

    def _document(self, status: int, raw: bytes) -> Any:
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            error = self._not_upstash(status)
        raise error

    def _not_upstash(self, status: int) -> StoreUnavailable:
        return StoreUnavailable(
            f"What answers at {self.shown} is not Upstash's REST interface"
            f" (HTTP {status}).",
            hint="Give the URL that Upstash's console calls UPSTASH_REDIS_REST_URL.",
        )

    def _unreachable(self, error: Exception) -> StoreUnavailable:
        if isinstance(error, ssl.SSLCertVerificationError):
            return StoreUnavailable(
                f"The certificate of {self.shown} is not trusted.",
                hint="Name the authority that signed it in SSL_CERT_FILE.",
            )
        what = "does not answer" if isinstance(error, TimeoutError) else "is not there"
        return StoreUnavailable(
            f"Upstash at {self.shown} {what}.",
            hint="Check the address and the network, then run again.",
        )

    def _failing(self, status: int) -> StoreUnavailable:
        if status == _TOO_MANY:
            return StoreUnavailable(
                f"Upstash at {self.shown} takes no more requests for now.",
                hint="Run again later, or raise the limit of its plan.",
            )
        return StoreUnavailable(
            f"Upstash at {self.shown} fails (HTTP {status}).", hint="Run again later."
        )


def _place(url: str, shown: str) -> tuple[str, str, int, str]:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        usable = parts.scheme in _SCHEMES and parts.hostname
        if usable and not parts.query and not parts.username and not parts.password:
            return parts.scheme, parts.hostname or "", port, parts.path.rstrip("/")
    except ValueError:
        pass
    raise AddressError(f"{shown} is not an address of Upstash.", hint=_FORMS)


def _proxy(scheme: str, host: str) -> tuple[str, int] | None:
    """The proxy that the environment names for HTTPS, as other programs take it."""
    named = urllib.request.getproxies().get(scheme) if scheme == "https" else None
    if not named or urllib.request.proxy_bypass(host):
        return None
    parts = urlsplit(named if "://" in named else f"http://{named}")
    return parts.hostname or "localhost", parts.port or 80


def _encoded(command: Sequence[bytes | str]) -> bytes:
    try:
        return orjson.dumps(
            [part.decode() if isinstance(part, bytes) else part for part in command]
        )
    except (UnicodeDecodeError, TypeError):  # orjson refuses a lone surrogate
        error = UnportableValue(
            "Upstash's REST interface carries no argument that is not UTF-8.",
            hint="Use rediss:// to the same database, which carries any bytes.",
        )
    raise error


def _chunks(commands: list[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for command in commands:
        full = len(chunk) == _REQUEST_COMMANDS or size + len(command) > _REQUEST_BYTES
        if chunk and full:
            yield chunk
            chunk, size = [], 0
        chunk.append(command)
        size += len(command) + 1
    if chunk:
        yield chunk


def _array(commands: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(commands)


def _is_too_large(status: int, message: str) -> bool:
    return status == _TOO_LARGE or "max request size" in message.lower()


def _answer(document: dict[str, Any]) -> Any:
    if (message := document.get("error")) is not None:
        return _refusal(message)
    return _decoded(document["result"])


def _decoded(result: Any) -> Any:
    if isinstance(result, str):
        # The one string that is sent as it is; base64 has no text of two letters.
        return b"OK" if result == "OK" else b64decode(result, validate=True)
    if isinstance(result, list):
        return [_decoded(one) for one in result]
    return result


def _refusal(message: str) -> ResponseError:
    """The error as redis-py has it: its class and text without the first word."""
    word, _, rest = message.partition(" ")
    if word in _KINDS:
        return _KINDS[word](rest)
    return ResponseError(message.removeprefix("ERR "))
