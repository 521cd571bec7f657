from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

from sash.errors import SashError
from sash.generate import GENERATORS, SCHEMAS, auctions, generate, pairs, traffic


@pytest.mark.parametrize("name", GENERATORS)
def test_the_seed_decides_everything(name: str) -> None:
    make = GENERATORS[name]
    assert make(500, 7) == make(500, 7)
    assert make(500, 7) != make(500, 8)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("rows", [0, 1, 3, 60])
def test_streams_have_their_columns_in_the_order_of_time(name: str, rows: int) -> None:
    for stream, table in GENERATORS[name](rows, 1).items():
        assert table.schema == SCHEMAS[stream].arrow
        instants = table.column("ts").cast(pa.int64()).to_pylist()
        assert instants == sorted(instants)
        assert all(column.null_count == 0 for column in table.columns)


def test_traffic_is_skewed_and_bursty() -> None:
    table = traffic(50_000, 3)["traffic"]
    assert table.num_rows == 50_000
    protocol = {entry["values"]: entry["counts"] for entry in table.column("protocol").value_counts().to_pylist()}
    assert protocol["http"] > 25_000
    assert 100 < protocol["telnet"] < 1_000
    sources = sorted((entry["counts"] for entry in table.column("src").value_counts().to_pylist()), reverse=True)
    assert sources[0] > 20 * sources[len(sources) // 2]
    assert set(table.column("link").to_pylist()) == {0, 1, 2, 3}
    gaps = np.diff(table.column("ts").cast(pa.int64()).to_numpy())
    assert gaps.std() > 1.5 * gaps.mean()  # a steady stream of random arrivals has both alike


def test_pairs_are_a_thousand_rows_a_second_over_their_keys() -> None:
    streams = pairs(20_000, 5, keys=50)
    assert streams["a"] != streams["b"]
    for table in streams.values():
        instants = table.column("ts").cast(pa.int64()).to_numpy()
        assert 19 < (instants[-1] - instants[0]) / 1e6 < 21
        keys = np.bincount(table.column("k").to_numpy(), minlength=50)
        assert len(keys) == 50
        assert keys.min() > 250
    skewed = np.bincount(pairs(20_000, 5, keys=50, skew=1.0)["a"].column("k").to_numpy(), minlength=50)
    assert skewed[0] > 10 * skewed[49]


def test_bids_are_for_auctions_and_by_persons_that_came_before() -> None:
    streams = auctions(5_000, 2)
    assert {name: table.num_rows for name, table in streams.items()} == {"persons": 100, "auctions": 300, "bids": 4_600}
    auction_ts = streams["auctions"].column("ts").take(streams["bids"].column("auction"))
    assert pc.all(pc.less_equal(auction_ts, streams["bids"].column("ts"))).as_py()
    for stream, column in (("bids", "bidder"), ("auctions", "seller")):
        person_ts = streams["persons"].column("ts").take(streams[stream].column(column))
        assert pc.all(pc.less_equal(person_ts, streams[stream].column("ts"))).as_py()
    assert pc.all(pc.less(streams["auctions"].column("ts"), streams["auctions"].column("expires"))).as_py()


def test_both_formats_hold_the_same_rows(tmp_path: Path) -> None:
    names = [path.name for path in generate("traffic", 300, 4, tmp_path / "csv" / "new", "csv")]
    assert names == ["traffic.csv", "streams.sql"]
    generate("traffic", 300, 4, tmp_path, "parquet")
    read = pa.csv.read_csv(
        tmp_path / "csv" / "new" / "traffic.csv",
        convert_options=pa.csv.ConvertOptions(column_types=SCHEMAS["traffic"].arrow),
    )
    assert read == pa.parquet.read_table(tmp_path / "traffic.parquet") == traffic(300, 4)["traffic"]


def test_statements_declare_what_was_written(tmp_path: Path) -> None:
    *_, statements = generate("pairs", 5, 0, tmp_path, "csv")
    assert statements.read_text() == (
        "CREATE STREAM a (ts TIMESTAMP, k BIGINT, v BIGINT)\n"
        "  TIMESTAMP BY ts WITH (format = 'csv', path = 'a.csv', header = 'true');\n"
        "\n"
        "CREATE STREAM b (ts TIMESTAMP, k BIGINT, v BIGINT)\n"
        "  TIMESTAMP BY ts WITH (format = 'csv', path = 'b.csv', header = 'true');\n"
    )


@pytest.mark.parametrize(
    ("name", "rows", "format", "message"),
    [
        ("trafic", 1, "csv", 'unknown generator "trafic"; generators are: traffic, pairs, auctions'),
        ("traffic", 1, "xml", 'unknown format "xml"; formats are: csv, parquet'),
        ("traffic", -1, "csv", "cannot write -1 rows"),
    ],
)
def test_mistakes_name_the_choices(tmp_path: Path, name: str, rows: int, format: str, message: str) -> None:
    with pytest.raises(SashError, match=message):
        generate(name, rows, 0, tmp_path, format)
