-- Journal of layout `bridge` on SQLite. The columns are a public contract.

-- name: create_events
CREATE TABLE IF NOT EXISTS bridge_events (
  -- AUTOINCREMENT: a plain rowid is handed out again once the highest row is deleted, and an event
  -- would be inserted below a cursor that has already passed.
  ordering       INTEGER PRIMARY KEY AUTOINCREMENT,
  persistence_id TEXT    NOT NULL,
  sequence_nr    INTEGER NOT NULL CHECK (sequence_nr > 0),
  event_type     TEXT    NOT NULL,
  content_type   TEXT    NOT NULL DEFAULT 'application/json',
  payload        BLOB    NOT NULL,
  tags           TEXT    NOT NULL DEFAULT '[]', -- JSON array of strings
  metadata       TEXT    NOT NULL DEFAULT '{}', -- JSON object, string -> string
  timestamp_ms   INTEGER NOT NULL,              -- the event's own time, ms since 1970-01-01 UTC
  UNIQUE (persistence_id, sequence_nr)
);

-- name: create_state
-- What the relay remembers in the journal's own database, so that a restored copy can be told.
CREATE TABLE IF NOT EXISTS bridge_state (
  app     TEXT NOT NULL,
  journal TEXT NOT NULL,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (app, journal, key)
);
