-- Statements that take everything away again. Each accepts that its object is gone already.

-- name: lock_for_removal
DO $bridge$
BEGIN
  IF to_regclass({journal_name}) IS NOT NULL THEN
    LOCK TABLE {journal} IN ACCESS EXCLUSIVE MODE;
  END IF;
END
$bridge$

-- name: keep_events
DO $bridge$
BEGIN
  IF to_regclass({journal_name}) IS NOT NULL THEN
    IF EXISTS (SELECT FROM {journal}) THEN
      RAISE EXCEPTION 'bridge_events holds rows' USING ERRCODE = 'BRG01';
    END IF;
  END IF;
END
$bridge$

-- name: drop_trigger
DROP TRIGGER IF EXISTS {trigger} ON {journal}

-- name: drop_function
DROP FUNCTION IF EXISTS {function}()

-- Takes the index along.
-- name: drop_columns
ALTER TABLE IF EXISTS {journal}
  DROP COLUMN IF EXISTS bridge_txid,
  DROP COLUMN IF EXISTS bridge_ordering

-- name: drop_table
DROP TABLE IF EXISTS {read_table}

-- name: drop_sequence
DROP SEQUENCE IF EXISTS {sequence}

-- name: forget
DO $bridge$
BEGIN
  IF to_regclass({state_name}) IS NOT NULL THEN
    LOCK TABLE {state} IN ACCESS EXCLUSIVE MODE;
    DELETE FROM {state}
    WHERE (app = '' AND journal = {table_text}) OR (app = {app} AND journal = {journal_text});
    IF NOT EXISTS (SELECT FROM {state}) THEN
      DROP TABLE {state};
    END IF;
  END IF;
END
$bridge$

-- Only on the journal itself: rights on what was dropped went with it.
-- name: revoke_read
REVOKE SELECT ON TABLE {relation} FROM {role}

-- name: revoke_schema
REVOKE USAGE ON SCHEMA {schema} FROM {role}
