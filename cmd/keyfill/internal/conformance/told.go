package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// block is a sequence whose keys a program learns.
func block() policy.Source {
	return policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true, Start: 1<<53 + 1}
}

// tryIntegers stores integers that are no floating-point number.
func tryIntegers(ctx context.Context, r *run) (_ outcome, err error) {
	n := r.engine.number
	if err := r.exec(ctx, "CREATE TABLE kf_integers (id "+n+" NOT NULL PRIMARY KEY, n "+n+" NOT NULL)"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop("kf_integers")) }()
	all := []int64{0, 1, -1, math.MaxInt32, 1<<53 + 1, math.MaxInt64, math.MaxInt64 - 1, -(1<<53 + 1)}
	for i, given := range all {
		if _, err := r.db.ExecContext(ctx, r.target.bind("INSERT INTO kf_integers (id, n) VALUES (?, ?)"), given, i); err != nil {
			return outcome{}, err
		}
		// The engine compares as well as the driver: a driver that rounds both ways would
		// read what it has not stored.
		same, err := r.number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM kf_integers WHERE n = %d AND id = %d", i, given))
		if err != nil {
			return outcome{}, err
		}
		read, err := r.number(ctx, fmt.Sprintf("SELECT id FROM kf_integers WHERE n = %d", i))
		if err != nil {
			return outcome{}, err
		}
		if same != 1 || read != given {
			return refused("%d is stored or read as another number", given), nil
		}
	}
	return shown(int64(len(all))), nil
}

// tryLastInsertID compares LastInsertId with the stored key.
func tryLastInsertID(ctx context.Context, r *run) (_ outcome, err error) {
	if !r.engine.lastInsertID {
		return notTried("no driver of the engine reports it"), nil
	}
	db, done, err := r.orders(ctx, block())
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	for i, query := range []string{"INSERT INTO kf_orders (note) VALUES ('a0')", "INSERT INTO kf_orders (note) VALUES ('a1')", "INSERT INTO kf_orders (note) VALUES (?)"} {
		var args []any
		if strings.Contains(query, "?") {
			args = append(args, "a2")
		}
		result, err := db.ExecContext(ctx, r.target.bind(query), args...)
		if err != nil {
			return outcome{}, err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return outcome{}, err
		}
		stored, err := r.number(ctx, "SELECT id FROM kf_orders WHERE note = ?", fmt.Sprintf("a%d", i))
		if err != nil {
			return outcome{}, err
		}
		if id != stored {
			return refused("LastInsertId is another key than the stored one"), nil
		}
	}
	return shown(3), nil
}

// tryIdentity compares LastInsertId with a key of the engine's own counter, in a table
// without a policy.
func tryIdentity(ctx context.Context, r *run) (_ outcome, err error) {
	if r.engine.identity == "" {
		return notTried("no driver of the engine reports it"), nil
	}
	if err := r.exec(ctx, "CREATE TABLE kf_identity (id "+r.engine.identity+", note "+r.engine.text+")"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop("kf_identity")) }()
	db, err := r.open(map[string]policy.Table{"kf_other": {Column: "id"}})
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for i := range 3 {
		note := fmt.Sprintf("a%d", i)
		result, err := db.ExecContext(ctx, r.target.bind("INSERT INTO kf_identity (note) VALUES (?)"), note)
		if err != nil {
			return outcome{}, err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return outcome{}, err
		}
		stored, err := r.number(ctx, "SELECT id FROM kf_identity WHERE note = ?", note)
		if err != nil {
			return outcome{}, err
		}
		if id != stored {
			return refused("LastInsertId is another key than the engine's"), nil
		}
	}
	return shown(3), nil
}

// tryReturning compares the keys that a statement gives with the stored ones.
func tryReturning(ctx context.Context, r *run) (_ outcome, err error) {
	if r.engine.returning == "" || r.engine.without == r.target.Dialect.Name {
		return notTried("no INSERT of the engine gives rows to a query"), nil
	}
	db, done, err := r.orders(ctx, block())
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	noted, rec := keyfill.Record(ctx)
	told, err := r.idsByNote(noted, db, r.target.bind(r.engine.returning), "a", "b", "c")
	if err != nil {
		return outcome{}, err
	}
	stored, err := r.idsByNote(ctx, r.db, "SELECT id, note FROM kf_orders")
	if err != nil {
		return outcome{}, err
	}
	if len(told) != 3 || len(stored) != 3 || len(rec.All()) != 3 {
		return refused("3 rows were sent, %d are reported, and %d are stored", len(told), len(stored)), nil
	}
	for note, id := range stored {
		if told[note] != id {
			return refused("the statement gives another key than the stored one"), nil
		}
	}
	return shown(3), nil
}

// idsByNote returns the rows of a query that has a key and a text.
func (r *run) idsByNote(ctx context.Context, db *sql.DB, query string, args ...any) (ids map[string]int64, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = map[string]int64{}
	for rows.Next() {
		var id int64
		var note string
		if err := rows.Scan(&id, &note); err != nil {
			return nil, err
		}
		ids[note] = id
	}
	return ids, rows.Err()
}

// tryRowsAffected compares RowsAffected with the stored rows.
func tryRowsAffected(ctx context.Context, r *run) (_ outcome, err error) {
	db, done, err := r.orders(ctx, policy.Source{Kind: policy.KindUUIDv7})
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	result, err := db.ExecContext(ctx, r.target.bind("INSERT INTO kf_orders (note) VALUES (?), (?), (?)"), "a", "b", "c")
	if err != nil {
		return outcome{}, err
	}
	told, err := result.RowsAffected()
	if err != nil {
		return outcome{}, err
	}
	stored, err := r.number(ctx, "SELECT COUNT(*) FROM kf_orders")
	if err == nil && (told != 3 || stored != 3) {
		return refused("3 rows were sent, RowsAffected is %d, and %d are stored", told, stored), nil
	}
	return shown(stored), err
}
