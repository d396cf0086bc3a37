package engine

// TwoWay finds out whether another server writes into keyfill's tables too: two servers
// that replicate them to each other both give the numbers of a row while each lacks the
// changes of the other.
type TwoWay struct {
	// Hint is an expression for a query that is sent anyway: it is 0 if no other server
	// writes into the tables. It is empty if nothing shows that without more queries.
	Hint string

	// Signs are queries for a sign in words, which is NULL if there is none. The answer of
	// the first query that the server understands counts. A server that is only a replica,
	// to which no process writes, has no sign.
	Signs []string
}

// postgresTwoWay finds the publication by which keyfill's tables leave the server, and the
// subscription by which they arrive. Any role may read that, except subconninfo: PostgreSQL
// 18 documentation, sections 52.54 and 53.17.
var postgresTwoWay = TwoWay{
	Hint: `(SELECT COUNT(*) FROM pg_catalog.pg_subscription_rel r JOIN pg_catalog.pg_subscription u ON u.oid = r.srsubid
WHERE u.subenabled AND r.srrelid = to_regclass('keyfill_sequences'))`,
	Signs: []string{`WITH own (r) AS (VALUES (to_regclass('keyfill_sequences')), (to_regclass('keyfill_workers')), (to_regclass('keyfill_series')))
SELECT 'keyfill''s tables are in the publication ' || (SELECT MIN(p.pubname) FROM pg_catalog.pg_publication_tables p
	WHERE to_regclass(quote_ident(p.schemaname) || '.' || quote_ident(p.tablename)) IN (SELECT r FROM own))
|| ' and in the subscription ' || (SELECT MIN(u.subname) FROM pg_catalog.pg_subscription u JOIN pg_catalog.pg_subscription_rel t ON t.srsubid = u.oid
	WHERE u.subenabled AND t.srrelid IN (SELECT r FROM own))`},
}

// twoWayWords ends the two queries below: cluster, primaries and replicas are what the
// server counts. The nodes of a Galera cluster are one store.
const twoWayWords = `CASE WHEN cluster > 0 THEN NULL
WHEN primaries > 1 THEN CONCAT('its group has ', primaries, ' primaries')
WHEN replicas > 0 AND @@GLOBAL.log_bin = 1 AND NOT @@GLOBAL.read_only THEN 'it is a replica, has a binary log and is not read-only'
WHEN @@GLOBAL.auto_increment_increment > 1 THEN CONCAT('its auto_increment_increment is ', @@GLOBAL.auto_increment_increment, ', as where several servers number rows')
END FROM `

// mysqlTwoWay asks MariaDB first. The other servers have no such status value, and may hide
// the tables of the second query from the user.
var mysqlTwoWay = TwoWay{Signs: []string{
	"SELECT " + twoWayWords + `(SELECT 0 AS primaries, MAX(CASE variable_name WHEN 'WSREP_CLUSTER_SIZE' THEN CAST(variable_value AS SIGNED) END) AS cluster,
MAX(CASE variable_name WHEN 'SLAVES_RUNNING' THEN CAST(variable_value AS SIGNED) END) AS replicas
FROM information_schema.global_status WHERE variable_name IN ('WSREP_CLUSTER_SIZE', 'SLAVES_RUNNING')) s`,
	"SELECT " + twoWayWords + `(SELECT 0 AS cluster,
(SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY') AS primaries,
(SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON' AND CHANNEL_NAME NOT LIKE 'group\_replication%') AS replicas) s`,
}}

// mariadbTwoWay has a hint. The position of a replica is not empty once it has applied a
// change, and stays when replication has stopped.
var mariadbTwoWay = TwoWay{
	Hint:  "CASE WHEN @@GLOBAL.log_bin = 1 AND @@GLOBAL.gtid_slave_pos <> '' OR @@GLOBAL.auto_increment_increment > 1 THEN 1 ELSE 0 END",
	Signs: mysqlTwoWay.Signs[:1],
}
