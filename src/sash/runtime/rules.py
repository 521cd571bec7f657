"""Next-operator rules: where to go from an operator that has just run. (Seed 004, 2.3 and 2.4.)

A rule is asked in turn, and the first one that knows a way is followed. Their order is the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from sash.runtime.table import State


class Move(NamedTuple):
    """The next operator, and whether it is to be run there, or only asked for the way on."""

    state: int
    runs: bool


class Conditions(Protocol):
    """What rules may ask."""

    def yields_to(self, state: State) -> Move | None:
        """The successor whose turn it is to read what this one has given, to be run if it can work; None if all is read."""
        ...

    def has_more(self, number: int) -> bool:
        """Whether it could work: it has a row below the least of its registers."""
        ...

    def lacking(self, state: State) -> int | None:
        """The predecessor on whose time it waits; None at a source."""
        ...


EXIT = Move(-1, False)
Rule = Callable[[State, Conditions], Move | None]


def forward(state: State, conditions: Conditions) -> Move | None:
    """What was given goes on to a successor."""
    return conditions.yields_to(state)


def encore(state: State, conditions: Conditions) -> Move | None:
    """The same again, while there is more."""
    return Move(state.number, True) if conditions.has_more(state.number) else None


def backtrack(state: State, conditions: Conditions) -> Move | None:
    """Back to where rows, or time, could come from."""
    predecessor = conditions.lacking(state)
    return None if predecessor is None else Move(predecessor, False)


NEXT: dict[str, tuple[Rule, ...]] = {
    "dfs": (forward, encore, backtrack),
    "bfs": (encore, forward, backtrack),
    "rr": (encore, forward),
}


def next_move(state: State, conditions: Conditions) -> Move:
    """Where to go; EXIT when no rule of this state knows a way."""
    for rule in NEXT[state.rule]:
        move = rule(state, conditions)
        if move is not None:
            return move
    return EXIT
