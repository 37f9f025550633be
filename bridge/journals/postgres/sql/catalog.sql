-- Questions to the catalog. Parameters are bound by the driver.

-- name: schema
SELECT oid, pg_catalog.has_schema_privilege(oid, 'CREATE') AS may_create,
       pg_catalog.has_schema_privilege(oid, 'USAGE') AS may_use
FROM pg_catalog.pg_namespace WHERE nspname = %(schema)s

-- name: relation
SELECT c.oid, c.relkind::text AS kind, c.relpersistence::text AS persistence,
       pg_catalog.pg_get_userbyid(c.relowner) AS owner,
       pg_catalog.pg_has_role(c.relowner, 'USAGE') AS owned,
       pg_catalog.row_security_active(c.oid) AS rows_hidden
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(table)s

-- name: columns
SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, NULL) AS type,
       a.attnotnull AS not_null, a.attgenerated::text <> '' AS generated,
       a.attidentity::text <> '' AS identity,
       pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS default
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum

-- The table itself, or the partitioned table with everything below it.
-- name: members
WITH tree AS (
  SELECT relid, parentrelid, isleaf, level FROM pg_catalog.pg_partition_tree(%(oid)s)
  UNION ALL
  SELECT %(oid)s, NULL, true, 0
  WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_partition_tree(%(oid)s))
)
SELECT t.relid::oid AS oid, n.nspname AS schema, c.relname AS name,
       CASE WHEN t.level > 0 THEN t.parentrelid::oid END AS parent, t.isleaf AS leaf,
       EXISTS (
         SELECT FROM pg_catalog.pg_index i
         JOIN pg_catalog.pg_inherits h ON h.inhrelid = i.indexrelid
         JOIN pg_catalog.pg_class p ON p.oid = h.inhparent
         WHERE i.indrelid = t.relid AND pg_catalog.starts_with(p.relname::text, %(index)s)
       ) AS attached,
       EXISTS (
         SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
         WHERE i.indrelid = t.relid AND NOT i.indisvalid
           AND pg_catalog.starts_with(x.relname::text, %(index)s)
       ) AS invalid
FROM tree t
JOIN pg_catalog.pg_class c ON c.oid = t.relid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY t.level, t.relid

-- tgtype: 1 row, 2 before, 4 insert (catalog/pg_trigger.h).
-- name: triggers
SELECT t.tgrelid::oid AS relation, t.tgname AS name, t.tgenabled::text AS enabled,
       (t.tgtype & 7) = 7 AS before_insert_row, n.nspname AS function_schema,
       p.prosecdef AS security_definer
FROM pg_catalog.pg_trigger t
JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE t.tgrelid = ANY(%(oids)s) AND NOT t.tgisinternal OR
      t.tgrelid = ANY(%(oids)s) AND t.tgparentid <> 0

-- name: indexes
SELECT c.relname AS name, i.indisvalid AND i.indisready AS valid, i.indisunique AS unique,
       i.indpred IS NOT NULL AS partial,
       ARRAY(
         SELECT a.attname::text
         FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         WHERE k.place <= i.indnkeyatts ORDER BY k.place
       ) AS columns
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %(oid)s

-- name: sequence
SELECT s.seqcache AS cache, s.seqincrement AS increment, s.seqcycle AS cycle
FROM pg_catalog.pg_sequence s
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(sequence)s

-- name: privileges
SELECT wanted AS privilege, pg_catalog.has_table_privilege(%(oid)s::oid, wanted) AS granted
FROM pg_catalog.unnest(%(wanted)s::text[]) AS wanted

-- Every session (or prepared transaction) that holds or awaits a lock on one of the relations.
-- name: lock_holders
SELECT DISTINCT
       coalesce(
         'pid ' || l.pid,
         'prepared transaction ' || pg_catalog.quote_literal(x.gid), 'unknown') AS who,
       coalesce(a.usename, x.owner) AS role, nullif(a.application_name, '') AS application,
       a.state, l.granted, l.mode,
       extract(epoch FROM
         pg_catalog.clock_timestamp() - coalesce(a.xact_start, x.prepared))::float8 AS age_s
FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
LEFT JOIN pg_catalog.pg_locks own
  ON l.pid IS NULL AND own.virtualtransaction = l.virtualtransaction
  AND own.locktype = 'transactionid'
LEFT JOIN pg_catalog.pg_prepared_xacts x ON x.transaction = own.transactionid
WHERE l.locktype = 'relation' AND l.relation = ANY(%(oids)s)
  AND l.database = (SELECT oid FROM pg_catalog.pg_database
                    WHERE datname = pg_catalog.current_database())
  AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
ORDER BY age_s DESC NULLS LAST

-- An index is built concurrently only when each older transaction of this database has ended.
-- name: snapshot_holders
SELECT 'pid ' || a.pid AS who, a.usename AS role,
       nullif(a.application_name, '') AS application, a.state, true AS granted, 'snapshot' AS mode,
       extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)::float8 AS age_s
FROM pg_catalog.pg_stat_activity a
WHERE a.datname = pg_catalog.current_database() AND a.pid <> pg_catalog.pg_backend_pid()
  AND (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL)
UNION ALL
SELECT 'prepared transaction ' || pg_catalog.quote_literal(x.gid), x.owner, NULL, NULL, true,
       'snapshot',
       extract(epoch FROM pg_catalog.clock_timestamp() - x.prepared)::float8
FROM pg_catalog.pg_prepared_xacts x WHERE x.database = pg_catalog.current_database()
ORDER BY age_s DESC NULLS LAST

-- name: relation_oids
SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = ANY(%(names)s)
UNION
SELECT t.relid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace,
       pg_catalog.pg_partition_tree(c.oid) t
WHERE n.nspname = %(schema)s AND c.relname = ANY(%(names)s) AND c.relkind = 'p'
