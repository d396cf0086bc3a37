package keys_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestMainDSNSecrets: the DSN of the application's own database is the driver's affair.
// What that says of it comes back word for word; keyfill puts no part of the password
// into a text of its own, nor into its log.
func TestMainDSNSecrets(t *testing.T) {
	t.Parallel()
	for name, shapes := range secretShapes {
		if strings.HasPrefix(name, "sqlite") {
			continue // it has no password, and a file that is not there is no error of sql.Open
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			own := name + "-main-secrets-keyfill"
			if _, err := keyfill.RegisterByName(own, name, keyfill.Options{
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Policy: &policy.Config{StoreWait: 50 * time.Millisecond, Tables: map[string]policy.Table{
					"t": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Create: new(true)}},
				}},
			}); err != nil {
				t.Fatal(err)
			}
			opened := 0
			for _, shape := range shapes {
				if !strings.Contains(shape, "127.0.0.1") {
					continue // the password may be taken for the name of a host
				}
				for _, between := range []string{"", "%zz", "@", "/", "'", "?", " "} {
					dsn := strings.ReplaceAll(strings.ReplaceAll(shape, "%zz", "\x00"), "%", secretParts[0]+between+secretParts[1])
					dsn = strings.ReplaceAll(dsn, "\x00", "%zz")
					errs, plain := failures(name, own, dsn)
					opened += len(errs)
					for i, err := range errs {
						if err == nil || err.Error() != plain[i] {
							noSecret(t, dsn, err)
						}
					}
				}
			}
			if opened == 0 {
				t.Error("nothing was tried")
			}
			for _, part := range secretParts {
				if strings.Contains(log.String(), part) {
					t.Errorf("the log has %q", part)
				}
			}
		})
	}
}

// failures are the errors of opening a database, and of what is sent to it, through
// keyfill, and the texts of the same through the plain driver.
func failures(plainName, name, dsn string) (errs []error, plain []string) {
	do := func(name string) (all []error) {
		db, err := sql.Open(name, dsn)
		if err != nil {
			return []error{err}
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		all = append(all, db.PingContext(ctx))
		_, err = db.ExecContext(ctx, "INSERT INTO t (a) VALUES (1)")
		all = append(all, err)
		_, err = db.PrepareContext(ctx, "INSERT INTO t (a) VALUES (1)")
		return append(all, err)
	}
	errs = do(name)
	for _, err := range do(plainName) {
		plain = append(plain, fmt.Sprint(err))
	}
	for len(plain) < len(errs) {
		plain = append(plain, "")
	}
	return errs, plain
}

// tellsAll is a connector whose driver puts its DSN into the error of each connection but
// the first one.
type tellsAll struct {
	driver.Connector
	times *atomic.Int64
}

func (c tellsAll) Connect(ctx context.Context) (driver.Conn, error) {
	if c.times.Add(1) > 1 {
		return nil, errors.New("cannot connect to db://u:" + secretParts[0] + secretParts[1] + "@host/db")
	}
	return c.Connector.Connect(ctx)
}

// TestMainDriverTells: a driver that puts its DSN into an error of a connection of
// keyfill's own is not quoted.
func TestMainDriverTells(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		var log bytes.Buffer
		cfg := harness.InPlace(harness.Counted(nil))
		cfg.Dialect, cfg.StoreWait = s.Dialect.Name, 100*time.Millisecond
		c := tellsAll{s.Connector, new(atomic.Int64)}
		db, err := keyfill.OpenDB(c, keyfill.Options{Policy: cfg, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		_, err = db.Exec(harness.InsertT)
		if err == nil {
			t.Error("no error")
		}
		noSecret(t, "of the connector", err)
		if strings.Contains(log.String(), secretParts[0]) {
			t.Errorf("the log: %s", log.String())
		}
	})
}
