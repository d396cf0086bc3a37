package keys_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/keysource"
)

// full is the answer of a PostgreSQL that has no connection left.
type full struct{}

func (full) Error() string    { return "sorry, too many clients already" }
func (full) SQLState() string { return "53300" }

// TestAskCatalogTimeUp: a try that the end of the wait cuts off does not hide what the
// server has answered before.
func TestAskCatalogTimeUp(t *testing.T) {
	asked := 0
	err := keys.AskCatalog(t.Context(), dialect.PostgreSQL(), 50*time.Millisecond, nil, nil, func(ctx context.Context, _ catalog.Querier) error {
		if asked++; asked == 1 {
			return full{}
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(err.Error(), "too many clients") {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// silent is a connector of a server that does not answer.
type silent struct{}

func (silent) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Driver() driver.Driver { return nil }

// TestCatalogTurns: of several INSERTs that need the catalog of a server which does not
// answer, each waits for store_wait, and not for the waits of others besides.
func TestCatalogTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 2 * time.Second
		db := tablesOf(t, numbered+"store_wait: 2s\n")
		if err := db.OpenStores(db.Config(), silent{}); err != nil {
			t.Fatal(err)
		}
		p, _, _ := planned(t, db, "INSERT INTO orders (a) VALUES (1)", nil)
		table := table.Of(&p.Inserts[0])
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / 2)
				began := time.Now()
				if _, err := db.Facts(t.Context(), nil, table); !errors.Is(err, keysource.ErrStoreDown) {
					t.Errorf("INSERT %d: %v", i, err)
				}
				if took := time.Since(began); took != wait {
					t.Errorf("INSERT %d waited for %v, want %v", i, took, wait)
				}
			})
		}
		wg.Wait()
		if err := db.CloseStores(); err != nil {
			t.Error(err)
		}
	})
}
