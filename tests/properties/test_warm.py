"""`sash.warm` compiles all there is: no query of the tests calls a kernel in a way that it has not called it before.

The kernels that a process has called, and with which types, are counted: first by what is warmed, then by everything else. So
it does not matter what lies in the cache.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path

import sash
import sash.operators
from sash.errors import SashError
from sash.operators.spec import Spec
from sash.tree import reached

TESTS = Path(__file__).parents[1]


def compiled() -> dict[str, set[str]]:
    """Every kernel, and the types that it has been called with in this process."""
    from numba.core.registry import CPUDispatcher

    found = {}
    for module in pkgutil.walk_packages(sash.__path__, "sash."):
        if "kernels" in module.name and not module.ispkg:
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, CPUDispatcher) and value.py_func.__module__ == module.name:
                    found[f"{module.name}.{name}"] = set(map(str, value.signatures))
    return found


def play_everything() -> None:
    """The logic tests as they are written, and all shapes in all ways to let rows leave, or in the usual way and one other."""
    from lengths import share
    from sash.testing.slt import run_file
    from shapes import SHAPES, STREAMS, make_rows

    for path in sorted((TESTS / "slt").rglob("*.slt")):
        run_file(path)
    rows = make_rows(21, 60)
    others = ("direct", "negative", "time-message", "piggyback", "input-triggered")
    for place, shape in enumerate(SHAPES):
        for expiry in ("auto", *share(others, place, len(others))):
            db = sash.connect(expiry=expiry)
            try:
                db.execute(STREAMS + shape.sql)
            except SashError:
                continue  # not every query can be run in every way
            for name in ("sellers", "bids", "asks", "quiet"):
                db.push(name, rows[name])
            db.end()
    play_look_ups()
    play_shards()


def play_look_ups() -> None:
    """Questions by indexes of every kind of column."""
    from test_index_law import compared

    compared(1, 30, 4)


def play_shards() -> None:
    """Some of the shapes on several shards, and the law of partitions."""
    from playing import Way, played
    from test_partitions_law import test_partitions_are_judged_as_the_contract_says

    from shapes import SHAPES, STREAMS, make_rows

    for shape in SHAPES[::8]:
        played(STREAMS + shape.sql, make_rows(21, 60), Way(size=20, shards=3, restarts=True), view=shape.name)
    for seed in range(8):
        test_partitions_are_judged_as_the_contract_says(seed)


def late_ones() -> dict[str, list[str]]:
    """What is compiled after the warm-up."""
    from sash.warm import OTHER_WAYS, QUERIES, play, play_filters, play_late_views, play_other_ways, play_questions
    from sash.warm import play_shards as warm_shards

    for query in QUERIES:
        play(query)
    for expiry in OTHER_WAYS:
        play_other_ways(expiry)
    play_questions()
    warm_shards()
    play_filters()
    play_late_views()
    before = compiled()
    assert sum(map(bool, before.values())) > 50
    play_everything()
    return {name: sorted(new) for name, types in compiled().items() if (new := types - before[name])}


def test_nothing_is_compiled_after_the_warm_up() -> None:
    words = [sys.executable, "-W", "ignore", str(Path(__file__))]
    told = subprocess.run(words, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr[-2000:]
    assert json.loads(told.stdout.splitlines()[-1]) == {}


def run_for(spec: Spec) -> dict[Spec, None]:
    """A spec, what it is made of, and what it reads: a tap reads an operator that it is not made of."""
    return reached(spec, lambda one: (*one.made_of, *one.inputs))


def test_every_operator_is_warmed() -> None:
    from sash.warm import INPUTS, OTHER_WAYS, QUERIES

    met = set()
    for expiry in ("auto", *OTHER_WAYS):
        for query in QUERIES:
            db = sash.connect(expiry=expiry)
            try:
                db.execute(f"{INPUTS} CREATE MATERIALIZED VIEW answer AS {query}")
            except SashError:
                continue
            met |= {type(part) for shards in (1, 2) for view in db.planned(shards).views for part in run_for(view.spec)}
    for family in pkgutil.iter_modules(sash.operators.__path__, "sash.operators."):
        if family.ispkg and importlib.util.find_spec(f"{family.name}.spec") is not None:
            importlib.import_module(f"{family.name}.spec")
    missing = {kind.__name__ for kind in concrete(Spec) if kind.__module__.startswith("sash.") and kind not in met}
    # Without kernels of their own: rows of a table that wait for time, and changes of a table that a stream makes.
    assert missing <= {"TimeGatedSpec", "TableChangesSpec"}


def concrete(kind: type) -> set[type]:
    own = set() if inspect.isabstract(kind) else {kind}
    return own.union(*map(concrete, kind.__subclasses__()))


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    warnings.simplefilter("ignore")
    print(json.dumps(late_ones()))
