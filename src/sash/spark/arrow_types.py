"""Columns of Spark as Arrow has them, in every PySpark: an instant is in UTC."""

from __future__ import annotations

from inspect import signature

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def arrow_schema(schema: StructType) -> pa.Schema:
    is_asked = "timezone" in signature(to_arrow_schema).parameters  # PySpark 4.1 takes UTC by itself
    return to_arrow_schema(schema, **({"timezone": "UTC"} if is_asked else {}))
