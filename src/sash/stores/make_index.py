"""An index of a shape, for the rows of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.deltas import Int64s, Layout
from sash.plan.index_method import IndexKind
from sash.stores.arena import Scope
from sash.stores.group_index import GroupIndex, Numbers
from sash.stores.interner import Interner
from sash.stores.ranking import KeyColumns
from sash.stores.view_index import HashIndex, IndexShape, ListIndex, TreeIndex, ViewIndex

if TYPE_CHECKING:
    from sash.stores.bag import AnswerBag


def make_index(
    shape: IndexShape, bag: AnswerBag, scope: Scope, layout: Layout, orders: Sequence[Int64s], interner: Interner
) -> ViewIndex:
    """It has nothing in it yet; `orders` are the lines of all columns."""
    match shape.method.kind:
        case IndexKind.TREE:
            return TreeIndex(bag, scope, np.array([orders[column] for column in shape.columns], np.int64), interner)
        case IndexKind.HASH:
            return HashIndex(bag, scope, KeyColumns(layout, shape.columns))
        case IndexKind.LIST:
            return ListIndex(bag, scope)
        case IndexKind.GROUP:
            return GroupIndex(bag, scope, Numbers(layout, shape.columns[0]), shape.method.groups)
