"""Where to break a graph so that little lies between its operators. (Seed 004, section 3, after Chain scheduling.)

    bytes of a row                    From where a row is, go to the point to which the memory falls fastest for the work done:
    1 ┤●                              the lower envelope. Its corners are break nodes; what lies between two of them runs
      │  ╲ ●                          as one fragment, and the steepest fragment that has rows runs first.
      │    ╲
      │      ●────── ●
      └──────────────────▶ seconds of work
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sash.runtime.node import Node


@dataclass(frozen=True)
class Fragment:
    """A part of a path: its operators, and how many bytes of a row it makes away with in a second."""

    operators: tuple[int, ...]
    steepness: float


def fragments(nodes: Sequence[Node], inputs: Sequence[Sequence[int]]) -> list[Fragment]:
    """All paths of a graph cut at the corners of their envelopes, by what the operators have done so far."""
    found = []
    for path in paths(nodes, inputs):
        points = progress([nodes[number] for number in path])
        for start, stop in corners(points):
            slope = _steepness(points[start], points[stop])
            found.append(Fragment(tuple(path[start + 1 : stop + 1]), slope))
    return found


def break_nodes(found: Sequence[Fragment], nodes: Sequence[Node]) -> set[int]:
    """The last operators of fragments that somebody reads."""
    return {fragment.operators[-1] for fragment in found if nodes[fragment.operators[-1]].output.arcs}


def paths(nodes: Sequence[Node], inputs: Sequence[Sequence[int]]) -> list[list[int]]:
    """The longest ways on which every operator has one input, and all before the last one reader."""
    found = []
    for node in nodes:
        starts = not inputs[node.number] or len(inputs[node.number]) > 1 or len(nodes[inputs[node.number][0]].output.arcs) > 1
        if starts:
            path = [node.number]
            while len(arcs := nodes[path[-1]].output.arcs) == 1 and len(inputs[arcs[0].reader]) == 1:
                path.append(arcs[0].reader)
            if len(path) > 1:
                found.append(path)
    return found


def progress(path: Sequence[Node]) -> list[tuple[float, float]]:
    """For every operator of a path: work done so far on a row that entered it, and bytes that are left of the row."""
    work, rows = 0.0, 1.0
    points = [(work, _bytes(path[0]))]
    for node in path[1:]:
        taken = sum(arc.rows for arc in node.metrics.arcs)
        if not taken:
            break  # nothing is known of the rest
        work += rows * node.metrics.seconds / taken
        rows *= node.metrics.out.rows / taken
        points.append((work, rows * _bytes(node)))
    return points


def corners(points: Sequence[tuple[float, float]]) -> list[tuple[int, int]]:
    """The stretches of the lower envelope."""
    found, start = [], 0
    while start < len(points) - 1:
        stop = max(range(start + 1, len(points)), key=lambda place: (_steepness(points[start], points[place]), place))
        found.append((start, stop))
        start = stop
    return found


def _steepness(before: tuple[float, float], after: tuple[float, float]) -> float:
    return (before[1] - after[1]) / max(after[0] - before[0], 1e-12)


def _bytes(node: Node) -> float:
    """Of a row, with its instant, expiry and weight."""
    return 8.0 * (node.spec.layout.width + 3)
