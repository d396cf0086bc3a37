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
	"github.com/keyfill/keyfill/internal/store/keycolumn"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
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
		{"refused", []error{errRefused}, true},
		{"refused once", []error{errRefused, nil}, false},
		{"reset", []error{reset, nil}, false},
		{"reset each time", []error{reset}, false},
		{"refused, then reset", []error{errRefused, reset}, false},
		{"ended", []error{io.EOF}, false},
		{"broken in MySQL's words", []error{errors.New("invalid connection")}, false},
		{"ended in a message", []error{io.ErrUnexpectedEOF}, false},
		{"bad connection", []error{errors.Join(errRefused, driver.ErrBadConn)}, false},
	} {
		for _, q := range []struct {
			name, part string
			meaning    error
			ask        func(*store.Store) error
		}{
			{"rows", "FROM keyfill_sequences", store.ErrTables, func(s *store.Store) error {
				_, err := reserver.New(s, orders).Reserve(context.Background(), 1, 0)
				return err
			}},
			{"greatest key", "MAX(", store.ErrColumn, func(s *store.Store) error {
				_, err := keycolumn.Of(s, orders.Columns[0]).MaxKey(context.Background())
				return err
			}},
			{"workers", "FROM keyfill_workers", store.ErrTables, func(s *store.Store) error {
				_, err := worker.New(s, worker.Worker{Name: "flakes"}).Mark(context.Background(), 1)
				return err
			}},
		} {
			t.Run(c.name+"/"+q.name, func(t *testing.T) {
				fails := c.fails
				f := &fake{answer: func(query string) reply {
					if strings.Contains(query, "k.greatest") {
						return reply{err: errRefused} // then the questions come one by one
					}
					if !strings.Contains(query, q.part) {
						return reply{rows: [][]driver.Value{{int64(0), "", ""}}}
					}
					err := fails[0]
					fails = fails[min(1, len(fails)-1):]
					return reply{err: err, rows: [][]driver.Value{{int64(1), "", "", "orders", "id", ""}}}
				}}
				err := q.ask(pooled(t, dialect.PostgreSQL(), f))
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

// TestSchemaUnknown: a refusal to create a table says nothing where it is not known whether
// the table is there by now.
func TestSchemaUnknown(t *testing.T) {
	created := false
	f := &fake{answer: func(query string) reply {
		switch {
		case !strings.Contains(query, "keyfill_"):
			return reply{}
		case strings.Contains(query, "CREATE"):
			created = true
			return reply{err: errRefused}
		case created:
			return reply{err: context.DeadlineExceeded}
		}
		return reply{err: errRefused}
	}}
	err := schema.Of(pooled(t, dialect.MySQL(), f)).Ensure(context.Background())
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("%v, want that the time is up", err)
	}
}

// TestSchemaCut: keyfill_series may stay missing where creating it is refused, not
// where the connection broke.
func TestSchemaCut(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool // an error
	}{
		{"refused", errRefused, false},
		{"cut", errors.New("invalid connection"), true},
		{"out of time", context.DeadlineExceeded, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{answer: func(query string) reply {
				switch {
				case !strings.Contains(query, "keyfill_series"):
					return reply{}
				case strings.Contains(query, "CREATE"):
					return reply{err: c.err}
				}
				return reply{err: errRefused}
			}}
			if err := schema.Of(pooled(t, dialect.MySQL(), f)).Ensure(context.Background()); (err != nil) != c.want {
				t.Errorf("%v", err)
			}
		})
	}
}
