"""Where the control events of a step stand among its rows and statements.

    statements ─▶ rows ─▶ ADVANCE ─▶ statements that were made after it ─▶ … ─▶ the end

A statement meets the rows of the steps before it, and all that was told before it: so it does not matter which statements and
events come in one step.
"""

from __future__ import annotations

from collections.abc import Sequence

from sash.runtime.packets import Cargo, Packet
from sash.runtime.packing import CHANGE, CHUNKS

Event = tuple[Packet, list[Packet]]  # a control event, and the changes of tables that came right after it


def by_position(packets: Sequence[Packet]) -> tuple[list[Packet], list[Event]]:
    """Rows and statements, then the events, each with the statements that came after it, if time was told before."""
    controls = sorted((packet for packet in packets if packet.cargo is Cargo.CONTROL), key=lambda packet: packet.order)
    told = min((control.order for control in controls if control.facts().get("advance") is not None), default=None)
    if told is None:
        return list(packets), [(control, []) for control in controls]
    later = [packet for packet in packets if packet.order // CHUNKS - CHANGE > told]
    first = [packet for packet in packets if packet not in later] if later else list(packets)
    return first, [(control, [p for p in later if p.order // CHUNKS - CHANGE == control.order]) for control in controls]
