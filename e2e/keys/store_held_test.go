package keys_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestStoreHeld: where a limit of the user leaves no connection for keyfill while
// transactions keep all of them, the error at the end of store_wait names that cause
// too; and where one is left again before that, the INSERT succeeds.
func TestStoreHeld(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		for _, q := range store.DDL(s.Dialect) {
			harness.Exec(t, s.Raw, q)
		}
		t.Run("in vain", func(t *testing.T) {
			var err error
			// Where the server had no time to refuse a connection, it gets more.
			for wait := 300 * time.Millisecond; wait < 2*time.Minute; wait *= 4 {
				err = insertHeld(t, s, wait, false)
				if !errors.Is(err, keysource.ErrStoreDown) || strings.Contains(err.Error(), "no further connection") {
					break
				}
			}
			if !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(err.Error(), "transaction keeps the connection") ||
				!strings.Contains(err.Error(), "no further connection") {
				t.Errorf("%v", err)
			}
		})
		t.Run("until one is free", func(t *testing.T) {
			if err := insertHeld(t, s, time.Minute, true); err != nil {
				t.Errorf("a connection was free: %v", err)
			}
		})
	})
}

// insertHeld inserts in a transaction of a user who has no connection left, or who has one
// again meanwhile, and returns the error of the INSERT.
func insertHeld(t *testing.T, s *harness.Scratch, wait time.Duration, frees bool) error {
	t.Helper()
	cfg := harness.FillID("t", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}})
	cfg.StoreWait = wait
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, s.Driver, limitedUser(t, s, 2)), cfg)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	other := harness.ConnOf(t, db)
	if err := other.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	done := make(chan error, 1)
	go func() {
		_, err := tx.Exec(s.Placeholders("INSERT INTO t (a) VALUES (?)"), 1)
		done <- err
	}()
	if frees {
		other.Close()
	}
	return <-done
}

// limitedUser returns the DSN of a user of its own, who may have so many connections.
func limitedUser(t *testing.T, s *harness.Scratch, connections int) string {
	t.Helper()
	user := "lim" + strings.ToLower(rand.Text()[:10])
	if s.IsPostgres() {
		harness.Must(t, s.Raw, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD 'pw' CONNECTION LIMIT %d", user, connections),
			"GRANT ALL ON ALL TABLES IN SCHEMA public TO "+user)
		t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP OWNED BY "+user); harness.Exec(t, s.Raw, "DROP ROLE "+user) })
		var database string
		if err := s.Raw.QueryRow("SELECT current_database()").Scan(&database); err != nil {
			t.Fatal(err)
		}
		u := url.URL{Scheme: "postgres", User: url.UserPassword(user, "pw"), Host: s.Server.Addr(), Path: database, RawQuery: "sslmode=disable"}
		return u.String()
	}
	var database string
	if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&database); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, s.Raw, fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS %d", user, connections),
		fmt.Sprintf("GRANT ALL ON %s.* TO %s@'%%'", database, user))
	t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP USER "+user+"@'%'") })
	return fmt.Sprintf("%s:pw@tcp(%s)/%s", user, s.Server.Addr(), database)
}
