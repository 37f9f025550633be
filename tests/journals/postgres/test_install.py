"""Attaching to a journal that somebody else writes to, and what the attached rows carry."""

import threading

import pytest

from bridge.errors import ConfigError, SetupError
from bridge.journals.postgres.bypassed import bypassed_rows
from bridge.journals.postgres.ddl import plan
from bridge.journals.postgres.inspect import inspect
from bridge.journals.postgres.install import plan_for
from bridge.journals.postgres.table import Install, JournalTable
from tests.journals.postgres.foreign import ForeignJournal, Writers, schema_dump
from tests.waiting import wait_until

INSTALLS: list[Install] = ["outbox", "columns"]

pytestmark = pytest.mark.parametrize("how", INSTALLS)


def test_attaches_to_a_running_writer(foreign: ForeignJournal, how: Install) -> None:
    writers = Writers(foreign, count=3)
    writers.start()
    try:
        wait_until(lambda: writers.total() > 150, what="rows from before")
        foreign.install(how)
        before = dict(writers.written)
        wait_until(lambda: writers.total() > sum(before.values()) + 150, what="rows from after")
    finally:
        writers.stop()
    assert writers.errors == []
    positions = {k: v for k, v in foreign.positions(how).items() if v != (None, None)}
    # The transaction under way when the install returned may have begun before it.
    expected = {
        (pid, nr)
        for pid, last in writers.written.items()
        for nr in range(before[pid] + 3, last + 1)
    }
    assert expected <= positions.keys()
    assert ("p0", 1) not in positions
    orderings = [ordering for _, (_, ordering) in sorted(positions.items())]
    assert None not in orderings
    assert len(set(orderings)) == len(orderings)
    for pid in writers.written:
        own = [place[1] or 0 for key, place in sorted(positions.items()) if key[0] == pid]
        assert own == sorted(own)
    owner = foreign.connect(foreign.owner)
    assert bypassed_rows(owner, foreign.table(how), 10) == 0
    assert inspect(owner, foreign.table(how)).errors == ()


def test_order_is_taken_after_the_writers_own_before_trigger(
    foreign: ForeignJournal, how: Install
) -> None:
    """The second writer waits inside its trigger for the number that the first one hands out."""
    owner = foreign.connect(foreign.owner)
    foreign.run(
        owner,
        """
        CREATE TABLE {schema}.heads (pid text PRIMARY KEY, nr bigint);
        INSERT INTO {schema}.heads VALUES ('p', 0);
        GRANT ALL ON {schema}.heads TO {writer};
        CREATE FUNCTION {schema}.number() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          UPDATE {schema}.heads SET nr = nr + 1 WHERE pid = NEW.persistence_id
            RETURNING nr INTO NEW.sequence_nr;
          RETURN NEW;
        END $$;
        CREATE TRIGGER zzz_number BEFORE INSERT ON {journal}
          FOR EACH ROW EXECUTE FUNCTION {schema}.number();
        """,
    )
    foreign.install(how)
    first, second = foreign.connect(foreign.writer), foreign.connect(foreign.writer)
    thread = threading.Thread(target=foreign.append, args=(second, "p", 0))
    with first.transaction():
        foreign.append(first, "p", 0)
        thread.start()
        pid = second.info.backend_pid
        blocked = f"SELECT cardinality(pg_blocking_pids({pid})) > 0"
        wait_until(lambda: foreign.rows(owner, blocked)[0][0], what="second writer waits")
        foreign.append(first, "p", 0)
    thread.join()
    positions = foreign.positions(how)
    orderings = [positions["p", nr][1] for nr in (1, 2, 3)]
    assert orderings == sorted(o for o in orderings if o is not None)


def test_txid_is_that_of_the_whole_transaction(foreign: ForeignJournal, how: Install) -> None:
    foreign.install(how)
    writer = foreign.connect(foreign.writer)
    with writer.transaction():
        foreign.append(writer, "p", 1)
        with writer.transaction():
            foreign.append(writer, "p", 2)
        top = foreign.rows(writer, "SELECT pg_current_xact_id()::text::bigint")[0][0]
        raw = foreign.rows(writer, "SELECT xmin::text::bigint FROM {journal} WHERE sequence_nr=2")
    assert raw[0][0] != top
    assert {txid for txid, _ in foreign.positions(how).values()} == {top}


def test_row_moved_between_partitions_stays_one_event(
    foreign: ForeignJournal, how: Install
) -> None:
    foreign.make_partitioned()
    writer = foreign.connect(foreign.writer)
    foreign.append(writer, "old", 1)
    foreign.install(how)
    for nr in (1, 2, 3):
        foreign.append(writer, "p", nr)
    before = foreign.positions(how)
    with writer.transaction():
        foreign.run(writer, "UPDATE {journal} SET region = 'b' WHERE persistence_id = 'p'")
        foreign.append(writer, "p", 4)
    after = foreign.positions(how)
    moved = foreign.rows(writer, "SELECT count(*) FROM {journal} WHERE region = 'b'")
    assert moved == [(3,)]
    assert {key: after[key] for key in before} == before
    assert after["p", 4][1] == max(ordering or 0 for _, ordering in after.values())


def test_partition_added_later_has_the_trigger(foreign: ForeignJournal, how: Install) -> None:
    foreign.make_partitioned()
    foreign.install(how)
    owner = foreign.connect(foreign.owner)
    foreign.run(
        owner,
        "CREATE TABLE {schema}.part_c PARTITION OF {journal} FOR VALUES IN ('c');"
        "CREATE TABLE {schema}.part_d (LIKE {journal} INCLUDING ALL);"
        "ALTER TABLE {journal} ATTACH PARTITION {schema}.part_d FOR VALUES IN ('d')",
    )
    writer = foreign.connect(foreign.writer)
    for nr, region in enumerate("acd", start=1):
        foreign.append(writer, "p", nr, region)
    assert {nr for (_, nr), place in foreign.positions(how).items() if None not in place} == {
        1,
        2,
        3,
    }
    foreign.install(how)
    assert inspect(owner, foreign.table(how)).errors == ()


def test_replica_sessions_do_not_pass_by(foreign: ForeignJournal, how: Install) -> None:
    foreign.install(how)
    replica = foreign.connect()
    replica.execute("SET session_replication_role = replica")
    foreign.append(replica, "p", 1)
    assert None not in foreign.positions(how)["p", 1]


def test_rows_past_a_disabled_trigger_are_counted(foreign: ForeignJournal, how: Install) -> None:
    writer, owner = foreign.connect(foreign.writer), foreign.connect(foreign.owner)
    foreign.append(writer, "old", 1)
    foreign.install(how)
    foreign.append(writer, "p", 1)
    assert bypassed_rows(owner, foreign.table(how), 10) == 0
    foreign.run(owner, "ALTER TABLE {journal} DISABLE TRIGGER USER")
    for nr in (2, 3, 4):
        with writer.transaction(), writer.transaction():
            foreign.append(writer, "p", nr)
    assert bypassed_rows(owner, foreign.table(how), 10) == 3
    assert bypassed_rows(owner, foreign.table(how), 2) == 2
    found = inspect(owner, foreign.table(how)).errors
    assert found
    assert all("is disabled" in finding.what for finding in found)
    foreign.install(how)
    assert inspect(owner, foreign.table(how)).errors == ()
    assert bypassed_rows(owner, foreign.table(how), 10) == 3


def test_writer_needs_and_has_no_rights_of_ours(foreign: ForeignJournal, how: Install) -> None:
    foreign.install(how)
    writer = foreign.connect(foreign.writer)
    foreign.append(writer, "p", 1)
    assert len(foreign.positions(how)) == 1
    rights = foreign.rows(
        writer,
        "SELECT relname FROM pg_class WHERE relname LIKE 'bridge%' AND CASE relkind"
        " WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE, SELECT, UPDATE')"
        " WHEN 'r' THEN has_table_privilege(oid, 'SELECT, INSERT, UPDATE, DELETE') END"
        " UNION SELECT proname FROM pg_proc"
        " WHERE proname LIKE 'bridge%' AND has_function_privilege(oid, 'EXECUTE')",
    )
    assert rights == []


def test_names_in_the_writers_search_path_have_no_effect(
    foreign: ForeignJournal, how: Install
) -> None:
    foreign.run(
        foreign.connect(),
        """
        CREATE SCHEMA evil AUTHORIZATION {writer};
        CREATE TABLE evil.bridge_outbox (LIKE {journal});
        CREATE FUNCTION evil.pg_current_xact_id() RETURNS xid8 LANGUAGE sql AS 'SELECT ''3''::xid8';
        CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint';
        """,
    )
    foreign.install(how)
    writer = foreign.connect(foreign.writer)
    writer.execute("SET search_path = evil, pg_catalog")
    assert foreign.rows(writer, "SELECT pg_current_xact_id()::text, nextval('pg_class'::regclass)")[
        0
    ] == ("3", 42)
    foreign.run(writer, "CREATE TEMP TABLE bridge_outbox (x int)")
    foreign.append(writer, "p", 1)
    txid, ordering = foreign.positions(how)["p", 1]
    assert ordering == 1
    assert txid != 3
    assert foreign.rows(foreign.connect(), "SELECT count(*) FROM evil.bridge_outbox") == [(0,)]


def test_installing_again_changes_nothing(foreign: ForeignJournal, how: Install) -> None:
    foreign.install(how)
    foreign.append(foreign.connect(foreign.writer), "p", 1)
    before, positions = schema_dump(foreign.url), foreign.positions(how)
    foreign.install(how)
    assert schema_dump(foreign.url) == before
    assert foreign.positions(how) == positions


def test_plan_is_what_install_executes(foreign: ForeignJournal, how: Install) -> None:
    owner = foreign.connect(foreign.owner)
    statements = plan(foreign.table(how), foreign.relay)
    assert plan_for(owner, foreign.table(how), relay_role=foreign.relay)[:-1] == statements[:-1]
    for statement in statements:
        owner.execute(statement.encode())
    by_hand = schema_dump(foreign.url)
    foreign.uninstall(how, foreign.relay)
    foreign.install(how, relay_role=foreign.relay)
    assert schema_dump(foreign.url) == by_hand


@pytest.mark.parametrize("partitioned", [False, True])
def test_uninstall_leaves_the_schema_as_found(
    foreign: ForeignJournal, how: Install, partitioned: bool
) -> None:
    if partitioned:
        foreign.make_partitioned()
    writer = foreign.connect(foreign.writer)
    foreign.append(writer, "p", 1)
    before = schema_dump(foreign.url)
    foreign.install(how, relay_role=foreign.relay)
    foreign.append(writer, "p", 2)
    assert schema_dump(foreign.url) != before
    foreign.uninstall(how, foreign.relay)
    assert schema_dump(foreign.url) == before
    foreign.append(writer, "p", 3)
    foreign.uninstall(how)
    assert schema_dump(foreign.url) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("DROP COLUMN tags", "column tags: found no such column, expected text or character"),
        ("ALTER payload TYPE bytea USING ''", "column payload: found bytea, expected text"),
        ("RENAME TO other", "does not exist"),
        ("OWNER TO {writer}", "belongs to role Wri'ter"),
    ],
)
def test_unexpected_table_is_refused(
    foreign: ForeignJournal, how: Install, change: str, says: str
) -> None:
    foreign.run(foreign.connect(), f"ALTER TABLE {{journal}} {change}")
    before = schema_dump(foreign.url)
    with pytest.raises(SetupError, match=says):
        foreign.install(how)
    assert schema_dump(foreign.url) == before


def test_second_journal_of_a_schema_is_refused(foreign: ForeignJournal, how: Install) -> None:
    foreign.install(how)
    owner = foreign.connect(foreign.owner)
    foreign.run(owner, "CREATE TABLE {schema}.other (LIKE {journal} INCLUDING ALL)")
    other = JournalTable("actor-ts", how, foreign.table(how).schema, "other")
    with pytest.raises(SetupError, match='for table Eve"nts'):
        plan_for(owner, other)


def test_before_trigger_that_would_fire_after_ours(foreign: ForeignJournal, how: Install) -> None:
    owner = foreign.connect(foreign.owner)
    foreign.run(
        owner,
        "CREATE FUNCTION {schema}.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
        "CREATE TRIGGER zzzz_zz BEFORE INSERT ON {journal}"
        " FOR EACH ROW EXECUTE FUNCTION {schema}.f()",
    )
    if how == "outbox":
        foreign.install(how)
        return
    with pytest.raises(SetupError, match=r"BEFORE trigger zzzz_zz .* would fire after"):
        foreign.install(how)


def test_impossible_names_are_refused(how: Install) -> None:
    for name in ("", "a\0b", "x" * 64, "a$bridge$b"):
        with pytest.raises(ConfigError):
            JournalTable("actor-ts", how, "public", name)
