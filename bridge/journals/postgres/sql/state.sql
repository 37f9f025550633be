-- Reading what an installation has left behind. Names in braces are filled in, quoted; parameters
-- are bound by the driver.

-- name: installs
SELECT journal, value FROM {state} WHERE app = '' AND key = 'install'

-- name: has_rows
SELECT EXISTS (SELECT FROM {relation})

-- age() counts modulo 2^32 from the next transaction id; taken against the age of the snapshot's
-- own xmax it gives the distance, and so the 64-bit id. A row older than 2^31 transactions would
-- come out younger than everything: greatest() and the comparison below leave it out.
-- name: bypassed
WITH found AS MATERIALIZED (
  SELECT pg_snapshot_xmax(now)::text::bigint AS next_xid, installed
  FROM (SELECT pg_current_snapshot() AS now, value::pg_snapshot AS installed
        FROM {state} WHERE app = '' AND journal = {table_text} AND key = 'installed_snapshot') s
)
SELECT count(*) FROM (
  SELECT FROM {journal} AS j CROSS JOIN found AS f,
  LATERAL (SELECT f.next_xid - (age(j.xmin) - age((f.next_xid & 4294967295)::text::xid)) AS id) AS x
  WHERE x.id >= pg_snapshot_xmin(f.installed)::text::bigint AND x.id <= f.next_xid
    AND NOT pg_visible_in_snapshot(greatest(x.id, 3)::text::xid8, f.installed)
    AND {missing}
  LIMIT {limit}
) AS bypassed

-- name: missing_in_outbox
NOT EXISTS (SELECT FROM {read_table} AS o
            WHERE o.persistence_id = j.persistence_id AND o.sequence_nr = j.sequence_nr)

-- name: missing_in_columns
j.bridge_txid IS NULL
