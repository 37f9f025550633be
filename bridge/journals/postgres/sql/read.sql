-- Statements of the reading side. {table}, {outbox}, {txid}, {ordering} are quoted identifiers,
-- {columns} and {keyset} further fragments of this file's statements.

-- name: columns_bridge
persistence_id, sequence_nr,
CASE WHEN octet_length(payload) <= %(inline_bytes)s THEN payload END,
octet_length(payload),
array_to_json(tags)::text, timestamp_ms, event_type, content_type,
nullif(metadata::text, '{{}}')

-- name: columns_actor_ts
persistence_id::text, sequence_nr,
CASE WHEN octet_length(payload) <= %(inline_bytes)s THEN convert_to(payload, 'UTF8') END,
octet_length(payload),
tags::text, "timestamp", NULL, NULL,
NULL

-- name: payload_bridge
SELECT payload FROM {table} WHERE persistence_id = %(pid)s AND sequence_nr = %(seq)s

-- name: payload_actor_ts
SELECT convert_to(payload, 'UTF8') FROM {table}
WHERE persistence_id = %(pid)s AND sequence_nr = %(seq)s

-- name: entity
SELECT {columns}, sequence_nr FROM {table}
WHERE persistence_id = %(pid)s AND sequence_nr BETWEEN %(first)s AND %(last)s
ORDER BY sequence_nr

-- name: entity_outbox
-- Rows from before the installation are in the journal only.
SELECT {columns}, sequence_nr FROM {table}
WHERE persistence_id = %(pid)s AND sequence_nr BETWEEN %(first)s AND %(last)s
UNION ALL
SELECT {columns}, sequence_nr FROM {journal} AS journal
WHERE persistence_id = %(pid)s AND sequence_nr BETWEEN %(first)s AND %(last)s AND {is_history}
ORDER BY 2

-- name: now
-- The insert position is read after the snapshot was taken: all that the snapshot sees lies below.
SELECT pg_current_snapshot()::text,
       pg_current_wal_insert_lsn()::text,
       pg_current_wal_flush_lsn()::text

-- name: window
-- What the new snapshot sees and the old one did not.
SELECT {columns}, {ordering}, persistence_id::text, sequence_nr
FROM {table}
WHERE ({txid} >= %(old_xmax)s::xid8 OR {txid} = ANY (%(old_xip)s::xid8[]))
  AND {txid} < %(new_xmax)s::xid8
  AND pg_visible_in_snapshot({txid}, %(new)s::pg_snapshot)
  {keyset}
ORDER BY {ordering}, persistence_id, sequence_nr

-- name: window_keyset
AND ({ordering}, persistence_id, sequence_nr) > (%(after_0)s, %(after_1)s, %(after_2)s)

-- name: window_behind
-- Events of the window in progress that are published already, newest first.
SELECT persistence_id::text, sequence_nr FROM {table}
WHERE ({txid} >= %(old_xmax)s::xid8 OR {txid} = ANY (%(old_xip)s::xid8[]))
  AND {txid} < %(new_xmax)s::xid8
  AND pg_visible_in_snapshot({txid}, %(new)s::pg_snapshot)
  AND ({ordering}, persistence_id, sequence_nr) <= (%(after_0)s, %(after_1)s, %(after_2)s)
ORDER BY {ordering} DESC LIMIT %(limit)s

-- name: recent
-- Events published by earlier windows, newest first.
SELECT persistence_id::text, sequence_nr FROM {table}
WHERE {txid} < %(old_xmax)s::xid8 AND pg_visible_in_snapshot({txid}, %(old)s::pg_snapshot)
ORDER BY {txid} DESC, {ordering} DESC LIMIT %(limit)s

-- name: history_by_time
SELECT {columns}, "timestamp", persistence_id::text, sequence_nr
FROM {table} AS journal
WHERE {is_history} {keyset}
ORDER BY "timestamp", persistence_id, sequence_nr

-- name: history_by_time_keyset
AND ("timestamp", persistence_id, sequence_nr) > (%(after_0)s, %(after_1)s, %(after_2)s)

-- name: history_by_entity
SELECT {columns}, persistence_id::text, sequence_nr
FROM {table} AS journal
WHERE {is_history} {keyset}
ORDER BY persistence_id, sequence_nr

-- name: history_by_entity_keyset
AND (persistence_id, sequence_nr) > (%(after_0)s, %(after_1)s)

-- name: is_history_outbox
NOT EXISTS (SELECT FROM {outbox} AS copied
            WHERE copied.persistence_id = journal.persistence_id
              AND copied.sequence_nr = journal.sequence_nr)

-- name: is_history_columns
{txid} IS NULL

-- name: times_go_back
SELECT EXISTS (
  SELECT FROM (
    SELECT "timestamp" < lag("timestamp") OVER (PARTITION BY persistence_id ORDER BY sequence_nr)
           AS back
    FROM {table} AS journal WHERE {is_history}
  ) AS steps WHERE back)

-- name: identity
SELECT (SELECT system_identifier FROM pg_control_system())::text,
       ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int::bigint,
       pg_is_in_recovery()

-- name: witnesses
SELECT key, value FROM {state}
WHERE app = %(app)s AND journal = %(journal)s AND key IN ('witness', 'witness_previous')

-- name: write_witness
INSERT INTO {state} (app, journal, key, value) VALUES (%(app)s, %(journal)s, %(key)s, %(value)s)
ON CONFLICT (app, journal, key) DO UPDATE SET value = excluded.value

-- name: force_flush
SELECT pg_logical_emit_message(true, 'bridge', '')

-- name: standbys
SELECT count(*) FILTER (WHERE flush_lsn >= %(lsn)s::pg_lsn), count(flush_lsn), count(*)
FROM pg_stat_replication
