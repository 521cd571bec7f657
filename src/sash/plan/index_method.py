"""How an index finds rows: what stands after USING."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class IndexKind(Enum):
    """As it is written."""

    HASH = "HASH"  # rows by values
    TREE = "TREE"  # rows in order
    LIST = "LIST"  # rows as they are kept: all of them are looked at


@dataclass(frozen=True)
class IndexMethod:
    kind: IndexKind

    def __str__(self) -> str:
        return self.kind.value


HASH, TREE, LIST = (IndexMethod(kind) for kind in (IndexKind.HASH, IndexKind.TREE, IndexKind.LIST))
