"""The guide to clusters: its script runs as its line of spark-submit says, on executors of their own, and goes on after its end."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sash
from sash.testing.comparing import assert_same
from sash.testing.tables import from_arrow

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
ROWS = "".join(f"2026-01-01 12:{n // 60:02d}:{n % 60:02d},h{n % 7},{n}\n" for n in range(900))


def block(kind: str) -> str:
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.mark.spark
def test_the_script_of_the_page_runs_on_executors(tmp_path: Path) -> None:
    from sash.spark.session import find_java

    (tmp_path / "job.py").write_text(block("python"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.csv").write_text(ROWS)
    line = block("sh").replace("\\\n", " ").replace("INPUT CHECKPOINT OUTPUT", f"{tmp_path}/in {tmp_path}/point {tmp_path}/out")
    words = shlex.split(line)
    submit = Path(sys.executable).parent / words[0]
    assert submit.exists()
    environment = {
        **os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(find_java()),
        "PATH": f"{submit.parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run([str(submit), *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "talkers: 7 rows" in done.stdout and "'places': 2" in done.stdout
    expected = sash.connect(base=tmp_path)
    (create,) = re.findall(r'db.execute\(f"""(.*?)"""\)', block("python"), re.DOTALL)
    expected.execute(create.replace("{source}", str(tmp_path / "in")))
    expected.run()
    written = pq.read_table(tmp_path / "out/talkers.changes.parquet")
    assert len(written) > 900
    assert_same(from_arrow(expected.changes("talkers")), from_arrow(written))  # type: ignore[arg-type]
