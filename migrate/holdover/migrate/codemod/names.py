"""Which name is which: what a source binds, and where it reads that."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping

from holdover.migrate.codemod.scopes import Binding, Reference, Scope, home_of
from holdover.migrate.codemod.statements import Statements


class Names(Statements):
    """A walk through a tree, and questions about what it met."""

    @functools.cached_property
    def by_name(self) -> Mapping[str, list[Reference]]:
        """The references by their first part."""
        found = defaultdict(list)
        for reference in self.references:
            found[reference.parts[0]].append(reference)
        return found

    @functools.cached_property
    def bound(self) -> Mapping[str, list[Binding]]:
        """All bindings of a name, whatever their scope."""
        found: dict[str, list[Binding]] = defaultdict(list)
        for scope in self.scopes:
            for name, bindings in scope.bindings.items():
                found[name] += bindings
        return found

    def home(self, name: str, scope: Scope) -> Scope | None:
        """The scope whose name it is; `None` where nothing in this source binds it."""
        return home_of(name, scope, self.module)

    def homes(self, name: str, scope: Scope) -> tuple[Scope | None, ...]:
        """The scopes whose name it may be.

        A class body reads the module's until it has bound its own.
        """
        home = self.home(name, scope)
        if home is scope and scope.kind == "class":
            return home, self.module if name in self.module.bindings else None
        return (home,)

    def read_from(self, name: str, home: Scope) -> Iterator[Reference]:
        """The references that may be to a name of a scope."""
        for reference in self.by_name.get(name, ()):
            if home in self.homes(name, reference.scope):
                yield reference
