"""GROUP BY as data: the words in which the kernel is told what to do, in small tables of integers.

A group is a line of cells: how many rows it has, then what its aggregates add up. Feeds say what a value adds to which
cells, calls say how an output column is made from them; calls over one column share its feed:

    SUM(price), AVG(price), COUNT(*)   ->   one feed: (count, sum) of price          three calls

What cannot be added up is kept value by value, in sets: the distinct values of a group with the number of their rows.

    MIN, MAX, MIN_BY, MAX_BY           ->   a heap; where rows leave in the order they came, a deque
    MEDIAN, PERCENTILE_*, STRING_AGG   ->   a tree that knows ranks (also of ARRAY_AGG and the users' own aggregates)
    SUM(DISTINCT x)                    ->   a plain set; a value that enters or leaves it goes on to its feeds
"""

from __future__ import annotations

# Cells that every group has: rows, the next touched group, whether its row is shown, its tag in the hash table.
ROWS, LINK, SHOWN, TAG, FIRST_CELL = 0, 1, 2, 3, 4

# Feeds: what a value does to its group. The limbs of sums of doubles, and of their powers, lie elsewhere.
FEED_COUNT = 0  # 1 cell: how many
FEED_EXACT = 1  # 4 cells: how many, and a sum of 192 bits; of a higher power: see moments.py
FEED_DOUBLE = 2  # 5 cells: see exact_sum.py; of a higher power 1 cell: the load
FEED_VALUE = 3  # a value of a set, in `part`
FEED_BITS = 4  # 65 cells: how many, and how many have each bit

# Calls: how an output column is made.
COUNT, SUM_INTEGER, SUM_DECIMAL, SUM_DOUBLE, AVG_INTEGER, AVG_DECIMAL, AVG_DOUBLE, EXTREME = 0, 1, 2, 3, 4, 5, 6, 7
BESIDE_EXTREME, STATISTIC, CONTINUOUS, DISCRETE, TEXT = 8, 9, 10, 11, 12
ALL_TRUE, ANY_TRUE, BITS_AND, BITS_OR, BITS_XOR = 13, 14, 15, 16, 17

# Sets. A heap has one cell: its root. A tree of ranks has two: its root, and a number that moves when the set changes. A deque
# has four: its first and its last value, and how many values ever came and left.
PLAIN, HEAP, RANKED, DEQUE = 0, 1, 2, 3
SET_CELLS = (0, 1, 2, 4)

# How values are ordered.
BY_INTEGER, BY_DOUBLE, BY_WIDE_DECIMAL, BY_STRING = 0, 1, 2, 3

# Columns of the tables. `*_MASK` and `*_BIT` are the lane and the bit that say NULL.
KEY_LANE, KEY_IS_DOUBLE, KEY_MASK, KEY_BIT, KEY_TO_MASK, KEY_TO_BIT, KEY_COLUMNS = 0, 1, 2, 3, 4, 5, 6
FEED_KIND, FEED_LANE, FEED_MASK, FEED_BIT, FEED_CELL, FEED_PART, FEED_LANES = 0, 1, 2, 3, 4, 5, 6
FEED_SET = 7  # the plain set whose values it takes, -1 for all rows; those come first
FEED_POWER = 8  # of sums: which power of the values is added up
FEED_OTHER_LANE, FEED_OTHER_MASK, FEED_OTHER_BIT, FEED_COLUMNS = 9, 10, 11, 12  # of the value beside, under MIN_BY
SET_KIND, SET_ORDER, SET_IS_MAX, SET_CELL, SET_IS_DISTINCT, SET_BESIDE, SET_COLUMNS = 0, 1, 2, 3, 4, 5, 6
NOTHING_BESIDE = -1  # SET_BESIDE is else how the values beside are ordered

CALL_KIND, CALL_CELL, CALL_LANE, CALL_MASK, CALL_BIT, CALL_PART, CALL_LANES = 0, 1, 2, 3, 4, 5, 6
CALL_FACTOR, CALL_LOW, CALL_HIGH = 7, 8, 9  # of decimals: what the sum is multiplied with, and the bound of the result
CALL_STATISTIC, CALL_IS_DOUBLE, CALL_SCALE = 7, 8, 10  # of statistics: which one it is
CALL_POWERS = 11  # of statistics, one for every power from the second on: the cell of its sum, of doubles its range
CALL_NUMERATOR, CALL_DENOMINATOR = 7, 8  # of percentiles; they have a scale too
CALL_IS_DESCENDING = 9  # of those that take a value of the bag: whether they count from the greatest one
CALL_ROOT, CALL_SEPARATOR, CALL_SEPARATOR_END = 7, 8, 9  # of texts: the cell of the tree; in the separators
CALL_IS_LIST = 10  # a text for a user's own aggregate: a list of values
