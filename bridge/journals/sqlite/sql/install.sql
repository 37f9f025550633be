-- Statements that prepare a file and that clean it up again; `bridge.sql` has the tables of our own.

-- name: create_outbox
CREATE TABLE IF NOT EXISTS bridge_outbox (
  -- AUTOINCREMENT: a plain rowid is handed out again once the highest row is purged.
  ordering       INTEGER PRIMARY KEY AUTOINCREMENT,
  persistence_id TEXT    NOT NULL,
  sequence_nr    INTEGER NOT NULL,
  payload        TEXT,
  tags           TEXT,
  "timestamp"    INTEGER,
  UNIQUE (persistence_id, sequence_nr)
)

-- name: create_trigger
-- A row deleted and inserted again stays one event, also for a writer that says OR REPLACE.
CREATE TRIGGER IF NOT EXISTS bridge_outbox_copy AFTER INSERT ON {journal} BEGIN
  INSERT INTO bridge_outbox (persistence_id, sequence_nr, payload, tags, "timestamp")
  VALUES (NEW.persistence_id, NEW.sequence_nr, NEW.payload, NEW.tags, NEW."timestamp")
  ON CONFLICT (persistence_id, sequence_nr) DO NOTHING;
END

-- name: drop_trigger
DROP TRIGGER IF EXISTS bridge_outbox_copy

-- name: drop_read_table
DROP TABLE IF EXISTS {read_table}

-- name: drop_state
DROP TABLE IF EXISTS bridge_state

-- name: last_rowid
SELECT coalesce(max(rowid), 0) FROM {journal}

-- name: bypassed
SELECT count(*) FROM (
  SELECT 1 FROM {journal} AS journal
  WHERE journal.rowid > :installed
    AND NOT EXISTS (SELECT 1 FROM bridge_outbox AS copied
                    WHERE copied.persistence_id = journal.persistence_id
                      AND copied.sequence_nr = journal.sequence_nr)
  LIMIT :limit)

-- name: has_rows
SELECT EXISTS (SELECT 1 FROM {read_table})
