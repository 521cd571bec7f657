"""What a plan costs for every second of its streams. Each spec knows its own price; a part that several others read is counted
once.
"""

from __future__ import annotations

from sash.operators.cost import Cost, Edge
from sash.operators.spec import Spec, parts
from sash.plan.patterns import Pattern
from sash.planner.estimates import Estimates


class Costs:
    """The costs of all operators of the plans it is asked for."""

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates

    def total(self, spec: Spec) -> float:
        return sum(self.of(one).work for one in parts(spec))

    def of(self, spec: Spec) -> Cost:
        """Of one operator, without what lies below."""
        return spec.cost([self._edge(one) for one in spec.made_of], self._edge(spec))

    def _edge(self, spec: Spec) -> Edge:
        estimate = self.estimates.of(spec)
        return Edge(estimate, estimate.changes if spec.pattern is Pattern.STRICT else estimate.rate)
