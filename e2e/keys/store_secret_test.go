package keys_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/policy"
)

// secretShapes are DSNs with % instead of the password, by driver. Nothing listens where
// they point to.
var secretShapes = map[string][]string{
	"mysql": {
		"u:%@tcp(127.0.0.1:1)/db", "u:%@tcp(127.0.0.1:1", "u:%@127.0.0.1:1/db", "mysql://u:%@127.0.0.1:1/db", "u:%@tcp(127.0.0.1:1)/db?parseTime=%",
		"u:%@nosuchnet(127.0.0.1:1)/db", "%", "%@/", "%@tcp(127.0.0.1:1)/%", "u:%@tcp(127.0.0.1:1)/db?tls=%",
	},
	"pgx": {
		"postgres://u:%@127.0.0.1:1/db", "postgres://u:%@127.0.0.1:x/db", "postgres://u:%@127.0.0.1:1/db?sslmode=%", "postgres://%", "postgres://127.0.0.1:1/db?password=%&x=%zz",
		"host=127.0.0.1 port=1 user=u password=% dbname=db", "host=127.0.0.1 port=1 user=u password='% dbname=db", "host=127.0.0.1 port=x user=u password=%", "password=% host", "%",
		"host=127.0.0.1 port=1 connect_timeout=% user=u", "postgres://u:%@127.0.0.1:1/db?pool_max_conns=%&default_query_exec_mode=%",
	},
	"sqlserver": {
		"sqlserver://u:%@127.0.0.1:1?database=db", "sqlserver://u:%@127.0.0.1:x?database=db", "server=127.0.0.1;port=1;user id=u;password=%;dial timeout=1", "server=127.0.0.1;port=x;user id=u;password=%",
		"odbc:server={127.0.0.1};user id=u;password={%", "sqlserver://u:pw@127.0.0.1:1?encrypt=%", "%", "u:%@tcp(127.0.0.1:1)/db",
	},
	"oracle": {
		"oracle://u:%@127.0.0.1:1/db", "oracle://u:%@127.0.0.1:x/db", "oracle://u:%@", "%", "u/%@127.0.0.1:1/db", "oracle://u:pw@127.0.0.1:1/db?TIMEOUT=%",
	},
	"sqlite":  {"file:/nosuchfolder/%/x.db", "file:/nosuchfolder/x.db?_pragma=%"},
	"sqlite3": {"file:/nosuchfolder/%/x.db", "file:/nosuchfolder/x.db?_auth_pass=%"},
}

func init() { secretShapes["postgres"] = secretShapes["pgx"] }

// secretParts is what no error may hold of a password, whatever stands between.
var secretParts = []string{"s3c", "r3tPw"}

// TestStoreSecrets: whatever a driver says of a DSN, nothing that could be its
// password is in an error of keyfill.
func TestStoreSecrets(t *testing.T) {
	t.Parallel()
	dialects := map[string]*dialect.Dialect{
		"mysql": dialect.MySQL(), "pgx": dialect.PostgreSQL(), "postgres": dialect.PostgreSQL(), "sqlserver": dialect.SQLServer(),
		"oracle": dialect.Oracle(), "sqlite": dialect.SQLite(), "sqlite3": dialect.SQLite(),
	}
	own := harness.ConnectorOf(t, "sqlite", "file::memory:")
	for name, shapes := range secretShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := 0
			for _, shape := range shapes {
				for _, between := range []string{"", "%", "%zz", " ", "/", "@", ":", "'", `"`, "#", "?", ";", `\`, "&", "=", "[", "]", "(", ")", "+", "%20", "\n"} {
					dsn := strings.ReplaceAll(strings.ReplaceAll(shape, "%zz", "\x00"), "%", secretParts[0]+between+secretParts[1])
					dsn = strings.ReplaceAll(dsn, "\x00", "%zz")
					db, err := keyfill.OpenDB(own, keyfill.Options{Policy: &policy.Config{
						Stores:  map[string]policy.Store{"central": {Driver: name, DSN: dsn}},
						Sources: map[string]policy.Source{"numbers": {Kind: policy.KindSequence, Store: "central", EnsureSchema: true}},
						Tables:  map[string]policy.Table{"t": {Column: "id", Source: "numbers"}},
					}})
					if err != nil {
						refused++
						noSecret(t, dsn, err)
						continue
					}
					db.Close()
					noSecret(t, dsn, connectStore(t, dialects[name], name, dsn))
				}
			}
			if refused == 0 && !strings.HasPrefix(name, "sqlite") {
				t.Error("no DSN is refused when the database is opened")
			}
		})
	}
}

// connectStore returns the error of a store that connects by a DSN.
func connectStore(t *testing.T, d *dialect.Dialect, driver, dsn string) error {
	t.Helper()
	pool := store.Pool(d, harness.ConnectorOf(t, driver, dsn))
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := reserver.New(store.New(d, pool), sequence.Sequence{Name: "n", Shared: true, Made: sequence.MadeRow{Start: 1}}).Reserve(ctx, 1, 0)
	if err == nil {
		t.Errorf("the store of %q has answered", driver)
	}
	return err
}

// noSecret reports an error with a part of the password, in its text or in an error that
// it wraps.
func noSecret(t *testing.T, dsn string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, part := range secretParts {
		if strings.Contains(err.Error(), part) {
			t.Errorf("the DSN %q: %v", dsn, err)
			return
		}
	}
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		noSecret(t, dsn, u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			noSecret(t, dsn, e)
		}
	}
}

// TestStoreDSNAtOpen: a DSN that its driver cannot read is an error of sql.Open, and one
// that it can is none, though no server answers.
func TestStoreDSNAtOpen(t *testing.T) {
	own := harness.ConnectorOf(t, "sqlite", "file::memory:")
	for _, c := range []struct {
		driver, dsn string
		reads       bool
	}{
		{"mysql", "u:pw@tcp(127.0.0.1:1)/db", true},
		{"mysql", "u:pw@tcp(127.0.0.1:1)", false},
		{"pgx", "postgres://u:pw@127.0.0.1:1/db", true},
		{"pgx", "host=127.0.0.1 port=1 user=u password='p w' dbname=db", true},
		{"pgx", "", true},
		{"pgx", "postgres://u:p%zw@127.0.0.1:1/db", false},
		{"pgx", "host=127.0.0.1 password='pw", false},
		{"pgx", "postgres://u:pw@127.0.0.1:1/db?sslmode=nonsense", false},
		{"postgres", "postgres://u:pw@127.0.0.1:1/db", true},
		{"postgres", "host=127.0.0.1 port=1 user=u password='p w' dbname = db", true},
		{"postgres", `host=127.0.0.1 password=p\ w`, true},
		{"postgres", "", true},
		{"postgres", "postgres://u:p%zw@127.0.0.1:1/db", false},
		{"postgres", "host=127.0.0.1 password='pw", false},
		{"postgres", "host=127.0.0.1 password", false},
		{"sqlserver", "sqlserver://u:pw@127.0.0.1:1?database=db", true},
		{"sqlserver", "sqlserver://u:p%zw@127.0.0.1:1?database=db", false},
		{"oracle", "oracle://u:pw@127.0.0.1:1/db", true},
		{"oracle", "oracle://u:p%zw@127.0.0.1:1/db", false},
	} {
		db, err := keyfill.OpenDB(own, keyfill.Options{Policy: &policy.Config{
			Stores:  map[string]policy.Store{"central": {Driver: c.driver, DSN: c.dsn, DSNEnv: emptyDSN(t, c.dsn)}},
			Sources: map[string]policy.Source{"numbers": {Kind: policy.KindSequence, Store: "central"}},
			Tables:  map[string]policy.Table{"t": {Column: "id", Source: "numbers"}},
		}})
		if err == nil {
			db.Close()
		}
		if (err == nil) != c.reads {
			t.Errorf("%s: %q: %v", c.driver, c.dsn, err)
		}
	}
}

// TestStoreDSNCheckAgrees: what lib/pq cannot read, and nothing else, is refused
// before it connects.
func TestStoreDSNCheckAgrees(t *testing.T) {
	t.Parallel()
	own := harness.ConnectorOf(t, "sqlite", "file::memory:")
	for _, dsn := range []string{
		"host=127.0.0.1 port=1", "host = 127.0.0.1 port =1", "host='127.0.0.1'port=1", " host=127.0.0.1  port=1 ", "host=127.0.0.1 port=1 password=", "host=127.0.0.1 port=1 password=''",
		"host=127.0.0.1 port=1 password='a\\'b'", "host=127.0.0.1 port=1 password=a'b", "host=127.0.0.1 port=1 password='a", "host=127.0.0.1 port=1 password=a\\", "host", "=x", "host=127.0.0.1 port=1 a b=c",
		"postgresql://127.0.0.1:1/x", "postgres://u:p@127.0.0.1:1/%", "postgres://u:p@[::1/x",
	} {
		cfg := &policy.Config{
			Stores:  map[string]policy.Store{"central": {Driver: "postgres", DSN: dsn}},
			Sources: map[string]policy.Source{"numbers": {Kind: policy.KindSequence, Store: "central"}},
			Tables:  map[string]policy.Table{"t": {Column: "id", Source: "numbers"}},
		}
		db, err := keyfill.OpenDB(own, keyfill.Options{Policy: cfg})
		if err == nil {
			db.Close()
		}
		plain, openErr := sql.Open("postgres", dsn)
		if openErr == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			openErr = plain.PingContext(ctx)
			cancel()
			plain.Close()
		}
		// Where it was read, nothing listens.
		if read := strings.Contains(openErr.Error(), "refused"); read != (err == nil) {
			t.Errorf("%q: lib/pq says %v, and keyfill %v", dsn, openErr, err)
		}
	}
}

// emptyDSN returns the name of a variable for a DSN that is empty, which a driver takes
// for its defaults; empty for others.
func emptyDSN(t *testing.T, dsn string) string {
	if dsn != "" {
		return ""
	}
	t.Setenv("KEYFILL_TEST_BLANK_DSN", " ")
	return "KEYFILL_TEST_BLANK_DSN"
}
