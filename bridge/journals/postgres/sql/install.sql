-- Statements that prepare a database. Names in braces are filled in by psycopg.sql, quoted.
-- Every statement may run again on what it made before.

-- name: begin
BEGIN

-- name: commit
COMMIT

-- Waiting for a lock makes every later writer queue behind us: no longer than this.
-- name: lock_timeout
SET LOCAL lock_timeout = '100ms'

-- name: search_path
SET LOCAL search_path = pg_catalog, pg_temp

-- Two installations at a time would collide in the catalog.
-- name: one_installer
SELECT pg_advisory_xact_lock(hashtextextended('bridge install', 0))

-- lock_timeout counts for each partition anew; this counts for the statement.
-- name: wait_for_lock_briefly
SET LOCAL statement_timeout = '100ms'

-- name: wait_for_statement
SET LOCAL statement_timeout = 0

-- The journal is locked now: give up at once rather than keep its writers waiting for anything else.
-- name: hold_lock_briefly
SET LOCAL lock_timeout = '20ms'

-- name: lock_for_trigger
LOCK TABLE {journal} IN SHARE ROW EXCLUSIVE MODE

-- name: lock_for_columns
LOCK TABLE {journal} IN ACCESS EXCLUSIVE MODE

-- name: create_state
CREATE TABLE IF NOT EXISTS {state} (
  app text NOT NULL,
  journal text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (app, journal, key)
)

-- name: create_sequence
CREATE SEQUENCE IF NOT EXISTS {sequence} AS bigint CACHE 1

-- txid and ordering come last and in this order: defaults are evaluated in column order, and both
-- must be taken after everything that the row depends on.
-- name: create_events
CREATE TABLE IF NOT EXISTS {read_table} (
  persistence_id text NOT NULL,
  sequence_nr bigint NOT NULL CHECK (sequence_nr > 0),
  event_type text NOT NULL,
  content_type text NOT NULL DEFAULT 'application/json',
  payload bytea NOT NULL,
  tags text[] NOT NULL DEFAULT '{{}}'
    CHECK (array_position(tags, NULL) IS NULL AND coalesce(array_ndims(tags), 1) = 1),
  metadata jsonb NOT NULL DEFAULT '{{}}'
    CHECK (jsonb_typeof(metadata) = 'object'
           AND NOT jsonb_path_exists(metadata, '$.* ? (@.type() <> "string")')),
  timestamp_ms bigint NOT NULL,
  txid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ordering bigint NOT NULL DEFAULT nextval({sequence_name}::regclass),
  PRIMARY KEY (persistence_id, sequence_nr)
)

-- CREATE TABLE AS copies types and collations as they are found.
-- name: create_outbox
CREATE TABLE IF NOT EXISTS {read_table} AS
SELECT persistence_id, sequence_nr::bigint, payload, tags, "timestamp"::bigint,
       NULL::xid8 AS txid, NULL::bigint AS ordering
FROM {journal}
WITH NO DATA

-- name: outbox_not_null
ALTER TABLE {read_table}
  ALTER persistence_id SET NOT NULL, ALTER sequence_nr SET NOT NULL,
  ALTER txid SET NOT NULL, ALTER ordering SET NOT NULL

-- name: outbox_identity
CREATE UNIQUE INDEX IF NOT EXISTS {index_name} ON {read_table} (persistence_id, sequence_nr)

-- name: position_index
CREATE INDEX IF NOT EXISTS {index_name} ON {read_table} (txid, ordering)

-- A row moved between partitions, or deleted and inserted again, stays one event.
-- name: outbox_function
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $bridge$
BEGIN
  INSERT INTO {read_table}
    (persistence_id, sequence_nr, payload, tags, "timestamp", txid, ordering)
  VALUES
    (NEW.persistence_id, NEW.sequence_nr, NEW.payload, NEW.tags, NEW."timestamp",
     pg_current_xact_id(), nextval({sequence_name}::regclass))
  ON CONFLICT (persistence_id, sequence_nr) DO NOTHING;
  RETURN NULL;
END
$bridge$

-- Added bare: a volatile default would rewrite the table.
-- name: add_columns
ALTER TABLE {journal}
  ADD COLUMN IF NOT EXISTS bridge_txid xid8,
  ADD COLUMN IF NOT EXISTS bridge_ordering bigint

-- What the writer sent is overridden, unless the row is only being moved between partitions: then
-- the update trigger has run just before, for this very row, and the row keeps its place (also the
-- empty place of a row from before the install).
-- name: columns_insert_function
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $bridge$
DECLARE
  moving text := current_setting('bridge.moving', true);
BEGIN
  IF moving <> '' AND moving = jsonb_build_array(
       NEW.persistence_id, NEW.sequence_nr, NEW.bridge_txid::text, NEW.bridge_ordering)::text THEN
    PERFORM set_config('bridge.moving', '', true);
  ELSE
    NEW.bridge_txid := pg_current_xact_id();
    NEW.bridge_ordering := nextval({sequence_name}::regclass);
  END IF;
  RETURN NEW;
END
$bridge$

-- name: columns_update_function
CREATE OR REPLACE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $bridge$
BEGIN
  NEW.bridge_txid := OLD.bridge_txid;
  NEW.bridge_ordering := OLD.bridge_ordering;
  PERFORM set_config('bridge.moving', jsonb_build_array(
    NEW.persistence_id, NEW.sequence_nr, NEW.bridge_txid::text, NEW.bridge_ordering)::text, true);
  RETURN NEW;
END
$bridge$

-- Only CREATE TRIGGER asks for EXECUTE; firing does not.
-- name: revoke_execute
REVOKE ALL ON FUNCTION {function}() FROM PUBLIC

-- CREATE OR REPLACE TRIGGER came with version 14, and DROP TRIGGER would need the strongest lock.
-- name: create_trigger
DO $bridge$
BEGIN
  IF NOT EXISTS (
    SELECT FROM pg_trigger WHERE tgrelid = {journal_name}::regclass AND tgname = {trigger_name}
      AND tgfoid = {function_name}::regprocedure
  ) THEN
    CREATE TRIGGER {trigger} {event} ON {journal} FOR EACH ROW EXECUTE FUNCTION {function}();
  END IF;
END
$bridge$

-- Otherwise session_replication_role = replica and logical apply pass by.
-- name: enable_always
ALTER TABLE {journal} ENABLE ALWAYS TRIGGER {trigger}

-- name: record
INSERT INTO {state} (app, journal, key, value) VALUES ('', {table_text}, 'install', {record})
ON CONFLICT DO NOTHING

-- Under the lock of the journal: each transaction that wrote to it without the trigger has ended.
-- name: record_snapshot
INSERT INTO {state} (app, journal, key, value)
VALUES ('', {table_text}, 'installed_snapshot', pg_current_snapshot()::text)
ON CONFLICT DO NOTHING

-- name: columns_parent_index
CREATE INDEX IF NOT EXISTS {index_name} ON ONLY {relation} (bridge_txid, bridge_ordering)

-- name: columns_index
CREATE INDEX CONCURRENTLY IF NOT EXISTS {index_name} ON {relation} (bridge_txid, bridge_ordering)

-- name: drop_invalid_index
DROP INDEX CONCURRENTLY IF EXISTS {index}

-- name: attach_index
ALTER INDEX {parent_index} ATTACH PARTITION {index}

-- name: grant_schema
GRANT USAGE ON SCHEMA {schema} TO {role}

-- name: grant_read
GRANT SELECT ON TABLE {relation} TO {role}

-- name: grant_state
GRANT SELECT, INSERT, UPDATE ON TABLE {state} TO {role}
