package keyfill_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
)

// affected answers every Exec with a number of rows or an error.
func affected(n int64, err error) func(string, []driver.NamedValue) (driver.Result, error) {
	return func(string, []driver.NamedValue) (driver.Result, error) {
		if err != nil {
			return nil, err
		}
		return driver.RowsAffected(n), nil
	}
}

// TestOutcome: a key is called stored only when the engine's answer proves it.
func TestOutcome(t *testing.T) {
	const one = "INSERT INTO t (a) VALUES (1)"
	const two = "INSERT INTO t (a) VALUES (1), (2)"
	const stored, not, unknown = keyfill.Stored, keyfill.NotStored, keyfill.Unknown
	for _, c := range []struct {
		name, dialect, query string
		affected             int64
		err                  error
		want                 keyfill.Outcome
	}{
		{"plain", "sqlite", one, 1, nil, stored},
		{"plain, none affected: a trigger took the row", "sqlite", one, 0, nil, unknown},
		{"plain, two", "sqlite", two, 2, nil, stored},
		{"plain, one of two", "sqlite", two, 1, nil, unknown},
		{"broken connection", "sqlite", one, 0, errors.New("eof"), unknown},
		{"do nothing, inserted", "postgres", one + " ON CONFLICT DO NOTHING", 1, nil, stored},
		{"do nothing, skipped", "postgres", one + " ON CONFLICT DO NOTHING", 0, nil, not},
		{"do nothing, one of two", "postgres", two + " ON CONFLICT DO NOTHING", 1, nil, unknown},
		{"do update", "postgres", one + " ON CONFLICT (a) DO UPDATE SET a = 2", 1, nil, unknown},
		{"do update, none", "postgres", one + " ON CONFLICT (a) DO UPDATE SET a = 2 WHERE false", 0, nil, not},
		{"ignore, skipped", "mysql", "INSERT IGNORE INTO t (a) VALUES (1)", 0, nil, not},
		{"ignore, inserted", "mysql", "INSERT IGNORE INTO t (a) VALUES (1)", 1, nil, stored},
		{"duplicate key, inserted or found", "mysql", one + " ON DUPLICATE KEY UPDATE a = 2", 1, nil, unknown},
		{"duplicate key, updated", "mysql", one + " ON DUPLICATE KEY UPDATE a = 2", 2, nil, not},
		{"duplicate key, updated with the key", "mysql", one + " ON DUPLICATE KEY UPDATE a = 2, id = VALUES(`id`)", 2, nil, unknown},
		{"replace, one", "mysql", "REPLACE INTO t (a) VALUES (1)", 2, nil, stored},
		{"replace, two", "mysql", "REPLACE INTO t (a) VALUES (1), (2)", 2, nil, unknown},
		{"replace beside do nothing", "sqlite", "REPLACE INTO t (a) VALUES (1), (2) ON CONFLICT DO NOTHING", 2, nil, unknown},
		{"duplicate key, two inserted, or one updated", "mysql", two + " ON DUPLICATE KEY UPDATE id = id", 2, nil, unknown},
		{"duplicate key, none of two", "mysql", two + " ON DUPLICATE KEY UPDATE id = id", 0, nil, not},
		{"duplicate key, both updated", "mysql", two + " ON DUPLICATE KEY UPDATE a = 2", 4, nil, not},
		{"duplicate key, two of two", "mysql", two + " ON DUPLICATE KEY UPDATE a = 2", 2, nil, unknown},
		{"returning, not counted", "mariadb", one + " RETURNING a", 0, nil, stored},
		{"ignore, returning, not counted", "mariadb", "INSERT IGNORE INTO t (a) VALUES (1) RETURNING a", 0, nil, unknown},
		{"do nothing, returning, counted before", "sqlite", one + " ON CONFLICT DO NOTHING RETURNING a", 1, nil, unknown},
		{"or fail, one of two", "sqlite", "INSERT OR FAIL INTO t (a) VALUES (1), (2)", 1, nil, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts, exec: affected(c.affected, c.err)}
			o := optionsOf(config(c.dialect))
			// There is no catalog to ask whether the table has triggers.
			o.Reservers = func(string) keysource.Reserver { return nil }
			db := open(t, d, o)
			ctx, rec := keyfill.Record(context.Background())
			if _, err := db.ExecContext(ctx, c.query); !errors.Is(err, c.err) {
				t.Fatal(err)
			}
			keys := rec.Keys("t")
			if len(keys) == 0 {
				t.Fatal("no key was recorded")
			}
			for i, k := range keys {
				if k.Outcome != c.want || k.Row != i {
					t.Errorf("key %d: row %d, %v, want %v", i, k.Row, k.Outcome, c.want)
				}
			}
			id, ok := keyfill.Last[uuid.UUID](rec, "t")
			if ok != (c.want == stored) || ok && id != keys[len(keys)-1].Key {
				t.Errorf("Last: %v, %v", id, ok)
			}
		})
	}
}

// TestRecordQuery: what RETURNING gives back wins over what was sent, as far as
// the caller reads.
func TestRecordQuery(t *testing.T) {
	other := uuid.MustParse("11111111-2222-4333-8444-555555555555")
	for _, c := range []struct {
		name    string
		query   string
		columns []string
		back    func(sent []driver.Value) [][]driver.Value
		read    int // rows that the caller reads; -1: to the end
		want    []keyfill.Outcome
		keys    func(sent []uuid.UUID) []uuid.UUID
	}{
		{
			name: "all", query: "INSERT INTO t (a) VALUES ($1), ($2) RETURNING id", columns: []string{"id"},
			back: func(sent []driver.Value) [][]driver.Value {
				return [][]driver.Value{{sent[0]}, {[]byte(sent[1].(string))}}
			},
			read: -1, want: []keyfill.Outcome{keyfill.Stored, keyfill.Stored},
		},
		{
			name: "as many as were sent, unread end", query: "INSERT INTO t (a) VALUES ($1), ($2) RETURNING a, id", columns: []string{"a", "id"},
			back: func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{1, sent[0]}, {2, sent[1]}} },
			read: 2, want: []keyfill.Outcome{keyfill.Stored, keyfill.Stored},
		},
		{
			name: "one read", query: "INSERT INTO t (a) VALUES ($1), ($2) RETURNING id", columns: []string{"id"},
			back: func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{sent[0]}, {sent[1]}} },
			read: 1, want: []keyfill.Outcome{keyfill.Stored, keyfill.Unknown},
		},
		{
			name: "nothing came back", query: "INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT DO NOTHING RETURNING id", columns: []string{"id"},
			back: func([]driver.Value) [][]driver.Value { return nil },
			read: -1, want: []keyfill.Outcome{keyfill.NotStored, keyfill.NotStored},
		},
		{
			name: "the second only", query: "INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT DO NOTHING RETURNING id", columns: []string{"id"},
			back: func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{sent[1]}} },
			read: -1, want: []keyfill.Outcome{keyfill.NotStored, keyfill.Stored},
		},
		{
			name: "another key was there", query: "INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT (a) DO UPDATE SET a = 1 RETURNING id", columns: []string{"id"},
			back: func(sent []driver.Value) [][]driver.Value { return [][]driver.Value{{other.String()}, {sent[1]}} },
			read: -1, want: []keyfill.Outcome{keyfill.Stored, keyfill.Stored},
			keys: func(sent []uuid.UUID) []uuid.UUID { return []uuid.UUID{other, sent[1]} },
		},
		{
			name: "without the key's column", query: "INSERT INTO t (a) VALUES ($1), ($2) RETURNING a", columns: []string{"a"},
			back: func([]driver.Value) [][]driver.Value { return [][]driver.Value{{1}, {2}} },
			read: -1, want: []keyfill.Outcome{keyfill.Stored, keyfill.Stored},
		},
		{
			name: "an upsert without the key's column", query: "INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT (a) DO UPDATE SET a = 1 RETURNING a", columns: []string{"a"},
			back: func([]driver.Value) [][]driver.Value { return [][]driver.Value{{1}, {2}} },
			read: -1, want: []keyfill.Outcome{keyfill.Unknown, keyfill.Unknown},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			var sent []uuid.UUID
			d.query = func(_ string, args []driver.NamedValue) (driver.Rows, error) {
				keys := []driver.Value{args[2].Value, args[3].Value}
				for _, k := range keys {
					sent = append(sent, uuid.MustParse(k.(string)))
				}
				return &fakeRows{columns: c.columns, rows: c.back(keys)}, nil
			}
			db := open(t, d, config("postgres"))
			ctx, rec := keyfill.Record(context.Background())
			rows, err := db.QueryContext(ctx, c.query, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			for n := 0; n != c.read && rows.Next(); n++ {
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			var got []keyfill.Outcome
			var keys []uuid.UUID
			for _, k := range rec.Keys("t") {
				got = append(got, k.Outcome)
				keys = append(keys, k.Key.(uuid.UUID))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("outcomes %v, want %v", got, c.want)
			}
			want := sent
			if c.keys != nil {
				want = c.keys(sent)
			}
			if !slices.Equal(keys, want) {
				t.Errorf("keys %v, want %v", keys, want)
			}
		})
	}
}

// TestRecordRowsError: rows that end in an error prove nothing.
func TestRecordRowsError(t *testing.T) {
	broken := errors.New("broken")
	d := &fakeDriver{strength: contexts}
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) {
		return &fakeRows{columns: []string{"id"}, err: broken}, nil
	}
	db := open(t, d, config("postgres"))
	ctx, rec := keyfill.Record(context.Background())
	rows, err := db.QueryContext(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() || !errors.Is(rows.Err(), broken) {
		t.Errorf("rows ended with %v", rows.Err())
	}
	if k := rec.Keys("t"); len(k) != 1 || k[0].Outcome != keyfill.Unknown {
		t.Errorf("recorded %v", k)
	}
}

// TestRecordNested: a recorder inside another one's context takes nothing away.
func TestRecordNested(t *testing.T) {
	db := open(t, &fakeDriver{strength: contexts}, config("sqlite"))
	ctx, outer := keyfill.Record(context.Background())
	inner, rec := keyfill.Record(ctx)
	if _, err := db.ExecContext(inner, insert, 1, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO main.t1 (a) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if len(rec.All()) != 1 || len(outer.All()) != 2 {
		t.Errorf("inner has %d keys, outer %d", len(rec.All()), len(outer.All()))
	}
	if len(outer.Keys("main.T1")) != 1 || len(outer.Keys("t1")) != 1 || len(outer.Keys("t2")) != 0 {
		t.Errorf("by table: %v", outer.All())
	}
}
