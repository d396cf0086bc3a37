package apps_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testdb"
)

// TestRaisedLost: a counter that was raised on a server which writes its log once a
// second may be back where it was after kill -9. Reading it back shows that, and a
// sequence refuses to fill the column.
func TestRaisedLost(t *testing.T) {
	t.Parallel()
	server := testdb.Start(t, testdb.MariaDB().With("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-timeout=2700"))
	e := harness.MySQLDefault
	e.Server = server
	d := deploy(t, e)
	d.create(e)
	harness.Exec(t, d.raw, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	harness.Exec(t, d.raw, "INSERT INTO t (who) VALUES ('before')") // what was done so far is on the disk
	harness.Exec(t, d.raw, "SET GLOBAL innodb_flush_log_at_trx_commit = 0")
	entry := d.execute(d.plan("there"))[0]
	server.Kill(t)
	server.Restart(t)
	harness.Eventually(t, func() error { return d.raw.Ping() })
	below := belowOf(t, entry)
	next := nextMariaDB(t, d.raw)
	if next >= below {
		t.Logf("the server has kept the raised counter: %d", next)
		return
	}
	if err := d.insertOne(entry); !errors.Is(err, store.ErrBelow) {
		t.Errorf("beside a counter that stands at %d, below %d: %v", next, below, err)
	}
	if err := d.insertOne(d.execute(d.plan("there"))[0]); err != nil {
		t.Errorf("an INSERT after the counter was raised again: %v", err)
	}
}

// insertOne inserts a row as a process that has just begun does, by an entry of the policy.
func (d *deployment) insertOne(entry string) error {
	d.t.Helper()
	db, err := (&writer{Driver: d.ways[0].driver, DSN: d.ways[0].dsn, Entry: entry}).open()
	if err != nil {
		d.t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec("INSERT INTO t (who) VALUES ('before')")
	return err
}

// nextMariaDB returns where the counter of t stands.
func nextMariaDB(t *testing.T, raw *sql.DB) int64 {
	t.Helper()
	var name, text string
	if err := raw.QueryRow("SHOW CREATE TABLE t").Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, " AUTO_INCREMENT=")
	var next int64
	if _, err := fmt.Sscan(rest, &next); err != nil {
		t.Fatal(err)
	}
	return next
}
