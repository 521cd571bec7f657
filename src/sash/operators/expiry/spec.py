"""How rows that carry their expiry become signed changes: by themselves, by messages, or when a row comes.

A message is a change of no weight: it tells what time it is, and that some row leaves then. Only edges whose spec says so have
any (`Spec.messages`), and only the operators here, filters, projections and unions meet them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sash.operators.cost import NET, Cost, Edge
from sash.operators.estimate import Estimate, as_first_input
from sash.operators.lookback import NO_LOOKBACK, TO_THE_FIRST_ROW
from sash.operators.spec import FollowsInput, Messages, PortSpec, Signed, Spec, UnarySpec
from sash.plan.patterns import Pattern

if TYPE_CHECKING:
    from sash.operators.operator import Operator, OperatorContext


RING, CALENDAR = 300.0, 1000.0  # the price of a row that comes and goes: in the order of coming, or in another


@dataclass(frozen=True)
class ExpireSpec(Signed, UnarySpec):
    """Rows that carry their expiry become signed changes. The pattern of the input picks the store: a ring or a calendar."""

    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @property
    def keeps(self) -> str:
        return "calendar of live rows" if self.input.pattern is Pattern.WEAK else "ring of live rows"

    @property
    def expiring(self) -> Spec:
        return self.input

    def suited(self) -> Spec:
        return self.input.with_pairs_found_again(tuple(range(len(self.schema))), self.schema.names) or self

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        (rows,) = inputs
        return Cost(rows.changes * (CALENDAR if self.input.pattern is Pattern.WEAK else RING), rows.rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.expire import expire

        return expire(self, context)


@dataclass(frozen=True)
class AnnounceSpec(FollowsInput, UnarySpec):
    """Rows that carry their expiry, and a message whenever one of them leaves; `merges`: at most one of them waits in an arc."""

    merges: bool

    keeps = "when rows leave"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    @property
    def messages(self) -> Messages:
        return Messages.of(self.merges)

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(2 * inputs[0].changes * NET, inputs[0].rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.messages import Announce

        return Announce(self, context)


@dataclass(frozen=True)
class MessageExpireSpec(Signed, UnarySpec):
    """Announced rows become signed changes when a message, or a row that stands for one, says so."""

    keeps = "rows by expiry, until a message says so"
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * CALENDAR, inputs[0].rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.messages import message_expire

        return message_expire(self, context)


@dataclass(frozen=True)
class InputExpireSpec(Signed, UnarySpec):
    """Rows that carry their expiry become signed changes; they leave when a row comes, here or to any of `triggers`."""

    time: PortSpec  # that of the view, whose end lets all leave
    triggers: tuple[Spec, ...] = ()

    keeps = "rows by expiry, until a row comes"
    lookback = TO_THE_FIRST_ROW
    needs_exact_departures = False

    @property
    def inputs(self) -> tuple[Spec, ...]:
        return (self.input, *self.triggers, self.time)

    def estimate(self, *inputs: Estimate) -> Estimate:
        return as_first_input(self, inputs)

    def cost(self, inputs: Sequence[Edge], output: Edge) -> Cost:
        return Cost(inputs[0].changes * CALENDAR, inputs[0].rows)

    def build(self, context: OperatorContext) -> Operator:
        from sash.operators.expiry.input_expire import InputExpire

        return InputExpire(self, context)
