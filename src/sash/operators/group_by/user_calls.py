"""Calls of the users' own aggregates, in Python: the only place where an operator leaves the kernels.

The kernel keeps the values of every group in a tree and lists them when they have changed. The result becomes a string,
interned like any text, that stands for it in the rows of the GROUP BY until they leave it:

    ''            NULL
    '=word'       a STRING
    '3ff0 0'      its lanes, for any other type
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.deltas import Delta, Int64s, Layout
from sash.operators.group_by.opcodes import CALL_BIT, CALL_LANE, CALL_MASK, CALL_ROOT
from sash.operators.operator import OperatorContext
from sash.plan.aggregates import AggregateCall
from sash.plan.user_aggregates import UserAggregate
from sash.schema import STRING, schema
from sash.stores.lanes import decode_column, encode

LIST_COLUMNS = 3  # low lane, high lane, rows

MIX, PART_BITS = np.uint64(0x9E3779B97F4A7C15), np.uint64(58)  # every 64th value ends a part

NO_VALUES = np.empty((0, LIST_COLUMNS), np.int64)


class UserCall:
    """One call; `line` is its line of the kernel's table of calls."""

    def __init__(self, call: AggregateCall, line: Int64s, context: OperatorContext) -> None:
        assert isinstance(call.parameter, UserAggregate) and call.argument_type is not None
        self._aggregate = call.parameter
        self._instance: Any = call.parameter.implementation()
        self._argument, self._result = Layout(schema(("", call.argument_type))), Layout(schema(("", call.type)))
        self._line = line
        self._context = context
        self._states: dict[int, tuple[Any, Int64s]] = {}  # of groups: a state, and what it was made from
        self._parts: dict[int, dict[bytes, Any]] = {}  # of groups: states of parts, by what they were made from

    def forget_empty(self, cells: Int64s) -> None:
        """Groups without values keep no state: the codes of their strings may mean others by now."""
        for known in (self._states, self._parts):
            groups = np.fromiter(known, np.int64, len(known))
            for group in groups[cells[groups, self._line[CALL_ROOT]] == 0].tolist():
                del known[group]

    def text(self, group: int, values: Int64s) -> str:
        """The string that stands for the result over these values. What goes wrong in it is counted, and gives NULL."""
        try:
            return self._text(self._instance.finish(self._state(group, values)))
        except Exception as error:  # whatever a user's code may raise
            reason = f"aggregate {self._aggregate.name}: {type(error).__name__}: {error}"
            self._context.failures.count(reason, 1, self._decoded(values[:1])[0])
            return ""

    def _state(self, group: int, values: Int64s) -> Any:
        if not self._aggregate.can_retract:
            if self._aggregate.can_merge:
                return self._merged(group, values)
            return self._accumulated(self._instance.create(), values)
        state, before = self._states.pop(group, (None, NO_VALUES))
        if not len(before):
            state = self._instance.create()
        changes = _difference(before, values)
        state = self._accumulated(state, changes[changes[:, 2] > 0])
        for value, rows in self._counted(changes[changes[:, 2] < 0]):
            for _ in range(-rows):
                state = self._instance.retract(state, value)
        self._states[group] = (state, values)
        return state

    def _merged(self, group: int, values: Int64s) -> Any:
        """Parts end where a value says so, so that a change touches one of them, and the others are known."""
        ends = np.flatnonzero((values[:, 0].view(np.uint64) * MIX) >> PART_BITS == 0) + 1
        known, self._parts[group] = self._parts.get(group, {}), {}
        state = self._instance.create()
        for part in np.split(values, ends):
            content = part.tobytes()
            if content not in known and len(part):
                known[content] = self._accumulated(self._instance.create(), part)
            if len(part):
                self._parts[group][content] = known[content]
                state = self._instance.merge(state, known[content])
        return state

    def _accumulated(self, state: Any, values: Int64s) -> Any:
        for value, rows in self._counted(values):
            for _ in range(rows):
                state = self._instance.accumulate(state, value)
        return state

    def _counted(self, values: Int64s) -> list[tuple[Any, int]]:
        return list(zip(self._decoded(values), values[:, 2].tolist(), strict=True))

    def _decoded(self, values: Int64s) -> list[Any]:
        rows = np.zeros((len(values), self._argument.width), np.int64)
        rows[:, : self._argument.values] = values[:, : self._argument.values]
        column: list[Any] = decode_column(rows, 0, self._argument, self._context.interner).to_pylist()
        return column

    def _text(self, value: object) -> str:
        if value is None:
            return ""
        array = pa.array([value], self._aggregate.type.arrow)
        if self._aggregate.type == STRING:
            return f"={array[0].as_py()}"
        lanes = encode([array], self._result, self._context.interner)[0, : self._result.values]
        return " ".join(f"{lane:x}" for lane in lanes.tolist())

    def write_results(self, out: Delta) -> None:
        """Put results in the place of the strings that stand for them."""
        if not len(out):
            return
        lane, mask, bit = self._line[CALL_LANE], self._line[CALL_MASK], self._line[CALL_BIT]
        codes, which = np.unique(out.rows[:, lane], return_inverse=True)
        texts = self._context.interner.decode(codes).to_pylist()
        results = np.array([self._lanes(text) for text in texts], np.int64).reshape(len(texts), -1)
        out.rows[:, lane : lane + self._result.values] = results[which]
        out.rows[:, mask] |= np.array([int(text == "") for text in texts], np.int64)[which] << bit

    def _lanes(self, text: str) -> list[int]:
        if text == "":
            return [0] * self._result.values
        if self._aggregate.type == STRING:
            codes: list[int] = self._context.interner.encode(pa.array([text[1:]])).tolist()
            return codes
        return [int(lane, 16) for lane in text.split(" ")]


def _difference(before: Int64s, after: Int64s) -> Int64s:
    """How the numbers of rows changed, value by value."""
    both = np.concatenate([before, after])
    values, which = np.unique(both[:, :2], axis=0, return_inverse=True)
    rows = np.zeros(len(values), np.int64)
    np.subtract.at(rows, which.ravel()[: len(before)], before[:, 2])
    np.add.at(rows, which.ravel()[len(before) :], after[:, 2])
    changes: Int64s = np.column_stack([values, rows])[rows != 0]
    return changes
