"""Calendar arithmetic on whole columns: days and months as integers, Gregorian in all years, without zones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.scalar.arrays import Mask
from sash.schema import BEGINNING, END, SECOND

Int64s = npt.NDArray[np.int64]

DAY = 86_400 * SECOND
FIRST_DAY = BEGINNING // DAY
LAST_DAY = END // DAY - 1


def month_of(days: Int64s) -> Int64s:
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def first_of_month(months: Int64s) -> Int64s:
    """Days since 1970-01-01 of the first day of a month."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def days_of(year: Int64s, month: Int64s, day: Int64s) -> tuple[Int64s, Mask]:
    """Days since 1970-01-01, and where there is no such day."""
    months = (np.clip(year, 0, 10_000) - 1970) * 12 + (np.clip(month, 1, 12) - 1)
    days = first_of_month(months) + day - 1
    good = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12)
    return days, ~(good & (day >= 1) & (days < first_of_month(months + 1)))


def add_months(days: Int64s, count: Int64s) -> Int64s:
    """The same day of another month, or its last day when it is shorter."""
    months = month_of(days)
    place = days - first_of_month(months)
    first, after = first_of_month(months + count), first_of_month(months + count + 1)
    return np.minimum(first + place, after - 1)


def outside_days(days: Int64s) -> Mask:
    return (days < FIRST_DAY) | (days > LAST_DAY)


def outside(micros: Int64s) -> Mask:
    """Where a count of microseconds is no TIMESTAMP: its year has not four digits."""
    return (micros < BEGINNING) | (micros >= END)
