"""A job that grows out of another one knows what that knew; and several may grow out of one."""

from __future__ import annotations

from sash.database.embedded import EmbeddedDatabase
from sash.operators.spec import Spec
from sash.planner.job import Job, View

EMPTY = Job((), (), (), 1, 1)


def specs(count: int) -> list[Spec]:
    db = EmbeddedDatabase()
    db.execute("CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    for number in range(count):
        db.execute(f"CREATE MATERIALIZED VIEW q{number} AS SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND] WHERE k = {number}")
    return [view.spec for view in db.planned(1).views]


def grown(job: Job, *views: tuple[str, Spec]) -> Job:
    for name, spec in views:
        job = job.with_view(View(name, spec, 1), ())
    return job


def anew(job: Job) -> Job:
    """The same, of which nothing is known."""
    return Job(job.streams, job.views, job.ports, job.levels, job.shards, next_port=job.next_port)


def check(job: Job) -> None:
    fresh = anew(job)
    assert job == fresh
    assert job.first_views == fresh.first_views
    assert job.times == fresh.times
    assert job.twins == fresh.twins


def test_what_is_known_of_a_job_is_right_however_it_came_about() -> None:
    one, two, three = specs(3)
    root = grown(EMPTY, ("a", one))
    left, right = grown(root, ("b", two), ("c", one)), grown(root, ("b", three))
    later = grown(right, ("d", two), ("e", three)), grown(left, ("d", three), ("e", two)), grown(root, ("f", one))
    for job in (EMPTY, root, left, right, *later):
        check(job)
    assert [view.name for view in later[0].first_views] == ["a", "b", "d"]
    assert [view.name for view in later[1].first_views] == ["a", "b", "d"]
    assert later[0].names_like("b") == ("b", "e")
    check(grown(later[1].without_view("a"), ("g", one)))
    check(grown(later[1].without_view("c").handed_over("a", "b", "h"), ("g", one)))
