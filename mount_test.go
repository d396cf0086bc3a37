package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// wrap registers d under a name of its own and returns both.
func wrap(t *testing.T, d driver.Driver, cfg *policy.Config) (string, *keyfill.Mount) {
	t.Helper()
	name := strings.ReplaceAll(t.Name(), "/", "-") + "-keyfill"
	m, err := keyfill.Register(name, d, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	return name, m
}

// mustOpen opens a database through a registered name.
func mustOpen(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open(name, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestRegister(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	name, all := wrap(t, d, config("sqlite"))
	if _, err := keyfill.Register(name, d, keyfill.Options{Policy: config("sqlite")}); err == nil {
		t.Error("a name was registered twice")
	}
	byName := name + "-again-keyfill"
	if _, err := keyfill.RegisterByName(byName, "no such driver", keyfill.Options{}); err == nil {
		t.Error("a driver that is not registered was wrapped")
	}

	if _, err := all.Keys(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrNotOne) {
		t.Errorf("Keys with no database open: %v", err)
	}
	one, two := mustOpen(t, name), mustOpen(t, name)
	if _, err := all.Keys(context.Background(), "t", 1); !errors.Is(err, keyfill.ErrNotOne) {
		t.Errorf("Keys with two databases open: %v", err)
	}
	mustExec(t, one, insert, 1, 2)
	mustExec(t, two, insert, 1, 2)
	mustExec(t, two, insert, 1, 2)
	m, err := keyfill.From(two)
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Stats().Tables["t"].Filled; n != 2 {
		t.Errorf("the second database filled %d, want 2", n)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if n := all.Stats().Tables["t"].Filled; n != 3 {
		t.Errorf("the name filled %d, want 3, the closed database's included", n)
	}
	keys, err := all.Keys(context.Background(), "t", 3)
	if err != nil || len(keys) != 3 {
		t.Errorf("Keys: %v, %v", keys, err)
	}
}

// TestRegisteredInstance: drivers keep functions and configurations in the
// registered value, so that very value is wrapped.
func TestRegisteredInstance(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	sql.Register("TestRegisteredInstance", d)
	if _, err := keyfill.RegisterByName("TestRegisteredInstance-keyfill", "TestRegisteredInstance", keyfill.Options{Policy: config("sqlite")}); err != nil {
		t.Fatal(err)
	}
	mustExec(t, mustOpen(t, "TestRegisteredInstance-keyfill"), insert, 1, 2)
	if len(d.sent()) != 1 {
		t.Error("another value of the driver was used")
	}
}

func TestFrom(t *testing.T) {
	raw := sql.OpenDB(&fakeConnector{&fakeDriver{}})
	defer raw.Close()
	if _, err := keyfill.From(raw); !errors.Is(err, keyfill.ErrNotOurs) {
		t.Errorf("From a foreign database: %v", err)
	}
	m, err := keyfill.From(open(t, &fakeDriver{}, config("sqlite")))
	if m == nil || err != nil {
		t.Errorf("From: %v, %v", m, err)
	}
}

// TestKeys: keys for a batch that is built outside are those that would be
// bound, and an INSERT that brings them is kept.
func TestKeys(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	cfg := config("sqlserver")
	cfg.Tables["devices"] = policy.Table{Column: "id", Layout: "binary"}
	cfg.Tables["made"] = policy.Table{Column: "id", Source: "identity"}
	db := open(t, d, cfg)
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	keys, err := m.Keys(ctx, "dbo.devices", 2)
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := keys[0].([]byte); !ok || len(b) != 16 {
		t.Errorf("Keys gave %v", keys)
	}
	mustExec(t, db, "INSERT INTO devices (id) VALUES (@p1), (@p2)", keys[0], keys[1])
	if got := m.Stats().Tables["devices"]; got.Kept != 1 || got.Filled != 0 {
		t.Errorf("counted %+v, want kept", got)
	}
	for _, table := range []string{"orders", "made", "t*", ""} {
		var e *keyfill.Error
		if _, err := m.Keys(ctx, table, 1); !errors.As(err, &e) {
			t.Errorf("Keys(%q): %v", table, err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := m.Keys(ctx, "devices", n); err == nil {
			t.Errorf("Keys of %d", n)
		}
	}
}

// TestModes: the more cautious of the table's and the mount's mode holds.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		table, mount policy.Mode
		env          string
		query        string
		want         string // what is sent
		keys         int64
	}{
		{query: insert, want: inserted, keys: 2},
		{mount: policy.ModeDryRun, query: insert, want: insert},
		{table: policy.ModeDryRun, query: insert, want: insert},
		{table: policy.ModeOff, mount: policy.ModeDryRun, query: insert, want: insert},
		{mount: policy.ModeOff, query: insert, want: insert},
		{env: "off", query: insert, want: insert},
		{mount: policy.ModeDryRun, query: "INSERT INTO t (a, b) SELECT 1, 2", want: "INSERT INTO t (a, b) SELECT 1, 2"},
		{mount: policy.ModeOff, query: "INSERT INTO t (a, b) SELECT 1, 2", want: "INSERT INTO t (a, b) SELECT 1, 2"},
	} {
		t.Run(c.table.String()+"/"+c.mount.String()+c.env, func(t *testing.T) {
			t.Setenv("KEYFILL_MODE", c.env)
			var rand countingRand
			var log strings.Builder
			d := &fakeDriver{strength: contexts}
			cfg := drawn("sqlite", &rand)
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			entry := cfg.Policy.Tables["t*"]
			entry.Mode = c.table
			cfg.Policy.Tables["t*"] = entry
			db := open(t, d, cfg)
			m, err := keyfill.From(db)
			if err != nil {
				t.Fatal(err)
			}
			if c.env == "" {
				m.SetMode(c.mount)
			}
			var args []any
			if c.query == insert {
				args = []any{1, "secret"}
			}
			mustExec(t, db, c.query, args...)
			s, err := db.Prepare(c.query)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Exec(args...); err != nil {
				t.Fatal(err)
			}
			if got := d.sent()[0].query; got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
			if got := d.took("prepare")[0].query; got != c.want {
				t.Errorf("prepared %q, want %q", got, c.want)
			}
			if rand.keys.Load() != c.keys {
				t.Errorf("%d keys drawn, want %d", rand.keys.Load(), c.keys)
			}
			counted := m.Stats().Tables["t"]
			if c.want == c.query && (counted.Withheld != 2 || counted.Keys != 0) {
				t.Errorf("counted %+v, want two withheld", counted)
			}
			if dry := max(c.table, c.mount) == policy.ModeDryRun; dry != strings.Contains(log.String(), "sent unfilled") && c.query == insert {
				t.Errorf("logged %q", log.String())
			}
			if strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "INTO t") {
				t.Errorf("the log shows arguments or queries: %q", log.String())
			}
		})
	}
}

// TestSetModeOfName: the mode of a name holds for databases opened later too.
func TestSetModeOfName(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	name, all := wrap(t, d, config("sqlite"))
	before := mustOpen(t, name)
	all.SetMode(policy.ModeOff)
	after := mustOpen(t, name)
	mustExec(t, before, insert, 1, 2)
	mustExec(t, after, insert, 1, 2)
	all.SetMode(policy.ModeFill)
	mustExec(t, before, insert, 1, 2)
	for i, want := range []string{insert, insert, inserted} {
		if got := d.sent()[i].query; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
}

// TestModesUnderLoad switches the mode while statements run: none is lost.
func TestModesUnderLoad(t *testing.T) {
	d := &fakeDriver{strength: contexts, skip: true}
	db := open(t, d, config("sqlite"))
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var switching sync.WaitGroup
	switching.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				m.SetMode(policy.Mode(i % 3))
			}
		}
	})
	const each = 200
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range each {
				if _, err := db.Exec(insert, 1, 2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	close(stop)
	switching.Wait()
	m.SetMode(policy.ModeOff)
	mustExec(t, db, insert, 1, 2)
	sent := d.sent()
	if len(sent) != 8*each+1 {
		t.Errorf("%d statements sent, want %d", len(sent), 8*each+1)
	}
	for _, c := range sent {
		if (c.query == inserted) != (len(c.args) == 3) {
			t.Fatalf("sent %q with %d arguments", c.query, len(c.args))
		}
	}
	if last := sent[len(sent)-1].query; last != insert {
		t.Errorf("after off: sent %q", last)
	}
}

// TestNoPolicy: neither variable nor file: sql.Open fails and names both.
func TestNoPolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KEYFILL_CONFIG", "")
	name, _ := wrap(t, &fakeDriver{strength: contexts}, nil)
	_, err := sql.Open(name, "")
	if err == nil || !strings.Contains(err.Error(), "KEYFILL_CONFIG") || !strings.Contains(err.Error(), "keyfill.yaml") {
		t.Fatalf("sql.Open: %v", err)
	}
	text := "version: 1\ndialect: sqlite\ntables: {t: {column: id}}\n"
	if err := os.WriteFile("keyfill.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	mustExec(t, mustOpen(t, name), insert, 1, 2)

	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ntables: {t: {colum: id}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYFILL_CONFIG", file)
	if _, err := sql.Open(name, ""); err == nil || !strings.Contains(err.Error(), "other.yaml:2:14") {
		t.Errorf("sql.Open: %v", err)
	}
}

// TestUnknownDriver: the dialect of an unknown driver is not guessed.
func TestUnknownDriver(t *testing.T) {
	_, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("")})
	if err == nil || !strings.Contains(err.Error(), "dialect") {
		t.Errorf("OpenDB: %v", err)
	}
	if _, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("db2")}); err == nil {
		t.Error("an unknown dialect was taken")
	}
	t.Setenv("KEYFILL_MODE", "of")
	if _, err := keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("sqlite")}); err == nil || !strings.Contains(err.Error(), "KEYFILL_MODE") {
		t.Errorf("OpenDB with a bad mode: %v", err)
	}
}

// TestPassAllocates: a query that does not concern keyfill costs no allocation.
func TestPassAllocates(t *testing.T) {
	d := &silentDriver{}
	open := func(c driver.Connector) driver.ExecerContext {
		conn, err := c.Connect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return conn.(driver.ExecerContext)
	}
	cfg := config("sqlite")
	wrapped, err := keyfill.WrapConnector(d, keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	count := func(e driver.ExecerContext, query string) float64 {
		return testing.AllocsPerRun(100, func() {
			if _, err := e.ExecContext(context.Background(), query, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	conn := open(wrapped)
	for _, query := range []string{"UPDATE t SET a = 1", "INSERT INTO other (a) VALUES (1)"} {
		if n := count(conn, query); n > 0 {
			t.Errorf("%s allocates %v times, want none", query, n)
		}
	}
}

// silentDriver executes everything and remembers nothing.
type silentDriver struct{}

func (d *silentDriver) Connect(context.Context) (driver.Conn, error) { return d, nil }
func (d *silentDriver) Driver() driver.Driver                        { return d }
func (d *silentDriver) Open(string) (driver.Conn, error)             { return d, nil }
func (d *silentDriver) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (d *silentDriver) Close() error                                 { return nil }
func (d *silentDriver) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (d *silentDriver) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

// TestClosedTwice: a connector may be closed by its database and by the program. What
// the database has done is counted once.
func TestClosedTwice(t *testing.T) {
	name, all := wrap(t, &fakeDriver{strength: contexts}, config("sqlite"))
	c, err := mustOpen(t, name).Driver().(driver.DriverContext).OpenConnector("")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	mustExec(t, db, insert, 1, 2)
	for range 2 {
		if err := errors.Join(db.Close(), c.(*keyfill.Connector).Close()); err != nil {
			t.Fatal(err)
		}
	}
	if filled := all.Stats().Tables["t"].Filled; filled != 1 {
		t.Errorf("%d statements filled, want 1", filled)
	}
}
