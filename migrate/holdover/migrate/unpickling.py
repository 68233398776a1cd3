"""Reads a pickle without running anything that it says.

A pickle is a program: it names functions and says what to call them with. Here
nothing is imported and nothing called. Numbers, texts, lists, mappings and sets are
what they are; of everything else, a `Placeholder` keeps the name it was pickled under
and what it was made of. A few functions of the standard library that only make such
values (`collections.OrderedDict`, `datetime.datetime`) are known by name, and their
work is done by code of our own; see `unpickling_known`.

Opcodes are carried out one after the other over bytes that are there already, so
neither depth nor a length that is a lie costs anything. What memory it takes is
estimated as it goes and bounded by `Limits`.
"""

from __future__ import annotations

import codecs
import pickletools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from sys import getsizeof
from typing import IO, Any

from holdover.migrate.errors import PickleTooLarge, UnreadablePickle
from holdover.migrate.pickled import Name, Placeholder
from holdover.migrate.unpickling_known import KNOWN, key_of

__all__ = [
    "DEFAULT",
    "Limits",
    "Name",
    "PickleTooLarge",
    "Placeholder",
    "UnreadablePickle",
    "load",
    "load_all",
    "read_bounded",
]


@dataclass(frozen=True)
class Limits:
    """How much one pickle may be.

    Attributes:
        size: Bytes of the pickle itself.
        memory: Bytes of what is in it, about: a byte can make an object of 200.
    """

    size: int = 1 << 30
    memory: int = 1 << 30


DEFAULT = Limits()
_NEWEST_PROTOCOL = 5
_CHUNK = 1 << 20


def load(raw: bytes | IO[bytes], limits: Limits = DEFAULT) -> Any:
    """Read the first pickle in some bytes or a file.

    Args:
        raw: The bytes, or a file opened for reading bytes.
        limits: How much it may be.

    Raises:
        UnreadablePickle: It is no pickle, or a damaged one.
        PickleTooLarge: It is over the limits.
    """
    for value in load_all(raw, limits):
        return value
    raise UnreadablePickle(0)


def load_all(raw: bytes | IO[bytes], limits: Limits = DEFAULT) -> Iterator[Any]:
    """Read pickles that were written one behind the other; see `load`."""
    data = raw if isinstance(raw, bytes) else read_bounded(raw, limits.size)
    if len(data) > limits.size:
        raise PickleTooLarge(limits.size)
    at, left = 0, limits.memory
    while at < len(data):
        machine = _Machine(data, at, left)
        yield machine.run()
        at, left = machine.at, machine.left


def read_bounded(file: IO[bytes], most: int) -> bytes:
    """All of a file, or a little more than `most` bytes of it.

    Asked for so many at once, Python takes the memory for them before it looks.
    """
    parts = []
    while most >= 0 and (part := file.read(_CHUNK)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


class _Stop(Exception):
    """The opcode that ends a pickle."""


class _Machine:
    """Carries out one pickle.

    Attributes:
        at: How far it has read.
        left: How much memory it may still take.
    """

    def __init__(self, data: bytes, at: int, left: int) -> None:
        self.at, self.left = at, left
        self._data = data
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._names: dict[tuple[str, str], Name] = {}

    def run(self) -> Any:
        """Read to the end of this pickle."""
        data, costs = self._data, _COSTS
        handlers = _HANDLERS
        try:
            while True:
                code = data[self.at]
                self.at += 1
                self.left -= costs[code]
                if self.left < 0:
                    raise PickleTooLarge(self.at)
                handler = handlers[code]
                if handler is None:
                    raise UnreadablePickle(self.at - 1)
                handler(self)
        except _Stop:
            return self._stack[0]
        except (
            IndexError,  # it ends too early, or takes what is not there
            KeyError,  # recalls what it never kept
            TypeError,
            ValueError,  # numbers and texts that are none
            struct.error,
        ) as error:
            raise UnreadablePickle(self.at) from error

    # What handlers share.

    def _charge(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise PickleTooLarge(self.at)

    def _take(self, length: int) -> bytes:
        """So many bytes of the pickle; the length is checked before anything is."""
        end = self.at + length
        if length < 0 or end > len(self._data):
            raise ValueError
        taken = self._data[self.at : end]
        self.at = end
        return taken

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> bytes:
        end = self._data.index(b"\n", self.at)
        return self._take(end - self.at + 1)[:-1]

    def _push(self, value: Any) -> None:
        """Push what may be long."""
        self._charge(getsizeof(value))
        self._stack.append(value)

    def _pop_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._below.pop()
        return items

    def _name(self, module: Any, name: Any) -> Name:
        if type(module) is not str or type(name) is not str:
            raise TypeError
        found = self._names.get((module, name))
        if found is None:
            self._charge(_OF_A_NAME + getsizeof(module) + getsizeof(name))
            found = self._names[module, name] = Name(module, name)
        return found

    def _made(
        self, maker: Any, arguments: Any, named: dict[Any, Any] | None = None
    ) -> Any:
        """What a call made, as far as it can be known without calling anything."""
        if not isinstance(maker, Name | Placeholder) or type(arguments) is not tuple:
            raise TypeError
        known = KNOWN.get((maker.module, maker.name))
        if known is not None and not named and isinstance(maker, Name):
            # It may copy what it is given, which may be something kept before.
            self._charge(sum(map(_size, arguments)))
            try:
                return known(*arguments)
            except (ArithmeticError, TypeError, ValueError):
                pass  # not what the real one would be called with
        return Placeholder(maker.module, maker.name, arguments, named or {})

    # Opcodes, by the names that `pickletools` has for them.

    def _proto(self) -> None:
        if self._take(1)[0] > _NEWEST_PROTOCOL:
            raise UnreadablePickle(self.at - 1, "It is of a newer protocol than 5.")

    def _frame(self) -> None:
        if self._number("<Q") > len(self._data) - self.at:
            raise ValueError

    def _stop(self) -> None:
        self._stack = [self._stack[-1]]
        raise _Stop

    def _mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._pop_mark()

    def _dup(self) -> None:
        self._stack.append(self._stack[-1])

    def _none(self) -> None:
        self._stack.append(None)

    def _newtrue(self) -> None:
        self._stack.append(True)

    def _newfalse(self) -> None:
        self._stack.append(False)

    def _int(self) -> None:
        line = self._line()
        if line in (b"00", b"01"):
            self._stack.append(line == b"01")
        else:
            self._push(int(line))

    def _binint(self) -> None:
        self._push(self._number("<i"))

    def _binint1(self) -> None:
        self._stack.append(self._data[self.at])
        self.at += 1

    def _binint2(self) -> None:
        self._push(self._number("<H"))

    def _long(self) -> None:
        self._push(int(self._line().rstrip(b"L")))

    def _long1(self) -> None:
        raw = self._take(self._take(1)[0])
        self._push(int.from_bytes(raw, "little", signed=True))

    def _long4(self) -> None:
        raw = self._take(self._number("<i"))
        self._push(int.from_bytes(raw, "little", signed=True))

    def _float(self) -> None:
        self._push(float(self._line()))

    def _binfloat(self) -> None:
        self._push(self._number(">d"))

    def _string(self) -> None:
        line = self._line()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):  # noqa: PLR2004 - its quotes
            raise ValueError
        self._push(_python_2(codecs.escape_decode(line[1:-1])[0]))

    def _binstring(self) -> None:
        self._push(_python_2(self._take(self._number("<i"))))

    def _short_binstring(self) -> None:
        self._push(_python_2(self._take(self._take(1)[0])))

    def _unicode(self) -> None:
        self._push(str(self._line(), "raw-unicode-escape"))

    def _binunicode(self) -> None:
        self._push(str(self._take(self._number("<I")), "utf-8", "surrogatepass"))

    def _binunicode8(self) -> None:
        self._push(str(self._take(self._number("<Q")), "utf-8", "surrogatepass"))

    def _short_binunicode(self) -> None:
        self._push(str(self._take(self._take(1)[0]), "utf-8", "surrogatepass"))

    def _binbytes(self) -> None:
        self._push(self._take(self._number("<I")))

    def _binbytes8(self) -> None:
        self._push(self._take(self._number("<Q")))

    def _short_binbytes(self) -> None:
        self._push(self._take(self._take(1)[0]))

    def _bytearray8(self) -> None:
        self._push(bytearray(self._take(self._number("<Q"))))

    def _empty_tuple(self) -> None:
        self._stack.append(())

    def _tuple(self) -> None:
        self._push_onto_below(tuple)

    def _tuple1(self) -> None:
        self._stack[-1] = (self._stack[-1],)

    def _tuple2(self) -> None:
        self._stack[-2:] = [(self._stack[-2], self._stack[-1])]

    def _tuple3(self) -> None:
        self._stack[-3:] = [(self._stack[-3], self._stack[-2], self._stack[-1])]

    def _empty_list(self) -> None:
        self._stack.append([])

    def _list(self) -> None:
        self._push_onto_below(list)

    def _push_onto_below(self, kind: Callable[[list[Any]], Any]) -> None:
        items = self._pop_mark()
        self._push(kind(items))

    def _empty_dict(self) -> None:
        self._stack.append({})

    def _dict(self) -> None:
        items = self._pop_mark()
        self._stack.append({})
        self._set_items(items)

    def _empty_set(self) -> None:
        self._stack.append(set())

    def _frozenset(self) -> None:
        items = self._pop_mark()
        self._charge(_OF_AN_ELEMENT * len(items))
        self._stack.append(frozenset(map(key_of, items)))

    def _append(self) -> None:
        item = self._stack.pop()
        self._add_items([item])

    def _appends(self) -> None:
        self._add_items(self._pop_mark())

    def _add_items(self, items: list[Any]) -> None:
        into = self._stack[-1]
        if type(into) is list:
            into += items
        elif isinstance(into, Placeholder):
            into.add_items(items)
        else:
            raise TypeError

    def _additems(self) -> None:
        items = self._pop_mark()
        into = self._stack[-1]
        if type(into) is set:
            self._charge(_OF_AN_ELEMENT * len(items))
            into.update(map(key_of, items))
        else:
            self._add_items(items)

    def _setitem(self) -> None:
        value = self._stack.pop()
        key = self._stack.pop()
        self._set_items([key, value])

    def _setitems(self) -> None:
        self._set_items(self._pop_mark())

    def _set_items(self, items: list[Any]) -> None:
        pairs = zip(items[::2], items[1::2], strict=True)
        into = self._stack[-1]
        self._charge(_OF_A_PAIR * len(items) // 2)
        if type(into) is dict:
            into.update((key_of(key), value) for key, value in pairs)
        elif isinstance(into, Placeholder):
            into.add_pairs(pairs)
        else:
            raise TypeError

    def _put(self) -> None:
        self._memo[_index(self._line())] = self._stack[-1]

    def _binput(self) -> None:
        self._memo[self._take(1)[0]] = self._stack[-1]

    def _long_binput(self) -> None:
        self._memo[self._number("<I")] = self._stack[-1]

    def _memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self) -> None:
        self._stack.append(self._memo[_index(self._line())])

    def _binget(self) -> None:
        self._stack.append(self._memo[self._data[self.at]])
        self.at += 1

    def _long_binget(self) -> None:
        self._stack.append(self._memo[self._number("<I")])

    def _global(self) -> None:
        module = str(self._line(), "utf-8")
        self._stack.append(self._name(module, str(self._line(), "utf-8")))

    def _stack_global(self) -> None:
        name = self._stack.pop()
        module = self._stack.pop()
        self._stack.append(self._name(module, name))

    def _reduce(self) -> None:
        arguments = self._stack.pop()
        self._stack[-1] = self._made(self._stack[-1], arguments)

    _newobj = _reduce

    def _newobj_ex(self) -> None:
        named = self._stack.pop()
        arguments = self._stack.pop()
        if type(named) is not dict:
            raise TypeError
        self._stack[-1] = self._made(self._stack[-1], arguments, named)

    def _inst(self) -> None:
        module = str(self._line(), "utf-8")
        kind = self._name(module, str(self._line(), "utf-8"))
        arguments = self._pop_mark()
        self._stack.append(self._made(kind, tuple(arguments)))

    def _obj(self) -> None:
        kind, *arguments = self._pop_mark()
        self._stack.append(self._made(kind, tuple(arguments)))

    def _build(self) -> None:
        state = self._stack.pop()
        into = self._stack[-1]
        if isinstance(into, Placeholder):
            into.state = state
        # A plain value has nothing that a state could say.

    # What is not in the pickle: somebody else would have to say what it is.

    def _persid(self) -> None:
        self._absent("persistent id", str(self._line(), "ascii"))

    def _binpersid(self) -> None:
        self._absent("persistent id", self._stack.pop())

    def _next_buffer(self) -> None:
        self._absent("out-of-band buffer")

    def _readonly_buffer(self) -> None:
        self._stack[-1]

    def _absent(self, what: str, *said: Any) -> None:
        self._stack.append(Placeholder("", what, said))

    def _ext1(self) -> None:
        self._extension(self._take(1)[0])

    def _ext2(self) -> None:
        self._extension(self._number("<H"))

    def _ext4(self) -> None:
        self._extension(self._number("<i"))

    def _extension(self, code: int) -> None:
        self._stack.append(self._name("", f"extension {code}"))


def _index(line: bytes) -> int:
    index = int(line)
    if index < 0:
        raise ValueError
    return index


def _python_2(raw: bytes) -> str:
    """Text of Python 2, which did not say in which encoding."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _size(value: Any) -> int:
    """What a copy of a value would take, about; not what is below it."""
    if isinstance(value, list | tuple | dict | set | frozenset):
        return _OF_A_PAIR * len(value)
    if isinstance(value, Name):
        return getsizeof(value.name)
    return getsizeof(value)


_OF_A_NAME = 300
_OF_A_PAIR = 100
_OF_AN_ELEMENT = 64
_SLOT = 16  # on the stack, and wherever it goes from there
_HANDLERS: list[Callable[[_Machine], Any] | None] = [None] * 256
_COSTS = [_SLOT] * 256
_OBJECT = 160


def _register() -> None:
    """Give each opcode its handler, by the name it has in `pickletools`."""
    costs = {
        "MARK": 72, "EMPTY_LIST": 72, "EMPTY_DICT": 80, "EMPTY_SET": 232, "DICT": 80,
        "FROZENSET": 232, "TUPLE1": 64, "TUPLE2": 72, "TUPLE3": 80, "PUT": 128,
        "BINPUT": 128, "LONG_BINPUT": 128, "MEMOIZE": 128, "REDUCE": _OBJECT,
        "NEWOBJ": _OBJECT, "NEWOBJ_EX": _OBJECT, "INST": _OBJECT, "OBJ": _OBJECT,
        "PERSID": _OBJECT, "BINPERSID": _OBJECT, "NEXT_BUFFER": _OBJECT,
    }  # fmt: skip
    for opcode in pickletools.opcodes:
        code = ord(opcode.code)
        _HANDLERS[code] = getattr(_Machine, f"_{opcode.name.lower()}")
        _COSTS[code] = costs.get(opcode.name, _SLOT)


_register()
