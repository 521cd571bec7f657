"""Seeds that once ended wrong, and why; each stays a test. Draws of workloads or faults that change make other runs of them:
what a seed found also has a test of its own where that can be said in a few lines."""

from __future__ import annotations

FOUND: dict[int, str] = {
    10: "a driver that died between a version of the job and its event left a view that was there and never ran",
    1677: "a driver that died while it made the checkpoint lost the first rows of tables",
    1802: "the same, among these rows",
    10411: "a statement that failed half way left a session that did not know its own views",
    20146: "a table that could not be read to its end was taken for empty by the next statement",
    1271: "an event that the store had lost was waited for for ever",
    103213: "a statement on record was undone in the session when its batch failed",
    400059: "first rows of a table came twice when two drivers began at once",
    400164: "a look made a shard again as if the newest view had always been there",
    200388: "a bounded run ended with the answers of before, as another driver had done its last batch",
    200767: "a driver that slept before it emptied the outputs removed a file of the one that had taken over",
    310342: "a driver that slept before it claimed the checkpoint that it had made emptied the outputs of the one that ran it",
    320657: "a loss of power took the offsets of a batch out of Spark's log and left its commit, and rows were read twice",
    322999: "a driver waited for ever for a batch that another one had done",
    330509: "the store lost a claim without a word, and two drivers worked at once",
    3005255: "a run ended without the end, as the store did not show at once that it had been asked for, and lacked its last changes",
    703525: "late rows of a DataFrame were written in the order in which Spark brought them, by another driver in another one",
    702258: "a task that was given up wrote its file after its batch had been merged, and plain readers saw its changes twice",
    800424: "a job at its end was read by the driver that another one had taken it over from",
    801024: "the same",
    400381: "a folder that somebody had made, and died before he brought its name to the disk, was lost with the power",
}
