package store_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// mariaDBServer asks which server this is.
const mariaDBServer = "SELECT CASE WHEN @@wsrep_on"

// TestServerSwitches: if a statement cannot compare the server, as under
// binlog_format=STATEMENT, MariaDB identifies itself only when it is asked, after the
// UPDATE. If another server has taken over in between, it is not known which of them has
// reserved, and the integers are not handed out.
func TestServerSwitches(t *testing.T) {
	usual := fakedb.EngineAnswers(dialect.MariaDB())
	usual("INSERT INTO keyfill_sequences")
	updates := 0
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		server := fmt.Sprint("server ", min(updates, 1))
		switch {
		case strings.Contains(query, "@@binlog_format"):
			return fakedb.Reply{}
		case strings.HasPrefix(query, "UPDATE keyfill"):
			updates++
			return fakedb.Reply{Affected: 1, ID: int64(42 + 10*updates)}
		case strings.Contains(query, "parameters FROM keyfill_sequences"):
			return fakedb.Reply{Rows: [][]driver.Value{{int64(42), "made", server, "sales.orders", "id", ""}}}
		case strings.HasPrefix(query, mariaDBServer):
			return fakedb.Reply{Rows: [][]driver.Value{{server}}}
		}
		return usual(query)
	}}
	db := store.Pool(dialect.MariaDB(), fakedb.Connector(f, fakedb.Strengths[2].Make))
	defer db.Close()
	got, err := sequence.Reserve(context.Background(), store.New(dialect.MariaDB(), db), fakedb.Orders, 10, 0)
	if want := (keysource.Reservation{First: 52, Server: "made@server 1"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestServerUnheard: a connection that breaks twice while the server is asked for its
// identity is no answer: another query would distinguish fewer servers for the lifetime
// of the store.
func TestServerUnheard(t *testing.T) {
	usual := fakedb.EngineAnswers(dialect.MariaDB())
	usual("INSERT INTO keyfill_sequences")
	broken := 2
	f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
		if strings.HasPrefix(query, mariaDBServer) && broken > 0 {
			broken--
			return fakedb.Reply{Err: io.ErrUnexpectedEOF}
		}
		return usual(query)
	}}
	db := store.Pool(dialect.MariaDB(), fakedb.Connector(f, fakedb.Strengths[2].Make))
	defer db.Close()
	st := store.New(dialect.MariaDB(), db)
	if got, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 10, 0); err == nil {
		t.Errorf("%+v of a server that was not heard", got)
	}
	if got, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 10, 0); err != nil || got.Server != "made@server" {
		t.Errorf("%+v, %v", got, err)
	}
	if log := f.Lines(); strings.Contains(log, "SELECT CONCAT_WS") {
		t.Errorf("the server was asked less:\n%s", log)
	}
}
