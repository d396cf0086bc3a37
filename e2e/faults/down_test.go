package faults_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// foundBack bounds the time in which a source has to find a store back that refused, and
// foundBackSlack the time that a busy machine may take beyond that: a source that does
// not look again is later than both.
const (
	foundBack      = 2 * time.Second
	foundBackSlack = 2 * time.Minute
)

// TestFaultStoreDown: the store of another server is stopped, or killed. Rows
// are inserted while what is reserved lasts; then the error says so, and once
// the store is back they are again, soon.
//
//deviation:integer-keys | A store that does not answer is an error of keyfill once the reserved numbers are used up, after ten seconds. | all | `errors.Is(err, keysource.ErrStoreDown)` | `store_wait:`
func TestFaultStoreDown(t *testing.T) {
	t.Parallel()
	sequence, begun, flake := faultSequence, faultSequence, faultSnowflake
	sequence.Block, flake.Worker = 20, new(7)
	begun.Block, begun.Start = 20, 1 // on SQLite another database's keys are not compared
	stop, kill := (*testdb.Server).Stop, (*testdb.Server).Kill
	for store, cases := range map[*harness.Engine][]struct {
		name   string
		app    harness.Engine
		source policy.Source
		end    func(*testdb.Server, testing.TB)
	}{
		&harness.PgxDefault: {
			{"sequence stopped", harness.MySQLDefault, sequence, stop},
			{"sequence killed", harness.SQLiteFile, begun, kill},
			{"snowflake killed", harness.MySQLDefault, flake, kill},
		},
		&harness.MySQLDefault: {
			{"sequence stopped", harness.SQLiteFile, begun, stop},
			{"sequence killed", harness.PgxDefault, sequence, kill},
			{"snowflake stopped", harness.PQDefault, flake, stop},
		},
	} {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			central := ownServer(t, *store)
			for _, c := range testturn.Some(t, cases, 2) {
				t.Run(c.app.Name+"/"+c.name, func(t *testing.T) {
					storeDown(t, c.app, central, c.source, c.end)
				})
			}
		})
	}
}

func storeDown(t *testing.T, app, central harness.Engine, source policy.Source, end func(*testdb.Server, testing.TB)) {
	s := app.Scratch(t)
	for _, query := range bulkTable {
		harness.Exec(t, s.Raw, query)
	}
	source.Store = "central"
	cfg := harness.FillID("t", policy.Table{InPlace: &source})
	dsn := central.DSN(t)
	cfg.Stores = map[string]policy.Store{"central": {Driver: central.Driver, DSN: dsn}}
	cfg.StoreWait = 2 * time.Second // so that the error comes soon, and always from the source
	options := keyfill.Options{Policy: cfg}
	// A snowflake has reserved some seconds, which must not pass while the server ends: its
	// clock stands until there are five rows more.
	var goes atomic.Bool
	if opened := time.Now(); source.Kind == policy.KindSnowflake {
		options.Now = func() time.Time {
			if goes.Load() {
				return time.Now()
			}
			return opened
		}
	}
	db, _ := s.OpenWith(t, options)
	in := newInserter(s.Engine, db, 1)
	for in.stored < 5 {
		harness.Eventually(t, func() error { return in.insert(jobPatience) })
	}
	end(central.Server, t)
	began := time.Now()
	var err error
	// A row that the application's database is slow with counts; where it does not even say
	// in time what its table looks like, the store is not what is down.
	for (err == nil || strings.Contains(err.Error(), "the catalog cannot be read")) && time.Since(began) < jobPatience {
		err = in.insert(jobPatience)
		goes.Store(in.stored >= 10)
	}
	held := in.stored - 5
	if !errors.Is(err, keysource.ErrStoreDown) || errors.Is(err, driver.ErrBadConn) {
		t.Errorf("while the store is down: %v, want ErrStoreDown", err)
	}
	if held < 5 || source.Block > 0 && (held < 15 || held > 35) {
		t.Errorf("%d rows while the store was down", held)
	}
	back := make(chan time.Time, 1)
	go func() { back <- answers(central.Driver, dsn) }()
	recovered := make(chan time.Time, 1)
	go func() {
		for in.insert(jobPatience) != nil && time.Since(began) < 3*jobPatience {
			time.Sleep(time.Millisecond)
		}
		recovered <- time.Now()
	}()
	central.Server.Restart(t)
	there, done := <-back, <-recovered
	took := done.Sub(there)
	t.Logf("%d rows after the store was gone; the first one %v after it was back", held, took.Round(time.Millisecond))
	if took > foundBack+foundBackSlack {
		t.Errorf("rows %v after the store was back, want %v", took, foundBack)
	}
	wantDistinct(t, s, in.form, in.stored)
}

// answers returns when a server has answered, which is asked often.
func answers(driver, dsn string) time.Time {
	for range 10_000 {
		if db, err := sql.Open(driver, dsn); err == nil {
			err = db.Ping()
			db.Close()
			if err == nil {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Now()
}
