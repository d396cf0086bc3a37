package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// batchPrograms is how many programs one handle of each database serves at length, one
// after the other: what keyfill knows of a connection, a table and a numbering outlives
// the program in which it came to know it, as in an application. Each batch has new
// handles.
const batchPrograms = 20

// open opens the handles of a batch.
func (w *twin) open(ctx context.Context) error {
	made := w.dirty
	w.forgot = false
	plain, filled := w.plain, w.filled
	if w.Server == nil {
		made = true
		plain, filled = w.inMemory(true), w.inMemory(false)
	} else if w.dirty {
		if err := w.setUp(ctx); err != nil {
			return err
		}
	}
	w.dirty = false
	w.handles[0] = sql.OpenDB(plain)
	db, err := keyfill.OpenDB(filled, keyfill.Options{Policy: w.cfg})
	if err != nil {
		return err
	}
	w.handles[1] = db
	if !made {
		return nil
	}
	// The tables of keyfill's states, and the rows of numberings that belong to the INSERT's
	// transaction, are made before the program begins: one that is older does not see them.
	for i, db := range w.handles {
		for _, schema := range w.qualifiers(i, w.Server != nil) {
			for _, table := range []string{"j", "joined"} {
				for _, text := range []string{"INSERT INTO " + schema + table + " (tag) VALUES (0)", "DELETE FROM " + schema + table + " WHERE tag = 0"} {
					if _, err := db.ExecContext(ctx, text); err != nil {
						return fmt.Errorf("%s: %w", text, err)
					}
				}
			}
		}
	}
	return nil
}

// close closes the handles of a batch.
func (w *twin) close() {
	for i, db := range w.handles {
		if db != nil {
			db.Close()
		}
		w.handles[i] = nil
	}
}

// run runs one program on open handles and leaves the tables empty. It reports whether
// the handles can serve another one.
func (w *twin) run(t testing.TB, number string, input []byte) bool {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Limit)
	defer cancel()
	r := &storedRun{t: t, twin: w, number: number, input: input, ctx: ctx, touched: map[string]bool{}, altered: map[string]bool{}, had: stored{}}
	w.ran++
	if err := r.begin(); err != nil {
		r.finding("%v", err)
	} else {
		r.program()
	}
	r.end()
	w.failed = r.failed
	if w.Server == nil {
		return false
	}
	if r.failed {
		w.dirty = true
		return false
	}
	if err := w.clean(ctx, r); err != nil {
		r.finding("%v", err)
		w.failed, w.dirty = true, true
	}
	return !w.dirty && !r.discarded
}

// begin takes a connection of each handle.
func (r *storedRun) begin() error {
	for i, name := range []string{"plain", "filled"} {
		s := r.sides()[i]
		*s = side{name: name, first: r.twin.names[i], second: r.twin.schemas[i]}
		var err error
		if s.conn, err = r.twin.handles[i].Conn(r.ctx); err != nil {
			return err
		}
	}
	return nil
}

// renew takes other connections where database/sql has closed both: lib/pq calls a
// connection bad whose transaction had ended unseen.
func (r *storedRun) renew() {
	if r.plain.tx != nil {
		return
	}
	var closed [2]bool
	for i, s := range r.sides() {
		closed[i] = errors.Is(s.conn.Raw(func(any) error { return nil }), sql.ErrConnDone)
	}
	if closed[0] != closed[1] {
		r.finding("the connection is closed: plain %v, filled %v", closed[0], closed[1])
	}
	if !closed[0] || r.failed {
		return
	}
	r.begun, r.temporaries = false, false
	if err := r.begin(); err != nil {
		r.finding("%v", err)
	}
}

// end gives the connections back as they were.
func (r *storedRun) end() {
	for _, s := range r.sides() {
		if s.conn == nil {
			continue
		}
		if s.tx != nil {
			s.tx.Rollback()
		}
		for _, text := range r.leave(s) {
			if _, err := s.conn.ExecContext(r.ctx, text); err != nil && !r.failed {
				r.finding("%s: %s: %v", s.name, text, err)
			}
		}
		if r.settings && r.twin.Dialect.Name == "mariadb" {
			// Its end makes known again whether a transaction is open.
			if tx, err := s.conn.BeginTx(r.ctx, nil); err == nil {
				tx.Rollback()
			}
		}
		s.conn.Close()
	}
}

// leave returns the statements that undo what a program has changed in the session.
func (r *storedRun) leave(s *side) (texts []string) {
	switch w := r.twin; {
	case w.Server == nil:
	case w.IsPostgres():
		if r.settings {
			texts = append(texts, r.resets()...)
		}
		if r.temporaries {
			texts = append(texts, "DISCARD TEMP")
		}
		if r.elsewhere {
			texts = append(texts, "RESET search_path")
		}
	default:
		if r.settings {
			texts = append(texts, r.resets()...)
		}
		if r.elsewhere {
			texts = append(texts, "USE "+s.first)
		}
		if r.temporaries {
			texts = append(texts, "DROP TEMPORARY TABLE IF EXISTS t, j, "+s.second+".t, "+s.second+".j")
		}
	}
	return texts
}

// inMemory returns a connector to a new database of SQLite with its tables.
func (w *twin) inMemory(plain bool) *furnished {
	c, _ := opener{w.sqlite}.OpenConnector(":memory:")
	return &furnished{Connector: c, text: strings.Join(w.create("", plain), "; ")}
}
