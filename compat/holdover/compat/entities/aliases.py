"""What else an entity is called: kept in its record, without a revision of its own."""

from __future__ import annotations

from collections.abc import Iterable

from holdover.compat import records
from holdover.compat.reading import minutes
from holdover.compat.records import KINDS, Record
from holdover.compat.review import Reviewing
from holdover.compat.scope import encode_key
from holdover.compat.stores.backend import Read, Replace, Steps, arun, run

_ENTITY = "entity"
ALIASES = "aliases"
#: Names that somebody parted from the entity: they never mean it again.
SPLITS = "splits"
#: The oldest ones go: who is called by more names is hardly one entity.
MOST_ALIASES = 50
_ATTEMPTS = 5


def names_in(record: Record, field: str) -> list[str]:
    """The names in `meta.aliases` or `meta.splits`, whoever wrote them."""
    names = record.meta.get(field)
    if not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str)]


class Aliasing(Reviewing):
    """The operations on the names of an entity."""

    def change_aliases(
        self, name: str, *, add: Iterable[str] = (), split: Iterable[str] = ()
    ) -> bool:
        """Note other names of an entity, or that a name is not one of them.

        Returns:
            Whether there is such an entity. It may be written meanwhile: then the
            note is repeated.
        """
        return run(self._backend, self._change_aliases(name, add, split))

    async def achange_aliases(
        self, name: str, *, add: Iterable[str] = (), split: Iterable[str] = ()
    ) -> bool:
        """See `change_aliases`."""
        return await arun(self._backend, self._change_aliases(name, add, split))

    def _change_aliases(
        self, name: str, add: Iterable[str], split: Iterable[str]
    ) -> Steps[bool]:
        add, split = self._kept_names(add), self._kept_names(split)
        key, namespace = encode_key(name), self.namespace(_ENTITY)
        for _ in range(_ATTEMPTS):
            (value,) = yield Read([(namespace, key)])
            moment = records.timestamp(records.now())
            record = self._live(_ENTITY, key, value, moment)
            if record is None or record.foreign:
                return False
            apart = _joined(names_in(record, SPLITS), split)
            aliases = _joined(names_in(record, ALIASES), add)
            aliases = [one for one in aliases if one not in split]
            changed = {ALIASES: aliases[-MOST_ALIASES:], SPLITS: apart[-MOST_ALIASES:]}
            meta = records.without_empty({**record.meta, **changed})
            if meta == record.meta:
                return True
            put = self._backend.put_op(
                namespace,
                key,
                {**record.value, "meta": meta},
                list(KINDS[_ENTITY].index),
                minutes(records.remaining(meta)),
            )
            if (yield Replace(put, record.value)):
                return True
        return False

    def _kept_names(self, names: Iterable[str]) -> list[str]:
        """The names as they may be stored; one that has to be escaped is left out."""
        kept = list(names)
        if self._redact:
            contents = [{"name": name, "summary": ""} for name in kept]
            redacted = [self._redact(_ENTITY, content) for content in contents]
            kept = [str(content.get("name") or "") for content in redacted]
        return [name for name in kept if name and records.portable({"name": name})]


def _joined(before: list[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys((*before, *more)))
