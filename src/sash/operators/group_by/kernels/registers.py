"""The registers of a GROUP BY: its changing numbers, in one array that all its kernels share.

Groups and nodes (values of sets) are numbered from 1; 0 is nobody. LIVE is how many there are, USED the
greatest number ever given, FREE and TOUCHED are the first of a list that runs through the things themselves.
"""

from __future__ import annotations

LIVE_GROUPS, USED_GROUPS, FREE_GROUP, TOUCHED_GROUP = 0, 1, 2, 3
LIVE_NODES, USED_NODES, FREE_NODE, TOUCHED_NODE = 4, 5, 6, 7
OVERFLOWS = 8  # sums shown as NULL because they do not fit their type
BEGUN = 9  # whether the one row of an aggregate without keys is there
STRIDE = 10  # cells of a group, limbs included
REGISTERS = 16

LAST = -1  # the end of a list of touched things, as 0 is said of those not in it
