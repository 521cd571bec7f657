"""The cases that do not pass, each with the reason. A case that begins to pass must leave this list: its test says so."""

_BY_REASON = {
    "IN or EXISTS with a subquery in ON, or over groups, is missing": (
        "materialize:cockroach/join.slt:433",
        "spark:subquery/exists-subquery/exists-in-join-condition:28",
        "spark:subquery/exists-subquery/exists-in-join-condition:8",
        "spark:subquery/in-subquery/in-group-by:19",
        "spark:subquery/in-subquery/in-group-by:27",
        "spark:subquery/in-subquery/in-joins:21",
        "spark:subquery/in-subquery/in-set-operations:16",
        "spark:subquery/in-subquery/in-subquery-in-join-condition:8",
        "spark:subquery/in-subquery/not-in-joins:7",
    ),
    "LATERAL is missing": (
        "script:materialize:github-11280.slt:29",
    ),
    "LIMIT without ORDER BY: any rows are right": (
        "flink:limit",
    ),
    "LISTAGG in the order of another column is missing": (
        "script:risingwave:streaming/aggregate/string_agg.slt:42",
    ),
    "NOW() that moves with time is missing": (
        "script:risingwave:streaming/temporal_filter.slt:17",
        "feldera:StreamingTests.testNow",
        "feldera:StreamingTests.testNow3",
        "feldera:StreamingTests.testNow5",
        "feldera:StreamingTests.issue6655a",
        "feldera:StreamingTests.issue6655c",
        "materialize:temporal.slt:valid",
    ),
    "OFFSET without LIMIT is missing": (
        "materialize:distinct_from.slt:106",
    ),
    "VALUES in FROM is missing": (
        "materialize:cockroach/subquery.slt:686",
        "risingwave:streaming/values.slt:24",
    ),
    "a query without FROM is missing": (
        "materialize:cockroach/subquery.slt:206",
        "materialize:cte.slt:180",
        "flink:left-outer-join-with-cte",
    ),
    "a subquery below a set operator or a nested FROM cannot name outer columns": (
        "spark:subquery/in-subquery/in-set-operations:18",
        "spark:subquery/in-subquery/in-set-operations:19",
        "spark:subquery/in-subquery/in-set-operations:21",
        "spark:subquery/scalar-subquery/scalar-subquery-predicate:43",
        "spark:subquery/scalar-subquery/scalar-subquery-predicate:52",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:10",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:31",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:37",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:40",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:49",
        "spark:subquery/scalar-subquery/scalar-subquery-set-op:59",
    ),
    "a subquery with GROUP BY cannot name outer columns": (
        "spark:subquery/in-subquery/in-group-by:13",
        "spark:subquery/in-subquery/in-having:5",
        "spark:subquery/in-subquery/in-set-operations:8",
        "spark:subquery/scalar-subquery/scalar-subquery-predicate:23",
    ),
    "arrays are missing": (
        "risingwave:streaming/join/join.slt.part:193",
    ),
    "outer columns stand in the WHERE of a subquery only": (
        "materialize:cte.slt:34",
        "materialize:joins.slt:247",
        "materialize:joins.slt:261",
        "risingwave:streaming/null_safe_equal_join.slt:26",
    ),
    "a DOUBLE cast to INT is cut as in Spark, not rounded as in PostgreSQL": (
        "script:risingwave:streaming/aggregate/hdr_approx_percentile.slt:170",
    ),
    "the aggregate MODE is missing": (
        "script:risingwave:streaming/aggregate/ordered_set_agg.slt:185",
        "script:risingwave:streaming/aggregate/ordered_set_agg.slt:282",
    ),
}

KNOWN = {case: reason for reason, cases in _BY_REASON.items() for case in cases}
