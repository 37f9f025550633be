"""The journal suite on SQLite."""

from pathlib import Path

import pytest

from tests.contracts.journal import JournalContract
from tests.journals.sqlite.subject import ACTOR_TS, BRIDGE, SqliteSubject


class BridgeSubject(SqliteSubject):
    null_payload = False


class ActorTsSubject(SqliteSubject):
    comma_tags = False


class TestSqliteBridge(JournalContract):
    @pytest.fixture(params=["wal", "delete"])
    def subject(self, tmp_path: Path, request: pytest.FixtureRequest) -> SqliteSubject:
        subject = BridgeSubject(tmp_path / "jour nal#%.db", BRIDGE, mode=request.param)
        subject.installer().install(None)
        return subject


class TestSqliteActorTs(JournalContract):
    @pytest.fixture
    def subject(self, tmp_path: Path) -> SqliteSubject:
        subject = ActorTsSubject(tmp_path / "journal.db", ACTOR_TS)
        subject.installer().install(None)
        return subject
