"""Specs travel between processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from sash.database.embedded import EmbeddedDatabase
from sash.operators.spec import PortSpec, parts

LOOK_UP = """
import pickle, sys
from dataclasses import replace
port = pickle.load(sys.stdin.buffer)
same = replace(port)
print(same == port, hash(same) == hash(port), same in {port})
"""


def test_equal_specs_are_found_in_a_process_that_hashes_texts_differently() -> None:
    db = EmbeddedDatabase()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT k FROM s")
    port = next(part for part in parts(db.planned(1).views[0].spec) if isinstance(part, PortSpec))
    assert port in {port}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        words = [sys.executable, "-c", LOOK_UP]
        done = subprocess.run(words, input=pickle.dumps(port), capture_output=True, check=True, env=environment)
        assert done.stdout.split() == [b"True"] * 3
