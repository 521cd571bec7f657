"""How an index finds rows: what stands after USING."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class IndexKind(Enum):
    """As it is written."""

    HASH = "HASH"  # rows by values
    TREE = "TREE"  # rows in order
    LIST = "LIST"  # rows as they are kept: all of them are looked at
    GROUP = "GROUP"  # how many rows have a value in each of some ranges


@dataclass(frozen=True)
class IndexMethod:
    kind: IndexKind
    groups: int = 0  # of GROUP, how many ranges

    def __str__(self) -> str:
        return f"{self.kind.value}({self.groups})" if self.groups else self.kind.value


HASH, TREE, LIST = (IndexMethod(kind) for kind in (IndexKind.HASH, IndexKind.TREE, IndexKind.LIST))
