"""The functions of PostgreSQL that queries over the catalog may call. What is not named here is refused, by its name.

    MACROS      written in DuckDB's SQL, over relations of their own: their columns have names that no query uses, as those of a
                query could not be told from those of a macro that it calls
    RENAMED     there by another name
    SAFE        there by the same name; none of them reads or writes anything outside of the query
"""

from __future__ import annotations

_TYPE_NAME = """CASE WHEN type_number IS NULL THEN NULL
  WHEN type_number = 1700 AND modifier >= 4 THEN 'numeric(' || ((modifier - 4) >> 16) || ',' || ((modifier - 4) & 65535) || ')'
  WHEN type_number IN (1043, 1042) AND modifier >= 4 THEN
       CASE type_number WHEN 1043 THEN 'character varying(' ELSE 'character(' END || (modifier - 4) || ')'
  ELSE coalesce((SELECT _type_shown FROM here.types WHERE _type_number = type_number), '???') END"""

MACROS = {
    "format_type(type_number, modifier)": _TYPE_NAME,
    "pg_get_userbyid(number)": "'sash'",
    "pg_table_is_visible(number)": "number IN (SELECT _class_number FROM here.classes WHERE _class_schema <> 13000)",
    "pg_type_is_visible(number)": "true",
    "pg_function_is_visible(number)": "true",
    "pg_collation_is_visible(number)": "true",
    "pg_opclass_is_visible(number)": "true",
    "pg_operator_is_visible(number)": "true",
    "pg_conversion_is_visible(number)": "true",
    "pg_statistics_obj_is_visible(number)": "true",
    "pg_opfamily_is_visible(number)": "true",
    "pg_ts_dict_is_visible(number)": "true",
    "pg_ts_parser_is_visible(number)": "true",
    "pg_ts_template_is_visible(number)": "true",
    "getdatabaseencoding()": "'UTF8'",
    "pg_ts_config_is_visible(number)": "true",
    "pg_get_expr(tree, number)": "CAST(tree AS VARCHAR)",
    "pg_get_viewdef(number)": "(SELECT _class_sql FROM here.classes WHERE _class_number = number)",
    "pg_get_constraintdef(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_indexdef(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_triggerdef(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_ruledef(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_partkeydef(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_statisticsobjdef_columns(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_function_identity_arguments(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_function_arguments(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_function_result(number)": "CAST(NULL AS VARCHAR)",
    "pg_get_serial_sequence(relation, col)": "CAST(NULL AS VARCHAR)",
    "pg_relation_is_publishable(number)": "false",
    "pg_is_in_recovery()": "false",
    "pg_export_snapshot()": "'00000000-00000000-1'",
    "pg_encoding_to_char(number)": "CASE number WHEN 6 THEN 'UTF8' WHEN -1 THEN '' ELSE 'SQL_ASCII' END",
    "pg_char_to_encoding(word)": "CASE upper(word) WHEN 'UTF8' THEN 6 ELSE -1 END",
    "obj_description(number)": "CAST(NULL AS VARCHAR)",
    "shobj_description(number, word)": "CAST(NULL AS VARCHAR)",
    "col_description(number, place)": "CAST(NULL AS VARCHAR)",
    "pg_relation_size(number)": "CAST(0 AS BIGINT)",
    "pg_table_size(number)": "CAST(0 AS BIGINT)",
    "pg_total_relation_size(number)": "CAST(0 AS BIGINT)",
    "pg_indexes_size(number)": "CAST(0 AS BIGINT)",
    "pg_database_size(number)": "CAST(0 AS BIGINT)",
    "pg_tablespace_size(number)": "CAST(0 AS BIGINT)",
    "pg_tablespace_location(number)": "''",
    "pg_size_pretty(size)": "size || ' bytes'",
    "pg_stat_get_numscans(number)": "CAST(0 AS BIGINT)",
    "pg_column_is_updatable(number, place, flag)": "false",
    "pg_relation_is_updatable(number, flag)": "0",
    "has_schema_privilege(one, two)": "true",
    "has_database_privilege(one, two)": "true",
    "has_table_privilege(one, two)": "true",
    "has_any_column_privilege(one, two)": "true",
    "has_column_privilege(one, two, three)": "true",
    "has_sequence_privilege(one, two)": "true",
    "has_function_privilege(one, two)": "true",
    "pg_has_role(one, two)": "true",
    "quote_ident(word)": """CASE WHEN regexp_full_match(word, '[a-z_][a-z0-9_$]*') THEN word
                            ELSE '"' || replace(word, '"', '""') || '"' END""",
    "parse_ident(word)": """list_transform(regexp_extract_all(word, '"(?:[^"]|"")*"|[^."]+'), lambda part:
        CASE WHEN starts_with(part, '"') THEN replace(part[2:-2], '""', '"') ELSE lower(trim(part)) END)""",
    "quote_literal(word)": "'''' || replace(word, '''', '''''') || ''''",
    "array_upper(list, dimension)": "CASE WHEN len(list) > 0 THEN len(list) END",
    "array_lower(list, dimension)": "CASE WHEN len(list) > 0 THEN 1 END",
    "array_remove(list, value)": "list_filter(list, lambda one: one IS DISTINCT FROM value)",
    "array_to_string(list, separator)": "list_aggregate(list, 'string_agg', separator)",
    "timezone(zone, moment)": "moment",
    "txid_current()": "CAST(1 AS BIGINT)",
    "pg_my_temp_schema()": "CAST(0 AS UINTEGER)",
    "pg_is_other_temp_schema(number)": "false",
    "pg_get_replica_identity_index(number)": "CAST(NULL AS UINTEGER)",
    "regclass_name(number)": "coalesce((SELECT _class_name FROM here.classes WHERE _class_number = number), number::VARCHAR)",
    "regnamespace_name(number)": "CASE number WHEN 11 THEN 'pg_catalog' WHEN 2200 THEN 'public' ELSE 'information_schema' END",
    "to_regclass(word)": "(SELECT min(_class_number) FROM here.classes WHERE _class_name = regexp_replace(word, '^.*\\.', ''))",
}
# With one more argument they mean the same here.
OVERLOADS = {
    "pg_get_expr(tree, number, pretty)": "CAST(tree AS VARCHAR)",
    "pg_get_viewdef(number, pretty)": "(SELECT _class_sql FROM here.classes WHERE _class_number = number)",
    "pg_get_constraintdef(number, pretty)": "CAST(NULL AS VARCHAR)",
    "pg_get_indexdef(number, place, pretty)": "CAST(NULL AS VARCHAR)",
    "pg_get_triggerdef(number, pretty)": "CAST(NULL AS VARCHAR)",
    "pg_get_ruledef(number, pretty)": "CAST(NULL AS VARCHAR)",
    "obj_description(number, word)": "CAST(NULL AS VARCHAR)",
    "has_schema_privilege(one, two, three)": "true",
    "has_database_privilege(one, two, three)": "true",
    "has_table_privilege(one, two, three)": "true",
    "has_any_column_privilege(one, two, three)": "true",
    "has_column_privilege(one, two, three, four)": "true",
    "pg_has_role(one, two, three)": "true",
}
# Functions that the session answers, with the name of the answer.
SESSION = {
    "version": "version", "current_version": "version", "current_database": "database", "current_catalog": "database",
    "current_schema": "schema", "current_user": "user", "session_user": "user", "user": "user", "current_role": "user",
    "getpgusername": "user", "pg_backend_pid": "process", "inet_server_port": "nothing", "inet_client_addr": "nothing",
    "inet_server_addr": "nothing", "inet_client_port": "nothing", "pg_postmaster_start_time": "started",
    "pg_conf_load_time": "started",
}
RENAMED = {"json_build_object": "json_object"}
_SAFE = """
    abs age any_value array array_agg array_append array_cat array_concat array_contains array_length array_position
    array_prepend array_size array_unique_agg avg bool_and bool_or btrim case cast ceil char_length chr coalesce concat
    concat_ws count current_date current_timestamp date_part date_trunc dense_rank exists exploding_generate_series extract
    first floor format generate_series generate_subscripts greatest group_concat if initcap json_agg json_object lag lead
    least left length like_any list ln log logical_and logical_or lower lpad ltrim max md5 min mod now nullif octet_length
    position pow power random rank regexp_like regexp_matches regexp_replace repeat replace reverse right round row
    row_number rpad rtrim sign split split_part sqrt starts_with str_position string_agg string_to_array strpos substr
    substring sum timestamp_trunc to_char translate trim trunc try_cast unnest upper
"""
SAFE = frozenset(_SAFE.split())
TABLE_MACROS = {"pg_options_to_table(options)": "SELECT NULL::VARCHAR AS option_name, NULL::VARCHAR AS option_value WHERE false"}
TABLE_MACRO_NAMES = frozenset(signature.split("(")[0] for signature in TABLE_MACROS)
MACRO_NAMES = frozenset(signature.split("(")[0] for signature in (*MACROS, *OVERLOADS, *TABLE_MACROS))


def declarations() -> list[str]:
    """The macros, one statement a name: those with several lists of parameters are declared together."""
    bodies: dict[str, list[str]] = {}
    for signature, body in (*MACROS.items(), *OVERLOADS.items()):
        name, _, parameters = signature.partition("(")
        bodies.setdefault(name, []).append(f"({parameters} AS {body}")
    scalars = [f"CREATE MACRO here.{name} {', '.join(parts)}" for name, parts in bodies.items()]
    return scalars + [f"CREATE MACRO here.{signature} AS TABLE {body}" for signature, body in TABLE_MACROS.items()]
