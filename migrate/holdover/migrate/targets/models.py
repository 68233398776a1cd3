"""The embedding model that `--index` names: made when the first text is embedded.

Where every vector is kept, no model is needed, nor its package, nor its key.
"""

from __future__ import annotations

import importlib
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings

from holdover.migrate.errors import TargetError, UsageError


class NamedModel(Embeddings):
    """A model by its name.

    Args:
        name: `provider:model`, as LangChain's `init_embeddings` reads it; or
            `module:name` of an `Embeddings` or a function of texts.
        dims: How many numbers a vector has to have.
    """

    def __init__(self, name: str, dims: int) -> None:
        self.name, self.dims = name, dims
        self._made: Embeddings | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts.

        Raises:
            UsageError: There is no such model, or its vectors have other dimensions.
            TargetError: It failed.
        """
        made = self._model()
        try:
            found = made.embed_documents(texts)
        except Exception as error:  # noqa: BLE001 - whatever a provider raises
            # What it says may quote a text or a key.
            raise TargetError(
                f"The embedding model {self.name} failed ({type(error).__name__}).",
                hint="Repeat the command: it goes on where it stopped.",
            ) from None
        if len(found) != len(texts):
            raise TargetError(
                f"The embedding model {self.name} gave {len(found):,} vectors for"
                f" {len(texts):,} texts."
            )
        for vector in found:
            if len(vector) != self.dims:
                raise UsageError(
                    f"The vectors of {self.name} have {len(vector):,} dimensions, and"
                    f" --dims says {self.dims:,}.",
                    hint=f"Write --dims {len(vector)}.",
                )
        return found

    def embed_query(self, text: str) -> list[float]:
        """Embed what is searched for; a migration does not."""
        return self._model().embed_query(text)

    def _model(self) -> Embeddings:
        if self._made is None:
            self._made = _made(self.name)
        return self._made


def _made(name: str) -> Embeddings:
    module, _, attribute = name.partition(":")
    try:
        return ensure_embeddings(name)
    except ImportError as error:
        raise UsageError(
            f"The embedding model {name} needs a package that is not installed.",
            hint=f"Install {error.name or 'the package of its provider'} here, too.",
        ) from error
    except Exception as error:  # noqa: BLE001 - a provider without its key, and others
        # No provider of that name, or LangChain is not installed.
        found = _imported(module, attribute)
        if found is None:
            raise UsageError(
                f"The embedding model {name} cannot be used ({type(error).__name__}).",
                hint="Give provider:model with its package and key, or module:name of"
                " a function that embeds a list of texts.",
            ) from None
        return ensure_embeddings(found)


def _imported(module: str, attribute: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None
    return found if callable(found) or isinstance(found, Embeddings) else None
