"""Windows: what of a stream a query sees. Each kind of window is a class that says how it is written and what follows from it.

A new kind is one more class here, a spec in `operators/windows/spec.py` with its operator, and its line in `WINDOWS` there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sash.plan.expression_text import duration_text
from sash.plan.patterns import NEVER, STRICT, Leaving, Pattern, by_count, by_key, in_time
from sash.schema import MICROSECOND


class Measure(Enum):
    """Of what the size of a window, and its slide, is a number."""

    NOTHING = "nothing"
    TIME = "time"  # microseconds
    ROWS = "rows"


@dataclass(frozen=True)
class WindowShape(ABC):
    """What a window holds. `slide` is 0 for a window that slides with every row."""

    size: int = 0
    slide: int = 0
    partition: tuple[int, ...] = ()  # columns of PARTITION BY

    # How it is written: [PARTITION BY … words size SLIDE slide]
    words: ClassVar[str]
    measure: ClassVar[Measure]
    can_slide: ClassVar[bool] = False
    can_partition: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def goes_by_time(self) -> bool:
        """Whether rows leave when time has passed."""

    @property
    @abstractmethod
    def is_spread_anyhow(self) -> bool:
        """Whether it can be held in parts, whichever rows are in which; else those of a partition must be together."""

    @abstractmethod
    def leaving(self, stream: object) -> Leaving:
        """How the rows of this stream leave it."""

    @abstractmethod
    def lets_through(self, columns: Set[int]) -> bool:
        """Whether a condition over these columns may be asked before: the rows that it hides would not have hidden others."""

    def text(self, names: tuple[str, ...]) -> str:
        """As it is written; `names` are those of the columns it cuts."""
        partition = f"PARTITION BY {', '.join(names[place] for place in self.partition)} " if self.partition else ""
        size, slide = (duration_text(n) if self.measure is Measure.TIME and n else str(n) for n in (self.size, self.slide))
        extent = "" if self.measure is Measure.NOTHING else f" {size}"
        return f"[{partition}{self.words}{extent}{f' SLIDE {slide}' if self.slide else ''}]"


@dataclass(frozen=True)
class RangeWindow(WindowShape):
    """The rows of the last `size` microseconds; with `slide`, in steps."""

    words = "RANGE"
    measure = Measure.TIME
    can_slide = True
    examples = ("[RANGE 5 MINUTES]", "[RANGE 5 MINUTES SLIDE 1 MINUTE]")
    goes_by_time = True
    is_spread_anyhow = True

    def leaving(self, stream: object) -> Leaving:
        return in_time(Pattern.WEAKEST, self.size)

    def lets_through(self, columns: Set[int]) -> bool:
        return True


@dataclass(frozen=True)
class RowsWindow(WindowShape):
    """The last `size` rows, of all or of every partition."""

    words = "ROWS"
    measure = Measure.ROWS
    can_slide = True
    can_partition = True
    examples = ("[ROWS 100]", "[ROWS 100 SLIDE 10]", "[PARTITION BY k ROWS 10]")
    goes_by_time = False
    is_spread_anyhow = False

    def leaving(self, stream: object) -> Leaving:
        return by_key(self.partition, self.size) if self.partition else by_count(Pattern.WEAKEST, stream)

    def lets_through(self, columns: Set[int]) -> bool:
        """A row that is hidden would still push others out, unless all of its partition are hidden."""
        return bool(self.partition) and columns <= set(self.partition)


@dataclass(frozen=True)
class NowWindow(WindowShape):
    """The rows of this instant."""

    words = "NOW"
    measure = Measure.NOTHING
    examples = ("[NOW]",)
    goes_by_time = True
    is_spread_anyhow = True

    def leaving(self, stream: object) -> Leaving:
        return in_time(Pattern.WEAKEST, MICROSECOND)

    def lets_through(self, columns: Set[int]) -> bool:
        return True


@dataclass(frozen=True)
class UnboundedWindow(WindowShape):
    """All rows so far."""

    words = "UNBOUNDED"
    measure = Measure.NOTHING
    examples = ("[UNBOUNDED]",)
    goes_by_time = False
    is_spread_anyhow = True

    def leaving(self, stream: object) -> Leaving:
        return NEVER

    def lets_through(self, columns: Set[int]) -> bool:
        return True


@dataclass(frozen=True)
class SessionGapWindow(WindowShape):
    """The rows of the session that is open, of all or of every partition: no two neighbours are `size` microseconds apart."""

    words = "SESSION GAP"
    measure = Measure.TIME
    can_partition = True
    examples = ("[SESSION GAP 30 SECONDS]", "[PARTITION BY k SESSION GAP 30 SECONDS]")
    goes_by_time = True
    is_spread_anyhow = False

    def leaving(self, stream: object) -> Leaving:
        """A row that comes lets all others of its session stay longer."""
        return STRICT

    def lets_through(self, columns: Set[int]) -> bool:
        """A row that is hidden would still keep its session open, unless all of its partition are hidden."""
        return bool(self.partition) and columns <= set(self.partition)


SHAPES: tuple[type[WindowShape], ...] = (RangeWindow, RowsWindow, NowWindow, UnboundedWindow, SessionGapWindow)
UNBOUNDED: WindowShape = UnboundedWindow()
