"""One clear sentence of what Spark says in a hundred lines."""

from __future__ import annotations

import pytest

from sash.errors import SashError
from sash.spark.failures import explain

WRAPPED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error \
occurred in the user provided function in foreach batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
{} SQLSTATE: 39000
"""
MISMATCH = """py4j.protocol.Py4JJavaError: An error occurred while calling o2606.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
	at org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.MISMATCH] Data type mismatches in column [v]. SQLSTATE: KD001
	at org.apache.spark.sql.errors.QueryExecutionErrors$.mismatch(QueryExecutionErrors.scala:898)
Caused by: org.apache.spark.SchemaColumnConvertNotSupportedException: column: [v], physicalType: INT64
"""
OURS = """org.apache.spark.api.python.PythonException: Traceback (most recent call last):
sash.errors.SashError: the file a.csv has changed; add rows in new files
	at org.apache.spark.Task"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (WRAPPED.format("ValueError: boom"), "the query failed: ValueError: boom"),
        (WRAPPED.format(MISMATCH), "the query failed: [FAILED_READ_FILE.MISMATCH] Data type mismatches in column [v]."),
        (WRAPPED.format(OURS), "the file a.csv has changed; add rows in new files"),
        ("", "the query failed: it says nothing"),
        (
            "Python worker failed to connect back.\n=== Streaming Query ===",
            "the query failed: a Python process did not start within the ten seconds that Spark waits for it, several times; "
            "the machine has too much else to do: try again when it has less, or run fewer things at once",
        ),
    ],
)
def test_the_reason_is_found(text: str, sentence: str) -> None:
    failure = RuntimeError(text)
    told = explain(failure)
    assert isinstance(told, SashError) and str(told) == sentence
    assert told.__cause__ is (None if text and "sash.errors" in text else failure)
