-- Statements of the view from outside the relay. {table} is what the relay reads, {journal} what
-- applications write to; {rows}, {is_history}, {history_keyset} and {published} are fragments.

-- name: settings
SET default_transaction_read_only = on

-- name: lag
-- {rows} is a query for the event times of committed rows; the statement's own visibility decides
-- what is committed.
SELECT count(*), min(time), max(time) FROM (SELECT time FROM ({rows}) AS behind LIMIT {limit}) AS c

-- name: every_row
SELECT {time} AS time FROM {table} WHERE {txid} IS NOT NULL

-- name: rows_after_snapshot
SELECT {time} AS time FROM {table}
WHERE ({txid} >= %(old_xmax)s::xid8 OR {txid} = ANY (%(old_xip)s::xid8[])) {published}

-- name: not_published
-- The part of the window in progress that is out already.
AND NOT (pg_visible_in_snapshot({txid}, %(new)s::pg_snapshot)
         AND ({ordering}, persistence_id, sequence_nr) <= (%(after_0)s, %(after_1)s, %(after_2)s))

-- name: history
SELECT {time} AS time FROM {journal} AS journal WHERE {is_history} {history_keyset}

-- name: blockers
-- Who has written to the table holds RowExclusiveLock on it until the end, and a lock on the
-- number of his transaction; a prepared transaction has no process.
WITH writers AS (
  SELECT DISTINCT virtualtransaction, pid FROM pg_locks
  WHERE locktype = 'relation' AND granted AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND relation = ANY (%(oids)s::oid[])
), numbered AS (
  SELECT w.pid, min(l.transactionid::text::bigint)::text::xid AS xid
  FROM writers AS w JOIN pg_locks AS l USING (virtualtransaction)
  WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted
    AND l.pid IS NOT DISTINCT FROM w.pid
  GROUP BY w.virtualtransaction, w.pid
)
SELECT coalesce(a.backend_xid, n.xid)::text::bigint, n.pid, p.gid, a.application_name,
       coalesce(a.usename, p.owner)::text, a.state,
       extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared))::float8 AS age_s
FROM numbered AS n
LEFT JOIN pg_stat_activity AS a ON a.pid = n.pid
LEFT JOIN pg_prepared_xacts AS p ON n.pid IS NULL AND p.transaction = n.xid
ORDER BY age_s DESC NULLS LAST

-- name: tags
-- Some rows of the journal as they lie, for its history, and the newest ones in reading order.
SELECT DISTINCT tag::text FROM (
  (SELECT tags FROM {journal} LIMIT %(rows)s)
  UNION ALL
  (SELECT tags FROM {table} ORDER BY {txid} DESC NULLS LAST, {ordering} DESC LIMIT %(rows)s)
) AS chosen, unnest({tag_array}) AS tag
WHERE tag <> '' LIMIT %(tags)s
