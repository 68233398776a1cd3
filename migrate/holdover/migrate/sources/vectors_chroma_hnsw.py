"""The vectors in an index folder of Chroma: the lowest layer of its HNSW graph.

Each element of `data_level0.bin` holds the links of a node, its vector in 32 bits and
its label; `index_metadata.pickle` says which label a document has. Chroma writes the
folder when enough has come together; what is newer is still in its queue.
"""

from __future__ import annotations

import array
import math
import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from holdover.migrate.errors import UnreadablePickle
from holdover.migrate.sources.vectors_files import open_regular
from holdover.migrate.unpickling import Placeholder, load

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Format, level 0, room, elements, size of one, where its label and vector are, …
_HEADER = struct.Struct("<iQQQQQQ")
_FORMAT = 1
_LABEL = 8
_MOST_DIMS = 1 << 16


class HnswVectors:
    """The vectors of one collection, by the id of the document.

    Args:
        folder: The folder of its segment, which may be missing.
    """

    def __init__(self, folder: Path) -> None:
        self.dims = 0
        #: Why there are none, for a person; also where none were written yet.
        self.missing = ""
        self._labels: Mapping[object, object] = {}
        self._file: BinaryIO | None = None
        try:
            self._read(folder)
        except FileNotFoundError:
            self.missing = "its index is missing"
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            self.missing = f"its index cannot be read: {reason}"
        except (UnreadablePickle, struct.error, ValueError):
            self.missing = "its index is damaged, or of a version that is not known"
        if self.missing:
            self.close()

    def of(self, name: str) -> Sequence[float] | None:
        """The vector of a document, if it is here and can be stored."""
        label = self._labels.get(name)
        element = self._elements.get(label) if isinstance(label, int) else None
        if element is None or self._file is None:
            return None
        self._file.seek(element * self._size + self._offset)
        raw = self._file.read(4 * self.dims)
        if len(raw) < 4 * self.dims:
            return None
        numbers = array.array("f", raw)
        if sys.byteorder != "little":
            numbers.byteswap()
        return numbers if all(map(math.isfinite, numbers)) else None

    def has(self, name: str) -> bool:
        """Whether there should be one."""
        return self._file is not None and name in self._labels

    def close(self) -> None:
        """Close the file."""
        self._labels, self.dims = {}, 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, folder: Path) -> None:
        with open_regular(folder / "header.bin") as header:
            raw = header.read(_HEADER.size)
        form, _, _, count, size, label_at, vector_at = _HEADER.unpack_from(raw)
        dims, rest = divmod(label_at - vector_at, 4)
        whole = label_at + _LABEL == size and not rest and 0 < dims <= _MOST_DIMS
        if form != _FORMAT or not whole:
            raise ValueError
        if not count:
            # A new one; all there is waits in the queue.
            return
        file = self._file = open_regular(folder / "data_level0.bin")
        if os.fstat(file.fileno()).st_size < count * size:
            raise ValueError
        self.dims, self._size, self._offset = dims, size, vector_at
        self._elements: dict[int, int] = {}
        for element in range(count):
            file.seek(element * size + label_at)
            (label,) = struct.unpack("<Q", file.read(_LABEL))
            self._elements[label] = element
        with open_regular(folder / "index_metadata.pickle") as pickled:
            found = load(pickled)
        if isinstance(found, Placeholder):
            found = found.fields  # of releases before 0.6
        labels = found.get("id_to_label") if isinstance(found, Mapping) else None
        if not isinstance(labels, Mapping):
            raise ValueError  # noqa: TRY004 - as damaged as any other
        self._labels = labels
