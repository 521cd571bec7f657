"""The spec of what waits for the time."""

from __future__ import annotations

from dataclasses import dataclass

from sash.physical.specs import BinarySpec


@dataclass(frozen=True)
class PacedSpec(BinarySpec):
    """The changes on the left when time has come to them: those of tables, which tell no time. The right input is the time."""
