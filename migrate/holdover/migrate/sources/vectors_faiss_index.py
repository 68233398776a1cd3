"""The vectors in a FAISS index file.

What LangChain makes unless it is told otherwise is a flat index: the vectors one after
the other, behind a short header. Others are read by faiss, in a process of its own: the
file may be damaged, and faiss was not made to survive that.
"""

from __future__ import annotations

import array
import importlib.util
import math
import os
import struct
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdover.migrate.sources.vectors_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FLAT = {b"IxF2", b"IxFI", b"IxFl"}
_HEADER = struct.Struct("<4siqqq?i")
_PLAIN_METRICS = 1  # above, the metric has an argument
_MOST_DIMS = 1 << 16
_SECONDS = 600

# Only kinds that keep every number: of the others it would be an estimate.
_READER = """
import sys
import faiss
owner = faiss.read_index(sys.argv[1])  # what is downcast lives as long as this
index = faiss.downcast_index(owner)
plain = ("IndexFlat", "IndexFlatL2", "IndexFlatIP", "IndexIVFFlat", "IndexHNSWFlat")
if type(index).__name__ not in plain:
    sys.exit(3)
with open(sys.argv[2], "wb") as out:
    for start in range(0, index.ntotal, 4096):
        found = index.reconstruct_n(start, min(4096, index.ntotal - start))
        out.write(found.astype("<f4").tobytes())
print(index.d, index.ntotal)
"""


class FaissVectors:
    """The vectors of an index, by position.

    Args:
        path: The index file, which may be missing.
    """

    def __init__(self, path: Path) -> None:
        self.dims = self.count = 0
        #: Why there are none, for a person.
        self.missing = ""
        self._file: BinaryIO | None = None
        self._start = 0
        self._discard: Callable[[], object] = lambda: None
        self._open(path)

    def at(self, position: int) -> Sequence[float] | None:
        """The vector at a position, if there is one that can be stored."""
        if self._file is None or not 0 <= position < self.count:
            return None
        size = 4 * self.dims
        self._file.seek(self._start + position * size)
        raw = self._file.read(size)
        if len(raw) < size:
            return None
        numbers = array.array("f", raw)
        if sys.byteorder != "little":
            numbers.byteswap()
        return numbers if all(map(math.isfinite, numbers)) else None

    def close(self) -> None:
        """Close the file, and remove what faiss made of it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._discard()

    def _open(self, path: Path) -> None:
        try:
            self._file = open_regular(path)
            if self._is_flat():
                return
            self._file.seek(0)
            kind = self._file.read(4)
            self._file.close()
        except FileNotFoundError:
            self.missing = f"{path.name} is missing"
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            self.missing = f"{path.name} cannot be read: {reason}"
        else:
            self._file = None
            if kind[:1] != b"I" or kind in _FLAT:
                self.missing = f"{path.name} is damaged"
            else:
                self._ask_faiss(path)
        if self._file is None:
            self.dims = self.count = 0

    def _is_flat(self) -> bool:
        assert self._file is not None  # noqa: S101 - just opened
        file = self._file
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size:
            return False
        kind, dims, count, _, _, _, metric = _HEADER.unpack(head)
        if kind not in _FLAT or not 0 < dims <= _MOST_DIMS or count < 0:
            return False
        if metric > _PLAIN_METRICS:
            file.read(4)
        raw = file.read(8)
        size = os.fstat(file.fileno()).st_size
        whole = len(raw) == 8 and struct.unpack("<Q", raw)[0] == dims * count  # noqa: PLR2004
        if not whole or size < file.tell() + 4 * dims * count:
            return False
        self.dims, self.count, self._start = dims, count, file.tell()
        return True

    def _ask_faiss(self, path: Path) -> None:
        if importlib.util.find_spec("faiss") is None:
            self.missing = (
                f"{path.name} is no flat index, and faiss, which reads it, is not"
                " installed (pip install 'holdover[faiss]')"
            )
            return
        handle, made = tempfile.mkstemp(prefix="holdover-", suffix=".f32")
        os.close(handle)
        self._discard = weakref.finalize(self, _remove, made)
        command = [sys.executable, "-P", "-c", _READER, str(path), made]
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter
                command, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            self.missing = f"faiss does not come to an end with {path.name}"
            return
        if done.returncode == 3:  # noqa: PLR2004 - as _READER says
            self.missing = f"{path.name} is of a kind that keeps vectors roughly only"
            return
        if done.returncode:
            self.missing = f"{path.name} is damaged, or of a kind faiss does not read"
            return
        self.dims, self.count = map(int, done.stdout.split())
        self._file = Path(made).open("rb")  # noqa: SIM115 - until `close`


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(path).unlink()
