"""Messages: every one is a record by itself, read as a line of a file would be, and none is lost."""

from __future__ import annotations

import json
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import letters, values

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources import ReadResult
from sash.sources.json import read_json
from sash.sources.messages import message_spec, read_messages
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import CreateStream

COLUMNS = "id BIGINT, city STRING FROM '$.address.city', at TIMESTAMP"


def declared(columns: str, **options: str) -> StreamSpec:
    said = ", ".join(f"{key} = '{value}'" for key, value in {"format": "kafka", "subscribe": "x", **options}.items())
    (statement,) = parse_statements(f"CREATE STREAM s ({columns}) WITH ({said})")
    assert isinstance(statement, CreateStream)
    return statement.spec


def read(spec: StreamSpec, *messages: bytes | None, type_: pa.DataType | None = None) -> ReadResult:
    return read_messages(spec, pa.array(messages, type_ or pa.binary()), [])


def test_columns_are_keys_or_where_paths_lead() -> None:
    spec = declared(COLUMNS, encoding="json")
    result = read(spec, b'{"id": 1, "address": {"city": "Ulm", "zip": 7}, "at": "2024-01-01 00:00:01"}', b'{"address": null}', b"{}")
    assert values(result) == [(1, "Ulm", datetime(2024, 1, 1, 0, 0, 1)), (None, None, None), (None, None, None)]
    assert letters(result) == []


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_text_is_as_good_as_bytes(type_: pa.DataType) -> None:
    assert values(read(declared("id INT", encoding="json"), '{"id": 5}', type_=type_)) == [(5,)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "the message has no value"),
        (b"", "the message is empty"),
        (b" \n\t", "the message is empty"),
        (b"\xff", "not valid UTF-8"),
        (b"null", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b'{"id": 1}{"id": 2}', "not valid JSON: Extra data at character 10"),
        (b'{"id": 1}\n{"id": 2}', "not valid JSON: Extra data at character 11"),
        (b'{"id": 1', "not valid JSON: Expecting ',' delimiter at character 9"),
        (b'{"id": "1"}', 'column "id": "1" is not a BIGINT'),
        (b'{"address": "Ulm"}', "column \"city\": 'Ulm' in the middle of its path is not a STRING"),
        (b'{"address": [1]}', 'column "city": [\'1\'] in the middle of its path is not a STRING'),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_what_is_no_record_is_a_dead_letter_and_the_others_are_read(message: bytes | None, reason: str, before: int) -> None:
    spec = declared(COLUMNS, encoding="json")
    good = b'{"id": 7, "address": {"city": "Bonn"}}'
    result = read(spec, *[good] * before, message, good)
    assert values(result) == [(7, "Bonn", None)] * (before + 1)
    (letter,) = result.dead.to_pylist()
    assert (letter["reason"], letter["row"]) == (reason, before + 1)
    assert letter["line"] == (message or b"").decode("utf-8", "replace")


def test_a_message_may_have_line_ends() -> None:
    spec = declared("id BIGINT, s STRING", encoding="json")
    pretty = json.dumps({"id": 2, "s": "x"}, indent=2).encode()
    assert values(read(spec, b'{"id": 1}\n', pretty, b'{"id": 3}\r\n', pretty)) == [(1, None), (2, "x"), (3, None), (2, "x")]


def test_csv_messages() -> None:
    spec = declared("n BIGINT, s STRING", encoding="csv", delimiter=";", nullvalue="-")
    result = read(spec, b"1;a", b'2;"x;y"', b"3;-", b"4;b\r\n", b'5;"', b"6;c\n7;d", b"8", b"", None, b"9;z")
    assert values(result) == [(1, "a"), (2, "x;y"), (3, None), (4, "b"), (9, "z")]
    assert [(letter["row"], letter["reason"]) for letter in result.dead.to_pylist()] == [
        (5, "a quote is not closed on its line (see option multiline)"), (6, "the message is more than one record"),
        (7, "1 values where 2 are expected"), (8, "the message is empty"), (9, "the message has no value"),
    ]  # fmt: skip
    lines = declared("n BIGINT, s STRING", encoding="csv", multiline="true")
    assert values(read(lines, b'1,"a\nb"', b"2,c")) == [(1, "a\nb"), (2, "c")]


def test_what_is_told_beside_messages() -> None:
    spec = declared("topic STRING METADATA, id BIGINT, sent TIMESTAMP METADATA FROM 'timestamp', n INT METADATA", encoding="json")
    messages = pa.array([b'{"id": 1}', b"oh", b'{"id": 3}', b'{"id": 4}'])
    beside = [pa.array(["t", "u", None, "w"]), pa.array([1, 2, 3, None], pa.timestamp("us")), pa.array([1, 2, 1 << 40, 4])]
    result = read_messages(spec, messages, beside)
    assert values(result) == [("t", 1, datetime(1970, 1, 1, 0, 0, 0, 1), 1), ("w", 4, None, 4)]
    assert [(letter["row"], letter["line"]) for letter in result.dead.to_pylist()] == [(2, "oh"), (3, '{"id": 3}')]
    assert 'column "n"' in result.dead.to_pylist()[1]["reason"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "address", "city", "at", "x"]), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(JSON.map(json.dumps) | st.text(max_size=6), max_size=6))
def test_messages_are_read_as_lines_of_a_file_are(texts: list[str]) -> None:
    spec = declared(COLUMNS, encoding="json")
    lines = [text.encode("utf-8", "surrogatepass") for text in texts if "\n" not in text and "\r" not in text and text.strip()]
    whole = read_json(message_spec(spec), b"\n".join(lines))
    result = read(spec, *lines)
    assert result.batch.equals(whole.batch)
    assert [(one["reason"], one["line"], one["row"]) for one in result.dead.to_pylist()] == [
        (letter.reason, letter.line, letter.row + 1) for letter in whole.letters
    ]
    singly = [read(spec, line) for line in lines]
    assert [row for one in singly for row in values(one)] == values(result)


@pytest.mark.parametrize(
    ("columns", "options", "error"),
    [
        ("a INT", {"encoding": "xml"}, 'unknown encoding "xml"; encodings are: json, csv, avro, protobuf, raw'),
        ("a INT FROM '$.b'", {"encoding": "csv"}, 'column "a" is FROM a path, and its messages are CSV'),
    ],
)
def test_what_cannot_be_is_refused(columns: str, options: dict[str, str], error: str) -> None:
    with pytest.raises(SashError, match=error):
        message_spec(declared(columns, **options))


@pytest.mark.parametrize("path", ["$", "", "a", "$.", "$.a.", "$..a", "$.a b", "$['a", "$.*", "$a"])
def test_what_is_no_path_is_an_error_where_it_stands(path: str) -> None:
    with pytest.raises(SashError, match="is no path into a JSON object") as error:
        declared("a INT FROM '{}'".format(path.replace("'", "''")))
    assert "line 1" in str(error.value)


def test_paths_do_not_go_into_arrays() -> None:
    with pytest.raises(SashError, match="goes into an array; declare the array as a column"):
        declared("a INT FROM '$.b[0]'")


def test_two_columns_may_mean_one_value_or_a_whole_and_its_part() -> None:
    spec = declared("a BIGINT FROM '$.o.n', b BIGINT FROM '$[\"o\"].n', c STRING FROM '$.o.n'", encoding="json")
    assert values(read(spec, b'{"o": {"n": 5}}')) == [(5, 5, "5")]
    spec = declared("o STRING, n BIGINT FROM '$.o.n'", encoding="json")
    result = read(spec, b'{"o": null}', b'{"o": "x"}', b'{"o": {"n": 1}}')
    assert values(result) == [(None, None)]
    assert len(result.dead) == 2


@pytest.mark.parametrize("encoding", ["json", "csv"])
def test_a_batch_of_messages_none_of_which_can_be_read(encoding: str) -> None:
    """It ended the job, and every job after it that met the same offsets."""
    spec = declared("id BIGINT, at TIMESTAMP", encoding=encoding)
    for messages in ([None], [b""], [None, b"", b"x"], [b"x\ny", b"\xff", None], [b"{\n", b"{"]):
        result = read(spec, *messages)
        assert values(result) == []
        assert [row for row, _, _ in letters(result)] == list(range(1, len(messages) + 1))


ODD = [
    b"1,x", b'2,"x,y"', b'3,"x\ny"', b'4,"x', b'y",5', b'"', b'6,"', b'",', None, b"", b"\n", b"7,x\n", b"8,x\r\n", b"9,x\n10,y", b'11,a"b', b"\xff,x",
]  # fmt: skip


@given(st.lists(st.sampled_from(ODD), max_size=8), st.sampled_from(["true", "false"]))
def test_a_message_is_read_as_if_it_were_alone(messages: list[bytes | None], multiline: str) -> None:
    """With multiline, a quote that was not closed took the messages after it into its own, or ended the job."""
    spec = declared("id BIGINT, name STRING", encoding="csv", multiline=multiline)
    together, alone = read(spec, *messages), [read(spec, message) for message in messages]
    assert values(together) == [value for one in alone for value in values(one)]
    assert [letter["reason"] for letter in together.dead.to_pylist()] == [letter["reason"] for one in alone for letter in one.dead.to_pylist()]
