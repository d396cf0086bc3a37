package audit

import (
	"context"
	"database/sql"
	"errors"

	_ "modernc.org/sqlite" // the database of a spool
)

// spool holds the states (stored counters) of all parents and periods while rows are read,
// in a database of its own that SQLite writes to a temporary file where it becomes large: the
// memory of an audit does not grow with the parents.
type spool struct {
	db              *sql.DB
	put, get, taken *sql.Stmt
}

// spooled is a state (a stored counter) in a spool.
type spooled struct {
	name     string
	next     int64
	template string // with which the numbers are written; empty if none was given
	parent   string // the values of the parent as the name has them
	period   string // the name of the period
}

// newSpool returns an empty spool, which the caller closes.
func newSpool(ctx context.Context) (s *spool, err error) {
	s = &spool{}
	if s.db, err = sql.Open("sqlite", ""); err != nil { // an empty name is a database of this connection
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	for _, text := range []string{
		"PRAGMA journal_mode = OFF",
		"CREATE TABLE states (name TEXT PRIMARY KEY, next INTEGER, template TEXT, parent TEXT, period TEXT, seen INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
	} {
		if _, err = s.db.ExecContext(ctx, text); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	s.put, err = s.db.PrepareContext(ctx, "INSERT INTO states (name, next, template, parent, period) VALUES (?, ?, ?, ?, ?)")
	if err == nil {
		s.get, err = s.db.PrepareContext(ctx, "SELECT next, template FROM states WHERE name = ?")
	}
	if err == nil {
		s.taken, err = s.db.PrepareContext(ctx, "UPDATE states SET seen = 1 WHERE name = ?")
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *spool) close() error { return s.db.Close() }

// add adds a state.
func (s *spool) add(ctx context.Context, one *spooled) error {
	_, err := s.put.ExecContext(ctx, one.name, one.next, one.template, one.parent, one.period)
	return err
}

// find returns the state of a name; nil if there is none.
func (s *spool) find(ctx context.Context, name string) (*spooled, error) {
	one := &spooled{name: name}
	err := s.get.QueryRowContext(ctx, name).Scan(&one.next, &one.template)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return one, err
}

// take marks a state as one whose numbers were found.
func (s *spool) take(ctx context.Context, name string) error {
	_, err := s.taken.ExecContext(ctx, name)
	return err
}

// left calls f for each state that was not taken, in the order of the names.
func (s *spool) left(ctx context.Context, f func(*spooled) error) error {
	rows, err := s.db.QueryContext(ctx, "SELECT name, next, template, parent, period FROM states WHERE seen = 0 ORDER BY name")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var one spooled
		if err := rows.Scan(&one.name, &one.next, &one.template, &one.parent, &one.period); err != nil {
			return err
		}
		if err := f(&one); err != nil {
			return err
		}
	}
	return rows.Err()
}
