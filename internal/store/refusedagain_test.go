package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestJudge: only what the engine refuses again, while it answers to something
// else, is a state that cannot be used. A connection that broke, in whatever
// words the driver says so, is a store that is asked again.
func TestJudge(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
	for _, c := range []struct {
		name    string
		fails   []error // the queries of a part of the text, one after the other; the last one stays
		refused bool
	}{
		{"refused", []error{fakedb.ErrRefused}, true},
		{"refused once", []error{fakedb.ErrRefused, nil}, false},
		{"reset", []error{reset, nil}, false},
		{"reset each time", []error{reset}, false},
		{"refused, then reset", []error{fakedb.ErrRefused, reset}, false},
		{"ended", []error{io.EOF}, false},
		{"broken in MySQL's words", []error{errors.New("invalid connection")}, false},
		{"ended in a message", []error{io.ErrUnexpectedEOF}, false},
		{"bad connection", []error{errors.Join(fakedb.ErrRefused, driver.ErrBadConn)}, false},
	} {
		for _, q := range []struct {
			name, part string
			meaning    error
			ask        func(*store.Store) error
		}{
			{"rows", "FROM keyfill_sequences", store.ErrTables, func(s *store.Store) error {
				_, err := reserver.New(s, fakedb.Orders).Reserve(context.Background(), 1, 0)
				return err
			}},
			{"greatest key", "MAX(", store.ErrColumn, func(s *store.Store) error {
				_, err := keycolumn.Of(s, fakedb.Orders.Columns[0]).MaxKey(context.Background())
				return err
			}},
			{"workers", "FROM keyfill_workers", store.ErrTables, func(s *store.Store) error {
				_, err := worker.New(s, worker.Worker{Name: "flakes"}).Mark(context.Background(), 1)
				return err
			}},
		} {
			t.Run(c.name+"/"+q.name, func(t *testing.T) {
				fails := c.fails
				f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
					if strings.Contains(query, "k.greatest") {
						return fakedb.Reply{Err: fakedb.ErrRefused} // then the questions come one by one
					}
					if !strings.Contains(query, q.part) {
						return fakedb.Reply{Rows: [][]driver.Value{{int64(0), "", ""}}}
					}
					err := fails[0]
					fails = fails[min(1, len(fails)-1):]
					return fakedb.Reply{Err: err, Rows: [][]driver.Value{{int64(1), "", "", "orders", "id", ""}}}
				}}
				err := q.ask(fakedb.Pooled(t, dialect.PostgreSQL(), f))
				if err == nil {
					t.Fatal("no error")
				}
				if errors.Is(err, q.meaning) != c.refused || errors.Is(err, keysource.ErrStoreState) != c.refused {
					t.Errorf("%v: a refusal %v, want %v", err, !c.refused, c.refused)
				}
			})
		}
	}
}
