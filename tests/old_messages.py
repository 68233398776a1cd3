"""Messages in a target, read plainly, and the truth of the manifests about them."""

from __future__ import annotations

from histories import _TYPES as TYPES
from moving import read_plainly, unescape

from holdover.compat.message_records import content_of


def messages_in(target):
    """`{(root, session): [content, …]}` in the order of the keys, escapes undone."""
    found = {}
    for namespace, values in read_plainly(target).items():
        if namespace[-1] != "messages":
            continue
        scope = tuple(map(unescape, namespace[:-1]))
        found[scope] = [content_of_value(values[key]) for key in sorted(values)]
    return found


def content_of_value(value):
    """What an item of any kind holds, its escapes undone."""
    content = value["content"]
    for path in value["meta"].get("escaped", ()):
        if not path.startswith("content."):
            continue
        *parents, last = path.split(".")[1:]
        place = content
        for name in parents:
            place = place[_key(place, name)]
        last = _key(place, last)
        place[last] = unescape(place[last])
    return content


def _key(place, name):
    return int(name) if isinstance(place, list) else unescape(name)


def check_messages(contents, specs, *, stored=None):
    """These are the messages that a manifest lists: type, order, every field.

    `stored` are the only fields that the old class kept.
    """
    assert len(contents) == len(specs)
    for content, (kind, fields, *_) in zip(contents, specs, strict=True):
        assert content["type"] in TYPES[kind]
        expected = content_of(content["type"], fields)["data"]
        if stored is not None:
            expected = {n: v for n, v in expected.items() if n in stored}
        assert {name: content["data"].get(name) for name in expected} == expected
