"""Pickles that name classes by their old paths, or classes that exist nowhere."""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import IO, Any

from holdover.compat.placeholders import is_lost, placeholder_of, reading
from holdover.compat.real_modules import import_real
from holdover.compat.shim.entries import ROOTS

__all__ = ["find_again", "load", "loads", "make_again"]

# What every class has; the last two, since Python 3.13.
_OF_ANY = {
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__",
    "__firstlineno__", "__static_attributes__",
}  # fmt: skip


def load(
    file: IO[bytes],
    *,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    errors: str = "strict",
    buffers: Iterable[Any] | None = None,
) -> Any:
    """Read a pickle that old code wrote, as `pickle.load` does.

    A name is looked for where the pickle says; then where the shim knows it to be now,
    whether or not the shim is installed; else a `Placeholder` stands for it, which can
    be looked at and does nothing. Objects whose classes have changed get what they
    lack; for a memory of ours, `pickle.load` under the shim does that too.

    Like `pickle.load`, it runs whatever the pickle says: never give it a file from
    somebody you do not trust.

    Args:
        file: Opened for reading bytes.
        fix_imports: As in `pickle.load`.
        encoding: As in `pickle.load`.
        errors: As in `pickle.load`.
        buffers: As in `pickle.load`.

    Raises:
        pickle.UnpicklingError: It is no pickle, or a class of ours cannot hold what it
            says.
        EOFError: It ends too early.
    """
    return _Unpickler(
        file,
        fix_imports=fix_imports,
        encoding=encoding,
        errors=errors,
        buffers=buffers,
    ).load()


def loads(
    data: bytes | bytearray | memoryview,
    /,
    *,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    errors: str = "strict",
    buffers: Iterable[Any] | None = None,
) -> Any:
    """Read a pickle from bytes; see `load`."""
    return load(
        io.BytesIO(data),
        fix_imports=fix_imports,
        encoding=encoding,
        errors=errors,
        buffers=buffers,
    )


class _Unpickler(pickle.Unpickler):
    """Finds old names, and finishes what it read."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._kinds: set[type] = set()
        # What was there before, by its `id`.
        self._found: dict[int, object] = {}

    def find_class(self, module: str, name: str) -> Any:
        """What is under this name, or was."""
        found = self._noted(_find(module, name, super().find_class))
        return self._getattr if found is _getattr else found

    def _getattr(self, owner: Any, name: str, *default: Any) -> Any:
        return self._noted(_getattr(owner, name, *default))

    def _noted(self, found: Any) -> Any:
        if isinstance(found, type):
            self._kinds.add(found)
        else:
            self._found[id(found)] = found
        return found

    def load(self) -> Any:
        """Read the next object of the file."""
        from holdover.compat.half_made import is_part, mend  # noqa: PLC0415

        with reading():
            value = super().load()

        def is_made_here(one: object) -> bool:
            # As far as can be told: a function may hand out what it did not make, of
            # a class that the pickle names too.
            return type(one) in self._kinds

        def opens(one: object) -> bool:
            if id(one) in self._found:
                return False
            return is_part(one) or is_made_here(one)

        mend([value], opens, lambda one: opens(one) and is_made_here(one))
        return value


def find_again(module: str, name: str) -> Any:
    """What a placeholder class stood for, if it exists by now; else the placeholder."""
    return _find(module, name, _standing)


def make_again(
    module: str,
    name: str,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
    called: bool,  # noqa: FBT001 - a pickle gives no names
    items: list[Any],
    pairs: list[tuple[Any, Any]],
) -> Any:
    """The same for an object of that class, or what that function made."""
    kind = find_again(module, name)
    with reading():
        if called:
            made = kind(*arguments, **named)
        else:
            made = kind.__new__(kind, *arguments, **named)
        for item in items:
            made.append(item)
        for key, value in pairs:
            made[key] = value
    return made


def _find(module: str, name: str, real: Callable[[str, str], Any]) -> Any:
    if (module, name) in _STAND_INS:
        return _STAND_INS[module, name]
    why: Exception | None = None
    found = None
    try:
        is_old = module.partition(".")[0] in ROOTS
        found = (_standing if is_old else real)(module, name)
    except (ImportError, AttributeError) as error:
        why = error
    else:
        if not _is_hollow(found):
            return found
    from holdover.compat.shim.resolving import resolve  # noqa: PLC0415

    try:
        return resolve(module, name)
    except AttributeError:
        pass  # no old path that we know: what Python says is better
    except ImportError as error:
        why = error
    return placeholder_of(module, name, why) if found is None else found


def _standing(module: str, name: str) -> Any:
    """What is really there; the shim would answer for it, and note a use of it."""
    found: Any = import_real(module)
    for part in name.split("."):
        is_module = isinstance(found, ModuleType)
        get = ModuleType.__getattribute__ if is_module else getattr
        found = get(found, part)
    return found


def _is_hollow(found: object) -> bool:
    """Whether it is a class of nothing, as some modules define where imports fail."""
    return (
        isinstance(found, type)
        and found.__bases__ == (object,)
        and vars(found).keys() <= _OF_ANY
    )


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    """As `getattr`; what is gone had whatever is asked of it."""
    if is_lost(owner) and not hasattr(owner, name):
        kind = owner if isinstance(owner, type) else type(owner)
        return placeholder_of(kind.__module__, f"{kind.__qualname__}.{name}")
    return getattr(owner, name, *default)


def _reconstructor(kind: Any, base: Any, state: Any) -> Any:
    """As in `copyreg`, for protocols 0 and 1; a placeholder is no `base`."""
    if not is_lost(kind):
        return copyreg._reconstructor(kind, base, state)  # type: ignore[attr-defined] # noqa: SLF001
    made = kind.__new__(kind, *(() if base is object else (state,)))
    if isinstance(state, dict):
        made.old_args, made.old_pairs = (), list(state.items())
    elif isinstance(state, list):
        made.old_args, made.old_items = (), list(state)
    return made


# Python 2 called the modules otherwise.
_STAND_INS: dict[tuple[str, str], Any] = {
    **dict.fromkeys([("builtins", "getattr"), ("__builtin__", "getattr")], _getattr),
    **dict.fromkeys(
        [("copyreg", "_reconstructor"), ("copy_reg", "_reconstructor")],
        _reconstructor,
    ),
}
