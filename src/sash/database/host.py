"""What a database asks of its host."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from sash.plan.statistics import Statistics
from sash.plan.streams import StreamSpec
from sash.planner.explain import Counts
from sash.runtime.access import Wanted
from sash.runtime.instants import Instants
from sash.runtime.live import ReadRows, Relations
from sash.runtime.packets import Cargo
from sash.runtime.progress import Progress
from sash.scalar.failures import Failures
from sash.stores.group_index import Ranges
from sash.stores.view_index import IndexShape


class Host(Protocol):
    """What runs the views, as far as both hosts are asked alike. Names are those of views as they were written."""

    @property
    def progress(self) -> Progress: ...

    @property
    def failures(self) -> Failures: ...

    @property
    def is_finished(self) -> bool: ...

    def answer(self, name: str) -> tuple[pa.Table, Instants]: ...

    def answers(self, names: Sequence[str]) -> tuple[Mapping[str, pa.Table], Instants]: ...

    def select(self, name: str, wanted: Wanted) -> tuple[list[pa.Array], Instants]: ...

    def at_one_instant(self, names: Sequence[str], ask: Callable[[ReadRows], Relations]) -> tuple[Relations, Instants]: ...

    def ranges(self, name: str, shape: IndexShape, indexes: Collection[IndexShape]) -> tuple[Ranges, Instants]: ...

    def answers_at(self, names: Sequence[str], instant: int) -> tuple[Mapping[str, pa.Table], Instants]: ...

    def has_begun(self, names: Sequence[str], at: int | None = None) -> bool: ...

    def final_answer(self, name: str) -> tuple[pa.Table, Instants]: ...

    def complete_since(self, name: str) -> int | None: ...

    def changes_since(self, name: str) -> int: ...

    def lost(self, stream: StreamSpec, cargo: Cargo) -> pa.Table: ...

    def metrics(self) -> dict[str, Any]: ...

    def statistics(self) -> Statistics: ...

    def counted(self) -> dict[str, Counts]: ...
