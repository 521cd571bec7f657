"""At which instant an answer is, and whether that instant is final.

    now             the greatest timestamp seen, or the clock where that is later: where `view()` answers
    final_before    all instants below it are final: they are in the changelog for good
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sash.errors import SashError
from sash.plan.times import Time
from sash.runtime.packets import OUTSIDE, Cargo, Packet, told_body
from sash.schema import BEGINNING

EPOCH = datetime(1970, 1, 1)
INSTANTS = "instants"  # the name of what a shard tells of them


def moment(instant: int) -> datetime:
    return EPOCH + timedelta(microseconds=instant)


@dataclass(frozen=True)
class Instants:
    """Of one time; both are BEGINNING before the first row."""

    now: int = BEGINNING
    final_before: int = BEGINNING

    @property
    def is_final(self) -> bool:
        """Whether what is answered now is answered for good."""
        return self.now < self.final_before


def together(instants: Sequence[Instants]) -> Instants:
    """Of several that are looked at as one: at the latest, and final as far as all are."""
    return Instants(max(one.now for one in instants), min(one.final_before for one in instants)) if instants else Instants()


def check_kept(name: str, instant: int, since: int, now: int) -> None:
    """An error for an instant of a view that has not come, or of which nothing is known any more."""
    if instant > now:
        when = f"at {moment(now)}" if now > BEGINNING else "before its first row"
        raise SashError(f'view "{name}" is {when}: {moment(instant)} has not come', "ask for an earlier instant")
    if instant < since - 1:
        raise SashError(
            f'the history of view "{name}" is kept since {moment(since)}: it cannot be asked AS OF {moment(instant)}',
            "ask for a later one, or keep more: CREATE MATERIALIZED VIEW … WITH (history = '7 DAYS') AS …, or connect(history=…)",
        )


def instants_packet(shard: int, instants: Mapping[Time, Instants]) -> Packet:
    """What a shard tells the driver; all shards know the same."""
    told = [[*time, one.now, one.final_before] for time, one in instants.items()]
    return Packet(OUTSIDE, shard, Cargo.FACTS, INSTANTS, -1, shard, told_body({INSTANTS: told}))


def told_instants(packets: Iterable[Packet]) -> dict[Time, Instants]:
    """By time, as a batch told them; nothing where it did not."""
    told = [packet.told() for packet in packets if packet.cargo is Cargo.FACTS and packet.name == INSTANTS]
    return {tuple(streams): Instants(now, final) for one in told for *streams, now, final in one[INSTANTS]}
