package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// layout is a way to make keys and to store them in a column.
type layout struct {
	name   string
	column string
	source policy.Source
	sent   dialect.Layout

	ordered bool // the engine sorts the keys as they were made
	ticks   bool // only keys of different instants are in order
}

// layoutsOf returns the layouts of an engine, as docs/layouts.md lists them, and the
// sources of integers and texts.
func layoutsOf(d *dialect.Dialect) []layout {
	e := engines[d.Family]
	of := func(kind string) policy.Source { return policy.Source{Kind: kind} }
	stored := func(kind string) policy.Source {
		return policy.Source{Kind: kind, EnsureSchema: true, Exclusive: true}
	}
	worker := 1
	flake := stored(policy.KindSnowflake)
	flake.Worker = &worker
	coprime := stored(policy.KindCoprime)
	coprime.Length, coprime.Alphabet = 6, policy.AlphabetBase32
	all := []layout{
		{name: "uuidv7, default", column: e.uuid, source: of(policy.KindUUIDv7), ordered: true},
		{name: "comb, default", column: e.uuid, source: of(policy.KindCOMB), ordered: true, ticks: true},
		{name: "uuidv4, default", column: e.uuid, source: of(policy.KindUUIDv4)},
	}
	if b := e.binary; b != "" {
		all = append(all,
			layout{name: "uuidv7, binary", column: b, source: of(policy.KindUUIDv7), sent: dialect.SequentialAsBinary, ordered: true},
			layout{name: "ulid, binary", column: b, source: of(policy.KindULID), sent: dialect.SequentialAsBinary, ordered: true})
	}
	if c := e.ascii; c != "" {
		all = append(all,
			layout{name: "uuidv7, string", column: fmt.Sprintf(c, 36), source: of(policy.KindUUIDv7), sent: dialect.SequentialAsString, ordered: true},
			layout{name: "ulid, string", column: fmt.Sprintf(c, 26), source: of(policy.KindULID), sent: dialect.SequentialAsString, ordered: true},
			layout{name: "coprime of 6", column: fmt.Sprintf(c, 6), source: coprime})
	}
	return append(all,
		layout{name: "snowflake", column: e.number, source: flake, ordered: true},
		layout{name: "sequence", column: e.number, source: stored(policy.KindSequence), ordered: true},
		layout{name: "pseudorandom", column: e.number, source: stored(policy.KindPseudorandom)},
		layout{name: "scatter", column: e.number, source: stored(policy.KindScatter)})
}

// claim returns the claim about a layout.
func (l layout) claim() claim {
	if l.ordered {
		return claim{"order/" + l.name, "the engine sorts these keys as they were made", l.try}
	}
	return claim{"unique/" + l.name, "these keys are stored as they were given, none twice", l.try}
}

// statementRows is the number of rows in a statement.
const statementRows = 500

// try fills a table on one connection, reads it in the order of its key, and compares
// each key with the one that keyfill gave.
func (l layout) try(ctx context.Context, r *run) (_ outcome, err error) {
	table, column := r.table(), l.column
	if strings.Contains(r.server, "CockroachDB") {
		// It compares by bytes, and makes no column that says so:
		// github.com/cockroachdb/cockroach/issues/108657 and pull request 96828.
		column = strings.ReplaceAll(column, ` COLLATE "C"`, "")
	}
	if err := r.exec(ctx, "CREATE TABLE "+table+" (id "+column+" NOT NULL PRIMARY KEY, n "+r.engine.number+" NOT NULL)"); err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, r.drop(table)) }()
	rows := r.options.Rows
	if !l.ordered {
		rows = max(100, rows/10)
	}
	db, err := r.open(map[string]policy.Table{table: {Column: "id", InPlace: &l.source, Layout: l.sent}}, l.clock())
	if err != nil {
		return outcome{}, err
	}
	given, err := r.fillOrder(ctx, db, table, rows)
	if err := errors.Join(err, db.Close()); err != nil {
		return outcome{}, err
	}
	return l.compare(ctx, r, table, given)
}

// clock returns a change of the options for a source whose keys are in the order of their
// instants alone: the clock then moves on with each key.
func (l layout) clock() func(*keyfill.Options) {
	return func(o *keyfill.Options) {
		if !l.ticks {
			return
		}
		begin := time.Now()
		var calls atomic.Int64
		o.Now = func() time.Time { return begin.Add(time.Duration(calls.Add(1)) * 10 * time.Millisecond) }
	}
}

// fillOrder stores rows, and returns the keys that they got.
func (r *run) fillOrder(ctx context.Context, db *sql.DB, table string, rows int) (given []any, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for n := 0; n < rows; n += statementRows {
		count := min(statementRows, rows-n)
		if err := r.rate.wait(ctx, count); err != nil {
			return nil, err
		}
		args := make([]any, count)
		for i := range args {
			args[i] = n + i
		}
		noted, rec := keyfill.Record(ctx)
		text := "INSERT INTO " + table + " (n) VALUES " + strings.TrimSuffix(strings.Repeat("(?), ", count), ", ")
		if _, err := conn.ExecContext(noted, r.target.bind(text), args...); err != nil {
			return nil, err
		}
		for _, k := range rec.All() {
			given = append(given, k.Key)
		}
	}
	return given, nil
}

// compare reads the rows in the order of their keys.
func (l layout) compare(ctx context.Context, r *run, table string, given []any) (outcome, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT id, n FROM "+table+" ORDER BY id")
	if err != nil {
		return outcome{}, err
	}
	defer rows.Close()
	read := 0
	for ; rows.Next(); read++ {
		var id any
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return outcome{}, err
		}
		switch {
		case n < 0 || n >= len(given):
			return refused("%d keys for %d rows", len(given), r.options.Rows), nil
		case l.ordered && n != read:
			return refused("the engine sorts the key of row %d at place %d", n, read), nil
		case !equalKeys(id, given[n], l.layoutOn(r.target.Dialect)):
			return refused("row %d does not have the key that it was given", n), nil
		}
	}
	if err := rows.Err(); err != nil {
		return outcome{}, err
	}
	if read != len(given) {
		return refused("%d keys were given, and %d rows are stored", len(given), read), nil
	}
	return shown(int64(read)), nil
}

// layoutOn returns the layout in which a key is sent.
func (l layout) layoutOn(d *dialect.Dialect) dialect.Layout {
	if l.sent == "" {
		return d.DefaultLayout
	}
	return l.sent
}

// equalKeys reports whether a stored value, as a driver has read it, is a key that
// keyfill gave.
func equalKeys(stored, given any, l dialect.Layout) bool {
	switch given := given.(type) {
	case int64:
		var n sql.NullInt64
		return n.Scan(stored) == nil && n.Valid && n.Int64 == given
	case uuid.UUID:
		sent := l.Value(given)
		if b, ok := sent.([]byte); ok {
			return asText(stored) == string(b)
		}
		text := sent.(string)
		got := asText(stored)
		if len(got) == 16 { // a type of the engine's for UUIDs
			var raw uuid.UUID
			copy(raw[:], got)
			return raw.String() == text || swapped(raw).String() == text
		}
		return strings.EqualFold(got, text)
	case string:
		return strings.TrimRight(asText(stored), " ") == given
	}
	return false
}

// swapped returns the bytes of a uniqueidentifier as go-mssqldb reads them, in the order
// of its text: the first three numbers have their lowest byte first ("uniqueidentifier
// (Transact-SQL)").
func swapped(u uuid.UUID) uuid.UUID {
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5] = u[5], u[4]
	u[6], u[7] = u[7], u[6]
	return u
}

// asText returns the bytes that a driver has read.
func asText(v any) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	case [16]byte:
		return string(v[:])
	}
	return fmt.Sprint(v)
}

// table returns the name of a table that the run has not had: the state of a sequence is
// known by the name of its table.
func (r *run) table() string {
	r.tables++
	return fmt.Sprintf("kf_%d", r.tables)
}

// drop drops a table of the run's, also after ctx has ended.
func (r *run) drop(table string) error {
	ctx, stop := context.WithTimeout(context.Background(), maxWait)
	defer stop()
	return r.exec(ctx, "DROP TABLE "+table)
}
