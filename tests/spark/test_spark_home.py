"""Spark is started without its archive of PySpark, unless somebody has chosen another way."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from sash.spark import spark_home
from sash.spark.spark_home import HOME, PYTHONS, light_home


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for variable in (HOME, *PYTHONS):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("plain")
def test_the_home_has_all_but_the_archive_and_is_forgotten() -> None:
    for _ in range(2):  # it is there the second time
        with light_home():
            home = Path(os.environ[HOME])
            assert (home / "bin/spark-submit").is_file() and any((home / "jars").glob("spark-core*.jar"))
            assert not (home / "python").exists()
        assert HOME not in os.environ


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(("variable", "value"), [(HOME, "/elsewhere"), *((name, "/usr/bin/python0") for name in PYTHONS)])
def test_what_somebody_has_chosen_stays(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with light_home():
        assert os.environ.get(HOME) == (value if variable == HOME else None)


@pytest.mark.usefixtures("plain")
def test_this_python_may_be_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PYTHONS:
        monkeypatch.setenv(name, sys.executable)
    with light_home():
        assert HOME in os.environ


@pytest.mark.usefixtures("plain")
def test_a_pyspark_that_other_processes_may_not_find_stays_in_its_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pyspark, "__file__", str(tmp_path / "pyspark/__init__.py"))
    assert spark_home._home() is None


def test_no_process_of_spark_finds_the_archive(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    places = jvm.org.apache.spark.api.python.PythonUtils.sparkPythonPath().split(os.pathsep)
    assert [place for place in places if place.endswith("pyspark.zip") and Path(place).exists()] == []
