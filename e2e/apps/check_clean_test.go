package apps_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// checkEngines are one of each kind.
var checkEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}

// typesOf are the types of columns that keys of a UUID and of 16 bytes go to.
var typesOf = map[string][2]string{
	"sqlite": {"TEXT", "BLOB"}, "mariadb": {"UUID", "BINARY(16)"}, "postgres": {"uuid", "bytea"},
}

// parsed returns the policy of a text.
func parsed(t *testing.T, text string) *policy.Config {
	t.Helper()
	cfg, err := policy.Parse([]byte(head + text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const cleanPolicy = `  customers: {column: id}
  devices: {column: id, layout: binary}
  orders: {column: id, source: {kind: sequence, ensure_schema: true}}
  order_lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}
  flakes: {column: id, source: {kind: snowflake, worker: 7, ensure_schema: true}}
  legacy: {column: id, source: identity}
`

// makeClean makes tables that fit cleanPolicy.
func makeClean(t *testing.T, s *harness.Scratch) {
	types := typesOf[s.Dialect.Name]
	legacy := map[string]string{
		"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "bigserial PRIMARY KEY",
	}[s.Dialect.Name]
	executeAll(t, s,
		"CREATE TABLE customers (id "+types[0]+" NOT NULL PRIMARY KEY, name VARCHAR(20))",
		"CREATE TABLE devices (id "+types[1]+" NOT NULL PRIMARY KEY)",
		"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, customer_id "+types[0]+" REFERENCES customers (id))",
		"CREATE TABLE order_lines (order_id BIGINT NOT NULL REFERENCES orders (id), n BIGINT NOT NULL, PRIMARY KEY (order_id, n))",
		"CREATE TABLE flakes (id BIGINT NOT NULL PRIMARY KEY)",
		"CREATE TABLE legacy (id "+legacy+")",
		"CREATE TABLE countries (code CHAR(2) NOT NULL PRIMARY KEY)")
}

// TestClean: a database that fits its policy gives no finding, before the first key and
// after it.
func TestClean(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		makeClean(t, s)
		for _, when := range []string{"before", "after"} {
			findings, _ := look(t, s, cleanPolicy)
			for _, f := range findings {
				t.Errorf("%s the first key: %+v", when, f)
			}
			db, m := s.Open(t, parsed(t, cleanPolicy))
			for _, statement := range []string{
				"INSERT INTO customers (name) VALUES ('a')", "INSERT INTO orders (customer_id) VALUES (NULL)",
			} {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			found, err := m.Check(context.Background())
			if err != nil || len(found) != 0 {
				t.Errorf("Check = %+v, %v", found, err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestThousandTables: the catalog is asked as often for 1,000 tables as for ten.
func TestThousandTables(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		types := typesOf[s.Dialect.Name]
		const text = "  \"t_*\": {column: id}\n"
		first, made, with := 0, 0, ""
		if s.Dialect.Name == "mariadb" {
			with = " ENGINE=MEMORY" // a thousand files of InnoDB are slow to drop
		}
		for _, tables := range []int{10, 1000} {
			c, err := s.Raw.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Dialect.Name == "sqlite" {
				if _, err := c.ExecContext(t.Context(), "BEGIN"); err != nil {
					t.Fatal(err)
				}
			}
			for ; made < tables; made++ {
				if _, err := c.ExecContext(t.Context(), fmt.Sprintf("CREATE TABLE t_%d (id %s NOT NULL PRIMARY KEY, a INT, b VARCHAR(9))%s", made, types[0], with)); err != nil {
					t.Fatal(err)
				}
			}
			if s.Dialect.Name == "sqlite" {
				if _, err := c.ExecContext(t.Context(), "COMMIT"); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			findings, statements := look(t, s, text)
			t.Logf("%d tables: %d statements, %s", tables, statements, time.Since(begin).Round(time.Millisecond))
			if len(findings) != 0 {
				t.Errorf("%d findings, such as %+v", len(findings), findings[0])
			}
			if first == 0 {
				first = statements
			} else if statements != first {
				t.Errorf("%d statements for %d tables, %d for ten", statements, tables, first)
			}
		}
	})
}

// collected are the reports of a logger.
type collected struct {
	slog.Handler
	mu  sync.Mutex
	all []string
	got chan struct{}
}

func (c *collected) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "keyfill: opened" {
		return nil
	}
	text := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	c.mu.Lock()
	c.all = append(c.all, text)
	c.mu.Unlock()
	select {
	case c.got <- struct{}{}:
	default:
	}
	return nil
}

func (c *collected) Enabled(context.Context, slog.Level) bool { return true }

// TestStart: check: start and mode: dry_run log the findings, and fail no connection.
func TestStart(t *testing.T) {
	t.Parallel()
	harness.Each(t, append(checkEngines[:len(checkEngines):len(checkEngines)], harness.SQLiteMemory), func(t *testing.T, s *harness.Scratch) {
		for _, field := range []string{"check: start\n", "mode: dry_run\n"} {
			cfg, err := policy.Parse([]byte(field + head + "  ordres: {column: id}\n"))
			if err != nil {
				t.Fatal(err)
			}
			logs := &collected{Handler: slog.DiscardHandler, got: make(chan struct{}, 1)}
			db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: slog.New(logs)})
			if err := db.Ping(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-logs.got:
			case <-t.Context().Done():
			}
			logs.mu.Lock()
			if len(logs.all) != 1 || !strings.HasPrefix(logs.all[0], "ERROR keyfill: check finding=") || !strings.Contains(logs.all[0], "rule=no-table") || !strings.Contains(logs.all[0], "line=4") {
				t.Errorf("%s: %q", field, logs.all)
			}
			logs.mu.Unlock()
		}
	})
}
