"""What only `columns` has: columns that a writer could touch, an index on a big table."""

import psycopg
import pytest

from bridge.errors import SetupError
from bridge.journals.postgres.inspect import inspect
from tests.journals.postgres.foreign import ForeignJournal


def test_overrides_what_the_writer_sends(foreign: ForeignJournal) -> None:
    foreign.install("columns")
    writer = foreign.connect(foreign.writer)
    foreign.append(writer, "p", 1)
    foreign.run(
        writer,
        "INSERT INTO {journal} (persistence_id, sequence_nr, payload, timestamp, bridge_txid,"
        " bridge_ordering) VALUES ('p', 2, '', 1, '3', 1)",
    )
    before = foreign.positions("columns")
    assert before["p", 2][0] != 3
    assert before["p", 2][1] == 2
    foreign.run(writer, "UPDATE {journal} SET bridge_txid = '3', bridge_ordering = 77")
    assert foreign.positions("columns") == before


def test_moved_row_from_before_the_install_stays_history(foreign: ForeignJournal) -> None:
    foreign.make_partitioned()
    writer = foreign.connect(foreign.writer)
    foreign.append(writer, "old", 1)
    foreign.append(writer, "old", 2)
    foreign.install("columns")
    with writer.transaction():
        foreign.run(writer, "UPDATE {journal} SET region = 'b' WHERE sequence_nr = 1")
        foreign.run(writer, "UPDATE {journal} SET payload = 'x' WHERE sequence_nr = 2")
        foreign.append(writer, "new", 1)
    positions = foreign.positions("columns")
    assert positions["old", 1] == (None, None)
    assert positions["old", 2] == (None, None)
    assert None not in positions["new", 1]


@pytest.mark.parametrize("partitioned", [False, True])
def test_index_build_that_was_cut_off_is_replaced(
    foreign: ForeignJournal, partitioned: bool
) -> None:
    """An old snapshot anywhere in the database keeps a concurrent build from ending."""
    if partitioned:
        foreign.make_partitioned()
    foreign.append(foreign.connect(foreign.writer), "p", 1)
    reader = foreign.connect(application="nightly report")
    reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    owner = foreign.connect(foreign.owner)
    with reader.transaction():
        reader.execute("SELECT count(*) FROM pg_class")
        with pytest.raises(SetupError, match="application nightly report"):
            foreign.install("columns", limit_s=0.3)
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid AND indrelid <> 0"
    assert foreign.rows(owner, invalid)[0][0] > 0
    found = inspect(owner, foreign.table("columns")).errors
    assert ["is INVALID" in finding.what for finding in found] == [True]
    foreign.install("columns")
    assert foreign.rows(owner, invalid) == [(0,)]
    assert inspect(owner, foreign.table("columns")).errors == ()


def test_warns_of_copy_and_of_a_journal_that_compacts(foreign: ForeignJournal) -> None:
    foreign.install("columns")
    owner = foreign.connect(foreign.owner)
    table = foreign.table("columns")
    (copy,) = inspect(owner, table).findings
    assert copy.what.startswith("COPY")
    foreign.run(
        owner,
        'CREATE TABLE {schema}."Eve""nts_meta" (persistence_id text, deleted_to bigint);'
        """INSERT INTO {schema}."Eve""nts_meta" VALUES ('p', 3)""",
    )
    compacted, _ = inspect(owner, table).findings
    assert "is compacted" in compacted.what
    assert compacted.severity == "warning"
