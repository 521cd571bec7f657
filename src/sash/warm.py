"""Compile all kernels once, so that the first job does not wait for them: `python -m sash.warm`.

Compiled kernels are kept in a cache beside their source. The way to have every kernel compiled for just the types that it is
called with is to call it: a small job that uses every operator.
"""

from __future__ import annotations

import sash

JOB = """
CREATE STREAM a (ts TIMESTAMP, k STRING, v BIGINT, x DOUBLE, d DECIMAL(30, 2)) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k STRING, v BIGINT) TIMESTAMP BY ts;
CREATE MATERIALIZED VIEW grouped AS SELECT k, COUNT(*) AS n, SUM(v) AS s, AVG(x) AS m, MIN(k) AS lo, MAX(d) AS hi
  FROM a [RANGE 2 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW sums AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 2 SECONDS] GROUP BY k;
CREATE MATERIALIZED VIEW filtered AS SELECT k, v FROM a [RANGE 2 SECONDS] WHERE k = 'ann' AND v > 1 AND x < v;
CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS n FROM a [ROWS 2];
CREATE MATERIALIZED VIEW joined AS SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] JOIN b [RANGE 3 SECONDS] ON a.k = b.k;
CREATE MATERIALIZED VIEW signed AS SELECT a.v, b.v AS w FROM a [PARTITION BY k ROWS 1] JOIN b [RANGE 3 SECONDS] ON a.k = b.k;
CREATE MATERIALIZED VIEW three AS SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS] JOIN b [RANGE 3 SECONDS] ON a.k = b.k
  JOIN b [RANGE 4 SECONDS] AS c ON a.k = c.k;
CREATE MATERIALIZED VIEW once AS SELECT DISTINCT k, v FROM a [RANGE 2 SECONDS];
CREATE TABLE t (k STRING, name STRING) NON RETROACTIVE;
INSERT INTO t VALUES ('ann', 'Ann');
CREATE MATERIALIZED VIEW looked_up AS SELECT a.v, t.name FROM a [RANGE 2 SECONDS] JOIN t ON a.k = t.k;
CREATE MATERIALIZED VIEW remembered AS SELECT a.v, t.name FROM a [ROWS 2] JOIN t ON a.k = t.k;
CREATE MATERIALIZED VIEW missed AS SELECT a.k, a.v FROM a [RANGE 2 SECONDS] MINUS b [RANGE 3 SECONDS] ON a.k = b.k;
CREATE MATERIALIZED VIEW jumping AS SELECT * FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS];
CREATE MATERIALIZED VIEW nearest AS SELECT a.v, b.v AS w FROM a [RANGE 2 SECONDS]
  ASOF JOIN b [RANGE 3 SECONDS] ON a.k = b.k AND a.ts >= b.ts;
CREATE MATERIALIZED VIEW fresh AS SELECT k, v FROM a WHERE ts > NOW() - INTERVAL 2 SECONDS;
CREATE MATERIALIZED VIEW ticking AS SELECT k, v, SECOND(NOW()) AS s FROM a [RANGE 2 SECONDS];
CREATE MATERIALIZED VIEW over AS SELECT k, v, SUM(x) OVER w AS s, COUNT(*) OVER (ORDER BY v RANGE 1 PRECEDING) AS n
  FROM a [RANGE 2 SECONDS] WINDOW w AS (PARTITION BY k ORDER BY v);
"""


def warm() -> None:
    db = sash.connect()
    db.execute(JOB)
    for second in range(8):
        db.push("a", [(second, "ann", second, 0.5, "1.25"), (second, "bob", 1, None, None)])
        db.push("b", [(second, "ann", second)])
    db.end()
    for view in ("grouped", "joined"):
        db.view(view).to_arrow()


if __name__ == "__main__":
    warm()
