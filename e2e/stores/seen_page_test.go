package stores_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testbrowser"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillhttp"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// awaitFinding does something until the page has a finding about a subject, and returns it.
func awaitFinding(t *testing.T, m *keyfill.Mount, subject, part string, do func()) keyfillhttp.Finding {
	t.Helper()
	for began := time.Now(); time.Since(began) < harness.Limit; time.Sleep(10 * time.Millisecond) {
		for _, f := range keyfillhttp.NewReport(m).Attention {
			if f.Subject == subject && strings.Contains(f.Text, part) {
				return f
			}
		}
		do()
	}
	t.Fatalf("the page does not tell %q of %s, but %+v", part, subject, keyfillhttp.NewReport(m).Attention)
	return keyfillhttp.Finding{}
}

// TestPageStoreDown: the page shows that a store is stopped, and no more when it is back.
// A browser shows it.
func TestPageStoreDown(t *testing.T) {
	t.Parallel()
	central := harness.PgxDefault
	central.Server = testdb.Start(t, testdb.PostgreSQL())
	s := harness.MySQLDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	cfg := harness.InPlace(policy.Source{Kind: policy.KindSequence, Block: 5, Store: "central", EnsureSchema: true, Create: new(true), OnBehind: keysource.RemedyAdvance})
	dsn := central.DSN(t)
	cfg.Stores = map[string]policy.Store{"central": {Driver: central.Driver, DSN: dsn}}
	cfg.StoreWait = 300 * time.Millisecond
	db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: new(lines).logger()})
	insert := func() { _, _ = db.Exec(harness.InsertT) }
	for began := time.Now(); len(keyfillhttp.NewReport(m).Tables) == 0 && time.Since(began) < harness.Limit; {
		insert()
	}
	server := httptest.NewServer(keyfillhttp.Handler(m))
	defer server.Close()
	browser := testbrowser.Start(t)
	verdict := func() (text string) {
		page := browser.Open(t, server.URL, testbrowser.View{Width: 390, Height: 844, Phone: true})
		page.Eval(t, "document.querySelector('.verdict').textContent", &text)
		return text
	}
	if got := verdict(); got != "Nothing needs attention" && isWell(m) {
		t.Errorf("the page says %q while all is well: %+v", got, keyfillhttp.NewReport(m).Attention)
	}

	central.Server.Stop(t)
	if f := awaitFinding(t, m, "source t.id", "last fetch failed", insert); f.Severity != "bad" {
		t.Errorf("the finding is %+v, want a bad one", f)
	}
	failedOnce(t, db)
	awaitFinding(t, m, "table t", "got no key: store", insert)
	if got := verdict(); got == "Nothing needs attention" {
		t.Error("the page says that all is well without a store")
	}
	for _, form := range []string{"html", "json"} {
		if secret := secretOf(t, server.URL+"?format="+form, dsn); secret != "" {
			t.Errorf("the page as %s shows %q of the DSN", form, secret)
		}
	}

	central.Server.Restart(t)
	for began := time.Now(); ; insert() {
		bad := 0
		for _, f := range keyfillhttp.NewReport(m).Attention {
			if f.Severity == "bad" {
				bad++
			}
		}
		if bad == 0 {
			break
		}
		if time.Since(began) > harness.Limit {
			t.Fatalf("the page goes on to tell of %+v", keyfillhttp.NewReport(m).Attention)
		}
	}
	if f := awaitFinding(t, m, "table t", "It is over", insert); f.Severity != "warn" {
		t.Errorf("what is over is the finding %+v, want a warning", f)
	}
}

// secretOf returns the part of a DSN that a page shows, which may be empty.
func secretOf(t *testing.T, address, dsn string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) < 100 {
		t.Fatalf("the page is %q", text)
	}
	for _, part := range []string{dsn, "postgres://", "password", "sslmode"} {
		if strings.Contains(string(text), part) {
			return part
		}
	}
	return ""
}

// TestPageLeases: the page shows a lease that another process has taken, and not one that
// has run out in an idle process.
func TestPageLeases(t *testing.T) {
	t.Parallel()
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.InPlace(policy.Source{Kind: policy.KindRecycled, Block: 2, Series: 1000, Lease: time.Second, EnsureSchema: true, Create: new(true)})
		db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: new(lines).logger()})
		harness.Exec(t, db, harness.InsertT)
		for began := time.Now(); m.Sources()[0].LeaseHeld; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > harness.Limit {
				t.Fatalf("the lease does not run out: %+v", m.Sources())
			}
		}
		if found := keyfillhttp.NewReport(m).Attention; len(found) > 0 {
			t.Errorf("an idle process has the findings %+v", found)
		}

		harness.Exec(t, s.Raw, "UPDATE keyfill_series SET owner = 'thief', epoch = epoch + 1, leased_until = '2999-01-01'")
		f := awaitFinding(t, m, "source t.id", "Another process had taken the lease: once", func() { _, _ = db.Exec(harness.InsertT) })
		if f.Severity != "warn" || !strings.Contains(f.Text, "once, last ") {
			t.Errorf("the finding is %+v, want a warning with a time: there is a lease again", f)
		}
		if lost := m.Sources()[0].LeasesLost; lost != 1 {
			t.Errorf("%d leases are counted as lost, want 1", lost)
		}
	})
}

// TestPagePolicy: the page shows an entry with a typo, a statement that is refused, and a
// source near its end, and no tables that the policy leaves alone.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id VARCHAR(36) DEFAULT 'x', a INT)")
		harness.Exec(t, s.Raw, "CREATE TABLE n (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		cfg, err := policy.Parse([]byte(`version: 1
tables:
  t: {column: id, source: ulid}
  n: {column: id, max_bits: 31, source: {kind: sequence, start: 2147483000, block: 10, ensure_schema: true}}
  ordres: {column: id, source: uuidv4}
  made: {column: id, source: identity}
  still: {column: id, mode: off}
`))
		if err != nil {
			t.Fatal(err)
		}
		db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: new(lines).logger()})
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for range 999 {
			if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
				t.Fatal(err)
			}
		}
		if found := keyfillhttp.NewReport(m).Attention; len(found) > 0 {
			t.Errorf("after 999 INSERTs there are the findings %+v", found)
		}
		if _, err := tx.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		awaitFinding(t, m, "entry ordres", "for this entry", func() {})
		for _, f := range keyfillhttp.NewReport(m).Attention {
			if f.Subject == "entry made" {
				t.Errorf("a table of the engine's own keys has the finding %+v", f)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO t (a) SELECT a, a FROM t"); err == nil {
			t.Error("a value without a column is stored")
		}
		awaitFinding(t, m, "table t", "1 INSERT could not be filled: column_count", func() {})
		// Some numbers on it is near its end, and then there.
		awaitFinding(t, m, "source n.id", "", func() { _, _ = db.Exec("INSERT INTO n (a) VALUES (1)") })
	})
}
