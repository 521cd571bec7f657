"""Plans carried out in the slowest way, over rows that lie in tables."""

import statistics
from collections import Counter
from functools import cmp_to_key
from itertools import product

import pyarrow as pa

from sash.plan.aggregates import Function
from sash.plan.nodes import Aggregate, Combination, Combine, Filter, Join, Project, Scan, Top, Window
from sash.scalar.evaluate import evaluate
from sash.scalar.failures import Failures
from sash.testing.values import order


def carry_out(plan, tables):
    """The rows of a plan."""
    match plan:
        case Scan():
            return tables[plan.name]
        case Window():
            return carry_out(plan.input, tables)
        case Filter():
            rows = carry_out(plan.input, tables)
            kept = computed([plan.predicate], rows, plan.schema)
            return [row for row, (keep,) in zip(rows, kept, strict=True) if keep]
        case Project():
            return computed(plan.expressions, carry_out(plan.input, tables), plan.input.schema)
        case Join():
            return joined(plan, carry_out(plan.left, tables), carry_out(plan.right, tables))
        case Combine():
            return combined(plan, carry_out(plan.left, tables), carry_out(plan.right, tables))
        case Top():
            return top(plan, carry_out(plan.input, tables))
        case Aggregate():
            return grouped(plan, carry_out(plan.input, tables))


def computed(expressions, rows, schema):
    columns = {n: pa.array([row[n] for row in rows], type_.arrow) for n, type_ in enumerate(schema.types)}
    results = [evaluate(expression, columns, len(rows), Failures()).to_pylist() for expression in expressions]
    return list(zip(*results, strict=True))


def joined(plan, left, right):
    for one, other in zip(plan.left_keys, plan.right_keys, strict=True):
        assert plan.left.schema.types[one] == plan.right.schema.types[other]
    keys = list(zip(plan.left_keys, plan.right_keys, strict=True))
    pairs = [a + b for a, b in product(left, right) if all(a[x] is not None and a[x] == b[y] for x, y in keys)]
    if plan.residual is None:
        return pairs
    kept = computed([plan.residual], pairs, plan.schema)
    return [row for row, (keep,) in zip(pairs, kept, strict=True) if keep]


TIMES = {
    Combination.UNION_ALL: lambda n, m: n + m,
    Combination.INTERSECT_ALL: min,
    Combination.INTERSECT: lambda n, m: min(1, n, m),
    Combination.EXCEPT_ALL: lambda n, m: max(0, n - m),
    Combination.EXCEPT: lambda n, m: int(n > 0 and m == 0),
    Combination.SEMI: lambda n, m: n if m else 0,
    Combination.ANTI: lambda n, m: 0 if m else n,
}


def combined(plan: Combine, left, right):
    assert plan.left.schema.types == plan.right.schema.types
    n, m = Counter(left), Counter(right)
    return list(Counter({row: TIMES[plan.how](n[row], m[row]) for row in n | m}).elements())


def top(plan: Top, rows):
    partitions = {}
    for row in sorted(rows, key=cmp_to_key(lambda one, other: compared(plan, one, other))):
        partitions.setdefault(tuple(row[place] for place in plan.partition), []).append(row)
    numbered = [(n, row) for part in partitions.values() for n, row in enumerate(part, 1)]
    kept = [(n, row) for n, row in numbered if plan.offset < n <= plan.offset + plan.count]
    return [row if plan.numbered is None else (*row, n) for n, row in kept]


def compared(plan: Top, one, other):
    for part in plan.order:
        a, b = one[part.column], other[part.column]
        if a == b:
            continue
        if a is None or b is None:
            return -1 if (a is None) == part.nulls_first else 1
        return -1 if (a < b) != part.is_descending else 1
    return -1 if order(one) < order(other) else int(order(one) > order(other))


def grouped(plan: Aggregate, rows):
    groups = {tuple(row[key] for key in plan.keys): [] for row in rows} if plan.keys else {(): []}
    for row in rows:
        groups[tuple(row[key] for key in plan.keys)].append(row)
    return [key + tuple(called(call, group) for call in plan.calls) for key, group in groups.items()]


def called(call, rows):
    if call.second is not None:
        return chosen(call, [(row[call.second], row[call.argument]) for row in rows if row[call.second] is not None])
    values = [1 if call.argument is None else row[call.argument] for row in rows]
    values = [value for value in values if value is not None]
    if call.is_distinct:
        values = list(set(values))
    if call.function is Function.COUNT:
        return len(values)
    return MEANS[call.function](sorted(values), call.parameter) if values else None


def chosen(call, pairs):
    key = lambda pair: order(pair)  # noqa: E731
    if not pairs:
        return None
    return (min if call.function is Function.MIN_BY else max)(pairs, key=key)[1]


def between(values, fraction):
    place = (len(values) - 1) * fraction
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (values[high] - values[low]) * (place - low))


def folded(values, operation):
    result = values[0]
    for value in values[1:]:
        result = operation(result, value)
    return result


def standardized(values: list, power: int) -> float | None:
    """A moment of the values, whose deviation is the unit."""
    deviation = statistics.pstdev(values)
    return sum(((value - statistics.mean(values)) / deviation) ** power for value in values) / len(values) if deviation else None


MEANS = {
    Function.SUM: lambda values, _: sum(values),
    Function.AVG: lambda values, _: sum(values) / len(values),
    Function.MIN: lambda values, _: values[0],
    Function.MAX: lambda values, _: values[-1],
    Function.VAR_POP: lambda values, _: statistics.pvariance(values),
    Function.VAR_SAMP: lambda values, _: statistics.variance(values) if len(values) > 1 else None,
    Function.STDDEV_POP: lambda values, _: statistics.pstdev(values),
    Function.STDDEV_SAMP: lambda values, _: statistics.stdev(values) if len(values) > 1 else None,
    Function.SKEWNESS: lambda values, _: standardized(values, 3),
    Function.KURTOSIS: lambda values, _: None if (found := standardized(values, 4)) is None else found - 3,
    Function.MEDIAN: lambda values, _: between(values, 0.5),
    Function.PERCENTILE_CONT: between,
    Function.PERCENTILE_DISC: lambda values, f: values[max(0, -int(-len(values) * f // 1) - 1)],
    Function.STRING_AGG: lambda values, separator: separator.join(values),
    Function.BIT_AND: lambda values, _: folded(values, int.__and__),
    Function.BIT_OR: lambda values, _: folded(values, int.__or__),
    Function.BIT_XOR: lambda values, _: folded(values, int.__xor__),
    Function.BOOL_AND: lambda values, _: all(values),
    Function.BOOL_OR: lambda values, _: any(values),
}
