"""The state table of a graph: every operator with its neighbours and its rule. (Seed 004, section 3.)

    state   operator   predecessors   successors   rule   batch
    0       port       -              1            dfs    auto
    1       filter     0              2            dfs    auto
    2       union      1, 4           -            bfs    all

It is plain data. A graph that runs is given another table between two operators' turns: another rule for some states is another
schedule there; neighbours taken away at a break node cut the graph into fragments, which are scheduled one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sash.runtime.schedule import ALL, AUTO, BY_LOAD, Schedule


@dataclass(frozen=True, slots=True)
class State:
    """An operator, by its number: inputs have smaller ones."""

    number: int
    operator: str
    predecessors: tuple[int, ...]
    successors: tuple[int, ...]
    rule: str = AUTO.rule
    batch: int = AUTO.batch
    fragment: int = 0  # the least number of the operators that it is connected with
    urgency: int = 0  # fragments with a smaller one are run first


@dataclass(frozen=True)
class StateTable:
    """All states, by number."""

    states: tuple[State, ...] = ()

    def __getitem__(self, number: int) -> State:
        return self.states[number]

    def __len__(self) -> int:
        return len(self.states)

    @staticmethod
    def of(operators: Sequence[str], inputs: Sequence[Sequence[int]], breaks: Iterable[int] = ()) -> StateTable:
        """The table of a graph: for every operator its name and those it reads; nobody sees beyond a break."""
        broken = set(breaks)
        predecessors = [tuple(dict.fromkeys(n for n in found if n not in broken)) for found in inputs]
        successors: list[list[int]] = [[] for _ in operators]
        for number, found in enumerate(predecessors):
            for below in found:
                successors[below].append(number)
        fragments = _fragments(predecessors)
        return StateTable(
            tuple(
                State(number, name, predecessors[number], tuple(successors[number]), fragment=fragments[number])
                for number, name in enumerate(operators)
            )
        )

    def scheduled(self, schedules: Mapping[int, Schedule]) -> StateTable:
        """The same graph; these states follow these schedules."""
        return StateTable(
            tuple(
                s if chosen is None or (chosen.rule, chosen.batch) == (s.rule, s.batch)
                else replace(s, rule=chosen.rule, batch=chosen.batch)
                for s, chosen in ((state, schedules.get(state.number)) for state in self.states)
            )
        )

    def ordered(self, steepness: Mapping[int, float]) -> StateTable:
        """The same graph; where several fragments have work, that of the state with the greatest number runs first."""
        if not steepness and not any(state.urgency for state in self.states):
            return self
        steepest: dict[int, float] = {}
        for number, slope in steepness.items():
            fragment = self.states[number].fragment
            steepest[fragment] = max(slope, steepest.get(fragment, slope))
        urgency = {fragment: place for place, fragment in enumerate(sorted(steepest, key=lambda one: -steepest[one]))}
        return StateTable(tuple(replace(s, urgency=urgency.get(s.fragment, len(urgency))) for s in self.states))

    def lines(self) -> list[str]:
        """For people."""
        head = ("state", "operator", "predecessors", "successors", "rule", "batch")
        rows = [head, *(_cells(state) for state in self.states)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cells(state: State) -> tuple[str, ...]:
    batch = {BY_LOAD: "auto", ALL: "all"}.get(state.batch, str(state.batch))
    neighbours = (", ".join(map(str, found)) or "-" for found in (state.predecessors, state.successors))
    return (str(state.number), state.operator, *neighbours, state.rule, batch)


def _fragments(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """For every state the least number of those it is connected with."""
    fragments = list(range(len(predecessors)))

    def root(number: int) -> int:
        while fragments[number] != number:
            number = fragments[number]
        return number

    for number, found in enumerate(predecessors):
        for below in found:
            first, second = sorted((root(number), root(below)))
            fragments[second] = first
    return [root(number) for number in range(len(fragments))]
