"""The law of the readers: whatever the text, how it is cut into pieces changes nothing, and no record is lost."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from reading import Files, letters, values

from sash.schema import BIGINT, STRING, TIMESTAMP, schema

COUNT = schema(("name", STRING), ("n", BIGINT))
LOG = schema(("name", STRING), ("n", BIGINT), ("ts", TIMESTAMP))

CSV_LINES = (
    "a,1", '"a",1', '"a,1', 'a",1', '"a""b",2', '"a\\"b",2', '"a\\\\",2', '\\"a,2', "a\\,2", "", " ", "x", '"', ",",
    '"",""', ",,", '"a\nb",3', '"a\r\nb",4', "\ufeffq,1", "-,-", '"-","-"', 'a,"5"', '"a"b,6', '"a"b"c,7', "a,b\rc",
    '\\","', "\r",
)  # fmt: skip
JSON_LINES = (
    '{"name":"a","n":1}', '{"n":2,"ts":1.5}', '{"ts":"2013-01-01"}', '{"ts":"1.5"}', '{"ts":2013}', '{"n":"1"}', "{}",
    "", " ", '{"name":5}', '{"n":1.0}', '{"n":1}{"n":2}', '{"n":', "1}", '{"x":', '{"n":5}}',
    '{"x":NaN}', '{"n":1,"n":2}', ' {"n":3}', "[]",
    "\r", '{"n":\r4}',
    '{"name":"\\ud800"}', '{"name":null,"x":{"n":[1,2]}}', '{"ts":1e40}', '{"ts":0.1234567}',
)  # fmt: skip

csv_texts = st.one_of(
    st.lists(st.sampled_from(CSV_LINES), max_size=8).map("\n".join), st.text('a,"\\\n\r1-\ufeff ', max_size=30)
)
flags = st.sampled_from(["true", "false"])
csv_options = st.fixed_dictionaries(
    {
        "multiline": flags,
        "header": flags,
        "escape": st.sampled_from(["\\", '"', ""]),
        "nullvalue": st.sampled_from(["", "-"]),
    }
)


def with_feeds(text: str) -> str:
    """Where there is no line feed, lines end with carriage returns."""
    return text if "\n" in text else text.replace("\r", "\n")


@settings(max_examples=200, deadline=None)
@given(csv_texts, csv_options, st.integers(1, 3))
def test_csv(text: str, options: dict[str, str], rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        files.write("a.csv", ("name,n\n" if options["header"] == "true" else "") + text)
        spec = files.spec("a.csv", COUNT, options)
        whole, pieces = files.read(spec), files.read(spec, rows)
        assert values(pieces) == values(whole)
        assert letters(pieces) == letters(whole)
        if options["multiline"] == "true":
            assert not [line for _, line, reason in letters(whole) if "not closed" in reason and "\n" in line]
        else:
            lines = (text if options["header"] == "true" else with_feeds(text).removeprefix("\ufeff")).split("\n")
            assert len(whole.batch) + len(whole.dead) == sum(1 for line in lines if line.removesuffix("\r"))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(JSON_LINES), max_size=8), st.integers(1, 3))
def test_json(lines: list[str], rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        text = "\n".join(lines)
        files.write("a.json", text)
        spec = files.spec("a.json", LOG)
        whole, pieces = files.read(spec), files.read(spec, rows)
        assert values(pieces) == values(whole)
        assert letters(pieces) == letters(whole)
        assert len(whole.batch) + len(whole.dead) == sum(1 for line in with_feeds(text).split("\n") if line.strip())
