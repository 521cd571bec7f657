"""Estimates of every edge of a plan: each spec makes its own of those below.

Where an operator already runs and has been counted, its own numbers are taken; what enters is known from statistics.
"""

from __future__ import annotations

from dataclasses import replace

from sash.operators.estimate import LEAST, MOST, Estimate
from sash.operators.spec import PortSpec, Spec
from sash.plan.patterns import Pattern
from sash.plan.statistics import UNBOUNDED_SECONDS, Statistics


class Estimates:
    """Of all edges of the plans it is asked for."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._known: dict[Spec, Estimate] = {}

    def of(self, spec: Spec) -> Estimate:
        if spec not in self._known:
            self._known[spec] = _in_bounds(self._counted(spec, self._estimate(spec)))
        return self._known[spec]

    def _counted(self, spec: Spec, estimate: Estimate) -> Estimate:
        counted = self._statistics.operators.get(spec.fingerprint)
        if counted is None:
            return estimate
        premature = estimate.premature if counted.premature is None else counted.premature
        grown = counted.rate / estimate.rate if estimate.rate > LEAST else 1.0
        rows = estimate.rows * grown if counted.rows is None else counted.rows
        return replace(estimate, rate=counted.rate, rows=rows, premature=premature)

    def _estimate(self, spec: Spec) -> Estimate:
        if isinstance(spec, PortSpec) and spec.source is None:
            return self._entrance(spec)
        return spec.estimate(*map(self.of, spec.made_of))

    def _entrance(self, spec: PortSpec) -> Estimate:
        """Where rows enter, or time."""
        if spec.is_time:
            return Estimate(0.0, 0.0, (), leaves=False)
        assert spec.stream is not None
        values_of = self._statistics.table_values if spec.is_table else self._statistics.values
        values = tuple(values_of(spec.stream, name) for name in spec.schema.names)
        if spec.is_table:
            return Estimate(0.0, self._statistics.rows(spec.stream), values, leaves=spec.pattern is not Pattern.MONOTONIC)
        rate = self._statistics.rate(spec.stream)
        return Estimate(rate, rate * UNBOUNDED_SECONDS, values, leaves=False)


def _in_bounds(estimate: Estimate) -> Estimate:
    return replace(estimate, rate=min(MOST, estimate.rate), rows=min(MOST, estimate.rows))
