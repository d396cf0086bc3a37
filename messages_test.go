package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/policy"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// TestMessages compares what a developer reads when something is set up wrong,
// or an INSERT is not sent, with testdata/messages/errors.txtar.
func TestMessages(t *testing.T) {
	file := filepath.Join("testdata", "messages", "errors.txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range archive.Files {
		want[f.Name] = string(f.Data)
	}
	t.Setenv("KEYFILL_CONFIG", "")
	t.Setenv("KEYFILL_MODE", "")
	archive.Files = nil
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			err := m.provoke(t)
			if err == nil {
				t.Fatal("no error")
			}
			// The folder of the test has another name each time.
			got := strings.ReplaceAll(err.Error(), strconv.Quote(folder(t)), "FOLDER") + "\n"
			archive.Files = append(archive.Files, txtar.File{Name: m.name, Data: []byte(got)})
			if anchor.Marked(strings.TrimSpace(got)) == "" && !errors.Is(err, context.Canceled) {
				t.Errorf("the text ends in no section of docs/errors.md: %s", got)
			}
			if !*update && got != want[m.name] {
				t.Errorf("the text is\n%swant\n%s", got, want[m.name])
			}
		})
	}
	if len(want) != len(messages) && !*update {
		t.Errorf("%s has %d texts for %d errors", file, len(want), len(messages))
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// folder returns the current folder.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var messages = []struct {
	name    string
	provoke func(t *testing.T) error
}{
	{"unknown driver", func(*testing.T) error {
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("")}))
	}},
	{"unknown wrapper", func(*testing.T) error {
		return second(keyfill.Register("unknown-keyfill", struct{ driver.Driver }{&fakeDriver{}}, keyfill.Options{Policy: config("")}))
	}},
	{"unknown dialect", func(*testing.T) error {
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("db2")}))
	}},
	{"driver not registered", func(*testing.T) error {
		return second(keyfill.RegisterByName("x-keyfill", "nosuchdriver", keyfill.Options{Policy: config("sqlite")}))
	}},
	{"name taken", func(*testing.T) error {
		_, _ = keyfill.Register("taken-keyfill", &fakeDriver{}, keyfill.Options{Policy: config("sqlite")})
		return second(keyfill.Register("taken-keyfill", &fakeDriver{}, keyfill.Options{Policy: config("sqlite")}))
	}},
	{"no policy", func(t *testing.T) error {
		t.Chdir(t.TempDir())
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{}))
	}},
	{"policy file missing", func(t *testing.T) error {
		t.Setenv("KEYFILL_CONFIG", "nosuchfile.yaml")
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{}))
	}},
	{"bad mode", func(t *testing.T) error {
		t.Setenv("KEYFILL_MODE", "dryrun")
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: config("sqlite")}))
	}},
	{"bad policy", func(t *testing.T) error {
		cfg := config("sqlite")
		cfg.Tables["u"] = policy.Table{Column: "id", Source: "uuid7"}
		return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, keyfill.Options{Policy: cfg}))
	}},
	{"not ours", func(*testing.T) error {
		raw := sql.OpenDB(&fakeConnector{&fakeDriver{}})
		defer raw.Close()
		return second(keyfill.From(raw))
	}},
	{"keys of a name that is not open", func(*testing.T) error {
		m, err := keyfill.Register("notopen-keyfill", &fakeDriver{}, keyfill.Options{Policy: config("sqlite")})
		if err != nil {
			return err
		}
		return second(m.Keys(context.Background(), "t", 1))
	}},
	{"keys of a missing table", func(t *testing.T) error {
		return keysError(t, context.Background(), config("sqlite"), "orders", 1)
	}},
	{"keys of a name that is misspelt", func(t *testing.T) error {
		cfg := config("sqlite")
		cfg.Tables["orders"] = policy.Table{Column: "id", Source: "uuidv7"}
		return keysError(t, context.Background(), cfg, "ordres", 1)
	}},
	{"keys of a glob", func(t *testing.T) error {
		return keysError(t, context.Background(), config("sqlite"), "t*", 1)
	}},
	{"too many keys", func(t *testing.T) error {
		return keysError(t, context.Background(), config("sqlite"), "t", 1<<60)
	}},
	{"no keys", func(t *testing.T) error {
		return keysError(t, context.Background(), config("sqlite"), "t", 0)
	}},
	{"cancelled while a source waits", func(t *testing.T) error {
		cfg := keyfill.Options{Policy: config("sqlite")}
		cfg.Policy.Tables["t*"] = policy.Table{Column: "id", Source: "uuidv7"}
		cfg.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		// Seconds of keys ahead of a clock that stands: the next one waits.
		db := open(t, &fakeDriver{}, cfg)
		m, err := keyfill.From(db)
		if err != nil {
			return err
		}
		for range 5 {
			if _, err := m.Keys(context.Background(), "t", 1_000_000); err != nil {
				return err
			}
		}
		return second(m.Keys(ctx, "t", 1))
	}},
	{"cancelled before it is sent", func(t *testing.T) error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		db := open(t, &fakeDriver{}, config("sqlite"))
		return second(db.ExecContext(ctx, insert, 1, 2))
	}},
	{"no column list", func(t *testing.T) error {
		db := open(t, &fakeDriver{strength: contexts}, config("sqlite"))
		return second(db.Exec("INSERT INTO t VALUES (1)"))
	}},
	{"wrong number of arguments", func(t *testing.T) error {
		db := open(t, &fakeDriver{strength: contexts}, config("sqlite"))
		return second(db.Exec(insert, 1))
	}},
	{"snowflake without a worker", func(*testing.T) error {
		return openError(ofWorker(func(*policy.Source) {}))
	}},
	{"worker's variable not set", func(*testing.T) error {
		return openError(ofWorker(func(s *policy.Source) { s.WorkerEnv = "APP_WORKER" }))
	}},
	{"worker's number taken", func(t *testing.T) error {
		open(t, &fakeDriver{}, flakes(1023))
		return openError(flakes(1023))
	}},
	{"snowflakes have ended", func(*testing.T) error {
		cfg := keyfill.Options{Policy: flakes(1022)}
		cfg.Now = func() time.Time { return time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC) }
		return openError(cfg)
	}},
	{"store's driver not registered", func(*testing.T) error {
		return openError(centralStore(policy.Store{Driver: "nosuchdriver", DSN: "secret"}))
	}},
	{"no consecutive integers", func(t *testing.T) error {
		m, err := keyfill.From(open(t, &fakeDriver{}, config("sqlite")))
		if err != nil {
			return err
		}
		return second(m.Reserve(context.Background(), "t", 1))
	}},
	{"no value in the context", func(t *testing.T) error {
		cfg := sequences("sqlite")
		cfg.Policy.Tables["t"] = policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, Name: "{table}.{value:tenant}"}}
		return keysError(t, context.Background(), cfg, "t", 1)
	}},
	{"table not in the catalog", func(t *testing.T) error {
		cfg := sequences("postgres")
		cfg.Reservers = nil
		d := &fakeDriver{strength: contexts, query: func(query string, _ []driver.NamedValue) (driver.Rows, error) {
			if query == dialect.PostgreSQL().Place.Query {
				return &fakeRows{columns: []string{"x"}, rows: [][]driver.Value{{"{public}"}}}, nil
			}
			return &fakeRows{columns: []string{"x"}}, nil
		}}
		return second(open(t, d, cfg).Exec("INSERT INTO t (a) VALUES (1)"))
	}},
	{"statement reads a count", func(t *testing.T) error {
		cfg := sequences("sqlite")
		cfg.Reservers = nil
		return second(open(t, &fakeDriver{strength: contexts}, cfg).Exec("INSERT INTO t (a) VALUES (changes())"))
	}},
	{"settings that the session does not say", func(t *testing.T) error {
		d := &fakeDriver{strength: contexts}
		answersMode(d, nil, nil)
		return second(open(t, d, config("mysql")).Exec(twoWays))
	}},
	{"setting of another engine", func(*testing.T) error {
		cfg := config("sqlite")
		cfg.StandardConformingStrings = "off"
		return openError(cfg)
	}},
}

func openError[P *policy.Config | keyfill.Options](p P) error {
	return second(keyfill.OpenDB(&fakeConnector{&fakeDriver{}}, optionsOf(p)))
}

func keysError[P *policy.Config | keyfill.Options](t *testing.T, ctx context.Context, cfg P, table string, n int) error {
	t.Helper()
	m, err := keyfill.From(open(t, &fakeDriver{}, cfg))
	if err != nil {
		return err
	}
	return second(m.Keys(ctx, table, n))
}
