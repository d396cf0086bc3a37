package reserver_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
)

// TestRowGoneForTwo: the transaction that has made a row was rolled back, and two statements on
// two connections find that at the same time. Each of them makes it again.
func TestRowGoneForTwo(t *testing.T) {
	var there atomic.Bool
	answer := func(query string) fakedb.Reply {
		row := []driver.Value{int64(11), "made", "", "orders", "id", ""}
		switch {
		case strings.HasPrefix(query, "INSERT"):
			there.Store(true)
			return fakedb.Reply{Affected: 1}
		case !strings.Contains(query, "keyfill_sequences"), strings.Contains(query, "MIN("):
			return fakedb.Reply{Rows: [][]driver.Value{{nil}}}
		case !there.Load():
			return fakedb.Reply{}
		case strings.HasPrefix(query, "UPDATE"):
			return fakedb.Reply{Rows: [][]driver.Value{row[:3]}, Affected: 1}
		}
		return fakedb.Reply{Rows: [][]driver.Value{row}}
	}
	q := fakedb.Orders
	q.Create = true
	d := dialect.SQLite()
	on := func(answer func(string) fakedb.Reply) *store.Store {
		return store.On(d, fakedb.Strengths[2].Make(&fakedb.DB{Answer: answer}))
	}
	rows := reserver.New(on(answer), q)
	if err := rows.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	there.Store(false)

	reserve := func(st *store.Store) error {
		_, err := rows.At(st).Reserve(context.Background(), 10, 0)
		return err
	}
	making, goOn, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	updated := false
	second := reserve(on(func(query string) fakedb.Reply {
		if strings.HasPrefix(query, "UPDATE") && !updated {
			updated = true
			// Meanwhile the other one has found no row, and is about to make one.
			go func() {
				first <- reserve(on(func(query string) fakedb.Reply {
					if strings.HasPrefix(query, "INSERT") {
						close(making)
						<-goOn
					}
					return answer(query)
				}))
			}()
			<-making
		}
		return answer(query)
	}))
	close(goOn)
	if err := <-first; err != nil || second != nil {
		t.Errorf("%v, and %v", err, second)
	}
}
