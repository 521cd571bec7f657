"""Windows by time and by count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sash.operators.all_rows import AllRows
from sash.operators.cost import Cost, Edge
from sash.operators.estimate import Estimate
from sash.operators.lookback import TO_THE_FIRST_ROW, Lookback
from sash.operators.spec import PortSpec, Signed, Spec, UnarySpec
from sash.plan.patterns import Pattern
from sash.plan.windows import NowWindow, RangeWindow, RowsWindow, SessionGapWindow, UnboundedWindow, WindowShape
from sash.schema import FOREVER, MICROSECOND, SECOND

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext

COUNT_WINDOW, PARTITION_WINDOW, JUMP, SESSION = 250.0, 700.0, 150.0, 900.0  # the price of a row
GAPS_OF_A_SESSION = 3  # a guess


@dataclass(frozen=True)
class TimeWindowSpec(UnarySpec):
    """A row of ts is alive in [ts, ts + size)."""

    size: int

    keeps = ""
    all_leave = True
    needs_exact_departures = False
    is_transparent = True

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def pattern(self) -> Pattern:
        return Pattern.MONOTONIC if self.size == FOREVER else Pattern.WEAKEST

    @property
    def lookback(self) -> Lookback:
        return Lookback(self.size)

    @property
    def without_window(self) -> Spec:
        return self.input

    @cached_property
    def of_all_rows(self) -> AllRows:
        below = self.input.of_all_rows
        return replace(below, window=self if below.window is self.input else replace(self, input=below.window))

    def estimate(self, *inputs: Estimate) -> Estimate:
        (rows,) = inputs
        return rows if self.size == FOREVER else _alive(rows, self.size)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(0.0, 0.0)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.windows.operator import TimeWindow

        return TimeWindow(self, context)


@dataclass(frozen=True)
class JumpingWindowSpec(UnarySpec):
    """A row becomes visible at the end E of its basic window and is alive in [E, E + size)."""

    size: int
    slide: int

    keeps = "rows of the open basic window"
    pattern = Pattern.WEAKEST
    all_leave = True
    needs_exact_departures = False

    @property
    def lifetime(self) -> int | None:
        return self.size

    @property
    def lookback(self) -> Lookback:
        return Lookback(self.size + self.slide)

    @property
    def without_slides(self) -> tuple[Spec, int, int]:
        return self.input, self.size, self.slide

    def estimate(self, *inputs: Estimate) -> Estimate:
        return _alive(inputs[0], self.size)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * JUMP, output.rows * self.slide / self.size)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.windows.operator import JumpingWindow

        return JumpingWindow(self, context)


@dataclass(frozen=True)
class CountWindowSpec(Signed, UnarySpec):
    """The last `size` rows, in steps of `slide`; rows leave when others push them out."""

    size: int
    slide: int

    keeps = "ring of rows"
    needs_exact_departures = False

    @property
    def lookback(self) -> Lookback:
        is_of_a_stream = isinstance(self.input, PortSpec) and self.input.source is None
        return Lookback(rows=self.size + 2 * self.slide) if is_of_a_stream else TO_THE_FIRST_ROW

    @property
    def jump(self) -> int:
        return self.slide

    def estimate(self, *inputs: Estimate) -> Estimate:
        return replace(inputs[0], rows=float(self.size), leaves=True)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * COUNT_WINDOW, output.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.windows.operator import CountWindow

        return CountWindow(self, context)


@dataclass(frozen=True)
class PartitionWindowSpec(Signed, UnarySpec):
    """The last `size` rows of every partition."""

    size: int
    columns: tuple[int, ...]

    keeps = "chain of rows per key"
    lookback = TO_THE_FIRST_ROW
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> Estimate:
        return replace(inputs[0], rows=self.size * inputs[0].groups(self.columns), leaves=True)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * PARTITION_WINDOW, output.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.windows.operator import PartitionWindow

        return PartitionWindow(self, context)


@dataclass(frozen=True)
class SessionWindowSpec(Signed, UnarySpec):
    """The rows of the open session of every key; they leave together, `gap` after the last of them."""

    gap: int
    columns: tuple[int, ...]

    keeps = "open sessions with their rows, per key"
    lookback = TO_THE_FIRST_ROW
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> Estimate:
        """A session lasts a few gaps."""
        return _alive(inputs[0], GAPS_OF_A_SESSION * self.gap)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * SESSION, output.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.windows.session import SessionWindow

        return SessionWindow(self, context)


def _alive(rows: Estimate, size: int) -> Estimate:
    return replace(rows, rows=rows.rate * size / SECOND, leaves=True)


def window_spec(shape: WindowShape, rows: Spec) -> Spec:
    """The operator of a window over rows."""
    if type(shape) not in WINDOWS:
        raise NotImplementedError(f"no operator is known for {type(shape).__name__}")
    return WINDOWS[type(shape)](shape, rows)


def _range(shape: WindowShape, rows: Spec) -> Spec:
    return JumpingWindowSpec(rows, shape.size, shape.slide) if shape.slide else TimeWindowSpec(rows, shape.size)


def _rows(shape: WindowShape, rows: Spec) -> Spec:
    if shape.partition:
        return PartitionWindowSpec(rows, shape.size, shape.partition)
    return CountWindowSpec(rows, shape.size, shape.slide or 1)


WINDOWS: Mapping[type[WindowShape], Callable[[WindowShape, Spec], Spec]] = {
    RangeWindow: _range,
    RowsWindow: _rows,
    NowWindow: lambda shape, rows: TimeWindowSpec(rows, MICROSECOND),
    UnboundedWindow: lambda shape, rows: TimeWindowSpec(rows, FOREVER),
    SessionGapWindow: lambda shape, rows: SessionWindowSpec(rows, shape.size, shape.partition),
}
