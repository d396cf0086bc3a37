package check

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlcode"
)

// Two servers that replicate keyfill's tables to each other both give out the same numbers
// of a row until each has the other's changes. A replica that no process writes to gives
// out none.

// publishedAndSubscribed finds the publication by which keyfill's tables leave the server,
// and the subscription by which they arrive. Any role may read that, except subconninfo:
// PostgreSQL 18 documentation, sections 52.54 and 53.17.
const publishedAndSubscribed = `SELECT COALESCE((SELECT MIN(p.pubname) FROM pg_catalog.pg_publication_tables p
	WHERE to_regclass(quote_ident(p.schemaname) || '.' || quote_ident(p.tablename)) IN (SELECT r FROM own)), ''),
COALESCE((SELECT MIN(s.subname) FROM pg_catalog.pg_subscription s JOIN pg_catalog.pg_subscription_rel t ON t.srsubid = s.oid
	WHERE s.subenabled AND t.srrelid IN (SELECT r FROM own)), '')`

// ownRelations are keyfill's tables as the search path finds them.
const ownRelations = "WITH own (r) AS (VALUES (to_regclass('keyfill_sequences')), (to_regclass('keyfill_workers')), (to_regclass('keyfill_series')))\n"

// lookAtTwoWay asks each database that keeps counters of sources whether another server
// writes into it too.
func (c *checker) lookAtTwoWay() error {
	for name, one := range c.byName() {
		ask := engines[one.dialect.Family].twoWay
		if one.bad || ask == nil || len(c.usesOf(name)) == 0 {
			continue
		}
		found, err := ask(c.ctx, one.db)
		if err != nil && c.ctx.Err() != nil {
			return err
		}
		of := "the server"
		if name != "" {
			of = fmt.Sprintf("the server of the store %q", name)
		}
		switch {
		case sqlcode.ClassOf(one.dialect, err) == dialect.ErrorNoRight:
			c.add(Finding{Severity: Info, Rule: ruleTwoWay, Line: c.lineOfDatabase(name),
				Message: "it is not known whether " + of + " and another one replicate to each other: the user may not ask",
				Remedy:  "let the user of the DSN SELECT from performance_schema"})
		case err != nil:
			return err
		case found != "":
			c.add(Finding{Severity: Warning, Rule: ruleTwoWay, Line: c.lineOfDatabase(name),
				Message: of + " takes changes from another one and hands its own on: " + found + ". Where programs insert at both, both give the same numbers while one lacks the other's changes",
				Remedy:  "let all programs insert at one of them; or name one server as the store of both, see docs/check.md"})
		}
	}
	return nil
}

func twoWayPostgreSQL(ctx context.Context, db *sql.DB) (string, error) {
	var publication, subscription string
	err := db.QueryRowContext(ctx, ownRelations+publishedAndSubscribed).Scan(&publication, &subscription)
	if err != nil || publication == "" || subscription == "" {
		return "", err
	}
	return fmt.Sprintf("keyfill's tables are in the publication %s and in the subscription %s", publication, subscription), nil
}

// twoWayMySQL returns a sign that another server writes into the database too: a group with
// several primaries, a replica that also has a binary log, or an auto_increment_increment
// above 1. It finds none of them on a node of a Galera cluster.
func twoWayMySQL(ctx context.Context, db *sql.DB) (string, error) {
	var name, value string
	err := db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_cluster_size'").Scan(&name, &value)
	if err != sql.ErrNoRows && (err != nil || value != "0") {
		return "", err
	}
	var step, logs, readOnly int
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.auto_increment_increment, @@GLOBAL.log_bin, @@GLOBAL.read_only").Scan(&step, &logs, &readOnly); err != nil {
		return "", err
	}
	primaries, replicates := 0, 0
	// Only MariaDB has the status value Slaves_running. The other servers have the tables
	// of the query below.
	if err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Slaves_running'").Scan(&name, &replicates); err == sql.ErrNoRows {
		err = db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE' AND MEMBER_ROLE = 'PRIMARY'),
(SELECT COUNT(*) FROM performance_schema.replication_applier_status WHERE SERVICE_STATE = 'ON' AND CHANNEL_NAME NOT LIKE 'group\_replication%')`).Scan(&primaries, &replicates)
	}
	switch {
	case err != nil:
		return "", err
	case primaries > 1:
		return fmt.Sprintf("its group has %d primaries", primaries), nil
	case replicates > 0 && logs > 0 && readOnly == 0:
		return "it is a replica, has a binary log and is not read-only", nil
	case step > 1:
		return fmt.Sprintf("its auto_increment_increment is %d, as where several servers number rows", step), nil
	}
	return "", nil
}
