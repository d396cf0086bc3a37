package stores_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// states is where pods keep the states of their sources: the application's own database,
// or etcd.
type states interface {
	// application returns the driver and the DSN of the application's database, which has
	// the table t.
	application() (driver, dsn string)

	// policy returns a policy by which a source fills t, whose other fields are given.
	policy(source string) string

	// leased returns the owners of leases that last, by the lowest integer of their
	// series.
	leased(t *testing.T) map[int64]string

	// passed returns how many integers the source has taken from its state: of a sequence
	// what is reserved, of series what is reserved in each.
	passed(t *testing.T) int64

	// marks returns until when time is reserved, by the worker's number, in milliseconds
	// since 1970.
	marks(t *testing.T) map[int64]int64

	// requests returns how many requests the servers have counted since they were started.
	requests(t *testing.T) int64
}

// storeNames are the kinds of states in the order of the tables.
var storeNames = []string{"MariaDB", "PostgreSQL", "etcd"}

// newStates makes empty states of a kind. Those in etcd are on so many members.
func newStates(t *testing.T, name string, members int) states {
	t.Helper()
	switch name {
	case "MariaDB":
		return newRows(t, mariaDB, "mysql")
	case "PostgreSQL":
		return newRows(t, postgreSQL, "pgx")
	}
	return newEtcd(t, members)
}

const createTable = "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(20))"

// rows are states in tables of the application's database.
type rows struct {
	driver, dsn string
	raw         *sql.DB
}

func newRows(t *testing.T, server *testdb.Server, driver string) *rows {
	t.Helper()
	r := &rows{driver: driver, dsn: server.DSN(server.Database(t, driver))}
	r.raw = harness.Open(t, driver, r.dsn)
	harness.Exec(t, r.raw, createTable)
	return r
}

func (r *rows) application() (driver, dsn string) { return r.driver, r.dsn }

func (r *rows) policy(source string) string {
	return fmt.Sprintf("version: 1\nstore_wait: 2m\ntables:\n  t: {column: id, source: {%s, ensure_schema: true}}\n", source)
}

func (r *rows) leased(t *testing.T) map[int64]string {
	t.Helper()
	now := "clock_timestamp()"
	if r.driver == "mysql" {
		now = "UTC_TIMESTAMP(6)"
	}
	found, err := r.raw.Query("SELECT series_first, owner FROM keyfill_series WHERE owner <> '' AND leased_until >= " + now)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	all := map[int64]string{}
	for found.Next() {
		var first int64
		var owner string
		if err := found.Scan(&first, &owner); err != nil {
			t.Fatal(err)
		}
		all[first] = owner
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *rows) passed(t *testing.T) int64 {
	t.Helper()
	if n := harness.CountInt(t, r.raw, "SELECT COUNT(*) FROM keyfill_series"); n > 0 {
		return harness.CountInt(t, r.raw, "SELECT CAST(SUM(next_value - series_first) AS DECIMAL(20)) FROM keyfill_series")
	}
	return harness.CountInt(t, r.raw, "SELECT next_value - 1 FROM keyfill_sequences WHERE name = 't.id'")
}

func (r *rows) marks(t *testing.T) map[int64]int64 {
	t.Helper()
	found, err := r.raw.Query("SELECT worker, reserved_until FROM keyfill_workers")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	all := map[int64]int64{}
	for found.Next() {
		var number, until int64
		if err := found.Scan(&number, &until); err != nil {
			t.Fatal(err)
		}
		all[number] = until
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *rows) requests(t *testing.T) int64 {
	t.Helper()
	if r.driver != "mysql" {
		return harness.CountInt(t, r.raw, "SELECT CAST(SUM(xact_commit + xact_rollback) AS bigint) FROM pg_stat_database")
	}
	return harness.CountInt(t, r.raw, "SELECT CAST(variable_value AS INTEGER) FROM information_schema.global_status WHERE variable_name = 'QUERIES'")
}

// cluster are states in etcd. The application's database is a file of SQLite, which the
// pods only look at.
type cluster struct {
	members []*testdb.EtcdMember
	client  *clientv3.Client
	dsn     string
}

func newEtcd(t *testing.T, members int) *cluster {
	t.Helper()
	c := &cluster{members: testdb.StartEtcd(t, members)}
	c.dsn = "file:" + filepath.Join(t.TempDir(), "app.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	harness.Exec(t, harness.Open(t, "sqlite", c.dsn), createTable)
	var err error
	c.client, err = clientv3.New(clientv3.Config{Endpoints: c.urls(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.client.Close() })
	return c
}

func (c *cluster) urls() (all []string) {
	for _, m := range c.members {
		all = append(all, m.URL())
	}
	return all
}

func (c *cluster) application() (driver, dsn string) { return "sqlite", c.dsn }

func (c *cluster) policy(source string) string {
	return "version: 1\nstore_wait: 2m\nstores:\n  central: {driver: etcd, endpoints: [\"" + strings.Join(c.urls(), `", "`) + "\"]}\n" +
		"tables:\n  t: {column: id, source: {" + source + ", ensure_schema: true, store: central}}\n"
}

// each calls f for each key below a folder of keyfill's, with the last part of its name
// and its version.
func (c *cluster) each(t *testing.T, folder string, f func(name string, value []byte, version int64)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Limit)
	defer cancel()
	answer, err := c.client.Get(ctx, "keyfill/"+folder+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range answer.Kvs {
		key := string(kv.Key)
		f(key[strings.LastIndexByte(key, '/')+1:], kv.Value, kv.Version)
	}
}

func (c *cluster) leased(t *testing.T) map[int64]string {
	t.Helper()
	all := map[int64]string{}
	c.each(t, "leases", func(name string, owner []byte, _ int64) { all[integer(t, name)] = string(owner) })
	return all
}

func (c *cluster) passed(t *testing.T) (n int64) {
	t.Helper()
	c.each(t, "series", func(name string, value []byte, _ int64) {
		var of struct{ Next int64 }
		if err := json.Unmarshal(value, &of); err != nil {
			t.Fatal(err)
		}
		n += of.Next - integer(t, name)
	})
	// A sequence begins at 1, and each version of a key has reserved as many as its name says.
	c.each(t, "counts", func(name string, _ []byte, version int64) { n += integer(t, name) * version })
	return n
}

func (c *cluster) marks(t *testing.T) map[int64]int64 {
	t.Helper()
	all := map[int64]int64{}
	c.each(t, "marks", func(name string, value []byte, _ int64) {
		var of struct{ Until int64 }
		if err := json.Unmarshal(value, &of); err != nil {
			t.Fatal(err)
		}
		all[integer(t, name)] = of.Until
	})
	return all
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// received are the requests that a member has got from clients, by method.
var received = regexp.MustCompile(`(?m)^grpc_server_msg_received_total\{[^}]*grpc_service="etcdserverpb\.(?:KV|Lease)"[^}]*\} ([0-9.e+]+)$`)

func (c *cluster) requests(t *testing.T) (n int64) {
	t.Helper()
	for _, url := range c.urls() {
		answer, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		found := received.FindAllSubmatch(text, -1)
		if len(found) == 0 {
			t.Fatal("a member does not say how many requests it has got")
		}
		for _, one := range found {
			count, err := strconv.ParseFloat(string(one[1]), 64)
			if err != nil {
				t.Fatal(err)
			}
			n += int64(count)
		}
	}
	return n
}
