"""Where shards have run: how often one was elsewhere than in the batch before, or had to be made again.

The arena of a shard lies where its task ran. Elsewhere it is made again from the newest snapshot and the log, which costs time.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from sash.runtime.packets import OUTSIDE, Cargo, Packet, told_body
from sash.spark.arenas import arenas_on_this_machine

PLACE = "place"  # the name of what every shard tells of where it ran
REBUILT = "rebuilt"

Task = tuple[int, int]  # level and shard


def place_packet(level: int, shard: int, arenas: Path, *, is_rebuilt: bool) -> Packet:
    """What the task of a shard tells: the machine, and the folder that its executor has of Spark for all arenas."""
    place = f"{platform.node()}:{arenas_on_this_machine(arenas).parent}"
    return Packet(OUTSIDE, shard, Cargo.FACTS, PLACE, level, shard, told_body({PLACE: place, REBUILT: is_rebuilt}))


class Moves:
    """Of one run."""

    def __init__(self) -> None:
        self.places: dict[Task, str] = {}
        self._answers = self._moved = self._rebuilt = 0

    def observe(self, told: Iterable[Packet]) -> None:
        for packet in told:
            if packet.cargo is Cargo.FACTS and packet.name == PLACE:
                task, said = (packet.port, packet.shard), packet.told()
                self._answers += 1
                self._moved += self.places.get(task, said[PLACE]) != said[PLACE]
                self._rebuilt += said[REBUILT]
                self.places[task] = said[PLACE]

    def figures(self) -> dict[str, int]:
        places = len(set(self.places.values()))
        return {"answers": self._answers, "moved": self._moved, "rebuilt": self._rebuilt, "places": places}
