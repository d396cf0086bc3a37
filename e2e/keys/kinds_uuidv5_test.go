package keys_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

const eventNamespace = "c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17"

// madeFrom returns the policy of a table whose keys are made from columns.
func madeFrom(table string, columns ...policy.ScopeColumn) *policy.Config {
	from := policy.Scope(columns)
	return harness.FillID(table, policy.Table{InPlace: &policy.Source{Kind: policy.KindUUIDv5, Namespace: eventNamespace, From: &from}})
}

// keyOf returns the key that documentation describes for stored values, with another
// implementation of SHA-1 UUIDs. The first letter of kinds is the type of the first value.
func keyOf(kinds string, values ...string) string {
	var name []byte
	for i, v := range values {
		name = binary.BigEndian.AppendUint32(append(name, kinds[i]), uint32(len(v)))
		name = append(name, v...)
	}
	return uuid.NewSHA1(uuid.MustParse(eventNamespace), name).String()
}

type (
	namedInt    int
	namedText   string
	shownText   string
	shownInt    int
	valuerInt   struct{ n int64 }
	valuerText  struct{ s string }
	valuerBytes struct{ s string }
)

func (s shownText) String() string                 { return "shown " + string(s) }
func (n shownInt) String() string                  { return "1" + strconv.Itoa(int(n)) }
func (v valuerInt) Value() (driver.Value, error)   { return v.n, nil }
func (v valuerText) Value() (driver.Value, error)  { return v.s, nil }
func (v valuerText) String() string                { return "shown " + v.s }
func (v valuerBytes) Value() (driver.Value, error) { return []byte(v.s), nil }

// integersOf returns values that an application may give an integer column for n.
func integersOf(n int64) []any {
	text := strconv.FormatInt(n, 10)
	numeric := pgtype.Numeric{}
	_ = numeric.Scan(text)
	pointer := &n
	return []any{
		n, int(n), int8(n), int16(n), int32(n), uint32(n), uint64(n), uint8(n), namedInt(n), shownInt(n), pointer, &pointer,
		text, "0" + text, "+" + text, " " + text, text + " ", text + ".0", text + "e0", "0x" + text, namedText(text), shownText(text), []byte(text), []byte(text + " "),
		json.Number(text), json.RawMessage(text), float64(n), float32(n), float64(n) + 0.5, n%2 == 0, "true", "1_0",
		sql.NullInt64{Int64: n, Valid: true}, sql.NullInt32{Int32: int32(n), Valid: true}, sql.NullString{String: text, Valid: true}, sql.Null[int64]{V: n, Valid: true}, sql.NullFloat64{Float64: float64(n), Valid: true},
		valuerInt{n}, valuerText{text}, valuerBytes{text}, pgtype.Int8{Int64: n, Valid: true}, pgtype.Int4{Int32: int32(n), Valid: true}, pgtype.Text{String: text, Valid: true}, numeric, pgtype.Float8{Float64: float64(n), Valid: true},
		time.Unix(n, 0), time.Duration(n), nil, (*int64)(nil), sql.NullInt64{}, [16]byte{1}, "",
	}
}

// textsOf returns values that an application may give a text column for s.
func textsOf(s string) []any {
	id := uuid.New()
	return []any{
		s, &s, []byte(s), namedText(s), shownText(s), valuerText{s}, valuerBytes{s}, sql.NullString{String: s, Valid: true}, sql.Null[string]{V: s, Valid: true},
		pgtype.Text{String: s, Valid: true}, json.RawMessage(s), json.Number("17"), s + " ", s + "\t", " " + s, s + "\x00", s + "\xff", s + "\u00a0", "ä" + s, "a\u0308" + s, "日" + s, "😀" + s, `\` + s, "'" + s, "%" + s,
		strings.ToUpper(s), "", " ", nil, (*string)(nil), sql.NullString{}, 17, int64(17), 17.5, true, time.Unix(17, 0), id, [16]byte(id), pgtype.UUID{Bytes: id, Valid: true}, id.String(), pgtype.Int8{Int64: 17, Valid: true},
		[]string{s}, strings.Repeat(s, 40), strings.Repeat("x", 251), strings.Repeat("é", 200),
	}
}

// TestUUIDv5Law: whatever the driver and the type of the argument, the key of a stored row is
// the one that its stored values make; other rows are refused. Values are random.
func TestUUIDv5Law(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxMode("exec"), harness.PgxMode("describe_exec"), harness.PgxSimple, harness.PQDefault, harness.PQBinary}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		integers := []string{"SMALLINT", "INTEGER", "BIGINT", "DECIMAL(20,0)"}
		texts := []string{"VARCHAR(300)", "VARCHAR(10)", "CHAR(12)", "TEXT"}
		collate, lenient := "", []bool{false}
		switch {
		case s.Server == harness.MariaDB:
			collate = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
			integers = append(integers, "TINYINT(1)", "INT UNSIGNED", "BIGINT UNSIGNED ZEROFILL")
			texts = append(texts, "TINYTEXT", "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin")
			lenient = append(lenient, true)
		case s.Server == nil:
			integers = integers[:3]
		}
		stored, refused, table := 0, 0, ""
		try := func(db *sql.DB, kind, column string, values []any) {
			taken := map[int]any{}
			for i, v := range values {
				if _, err := db.Exec(s.Placeholders("INSERT INTO "+table+" (v, no) VALUES (?, ?)"), v, i); err == nil {
					taken[i] = v
				}
			}
			stored, refused = stored+len(taken), refused+len(values)-len(taken)
			rows, err := s.Raw.Query("SELECT id, v, no FROM " + table)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			n := 0
			for rows.Next() {
				var id, got string
				var i int
				if err := rows.Scan(&id, &got, &i); err != nil {
					t.Fatal(err)
				}
				v, ok := taken[i]
				if n++; !ok {
					t.Errorf("%s, %T %q: the row is stored as %q after an error", column, values[i], fmt.Sprint(values[i]), got)
				}
				if kind == "i" {
					if got, ok = parsed(got); !ok {
						t.Errorf("%s, %T %q: no integer is stored", column, v, fmt.Sprint(v))
					}
				}
				if want := keyOf(kind, got); id != want {
					t.Errorf("%s, %T %q: the key is %s, and the stored %q makes %s", column, v, fmt.Sprint(v), id, got, want)
				}
			}
			if err := rows.Err(); err != nil || n != len(taken) {
				t.Errorf("%s: %d rows are stored, error %v, want %d", column, n, err, len(taken))
			}
			harness.Exec(t, s.Raw, "DELETE FROM "+table)
		}
		for i, column := range append(integers, texts...) {
			isText := strings.Contains(column, "CHAR") || strings.Contains(column, "TEXT")
			kind, declared := "i", policy.ScopeColumn{Column: "v"}
			typed := column
			if isText {
				kind, declared.Type = "t", policy.ScopeText
				if !strings.Contains(column, "COLLATE") {
					typed += collate
				}
			}
			table = "events" + strconv.Itoa(i)
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id CHAR(36), v "+typed+", no INT)")
			for _, off := range lenient {
				db, _ := s.Open(t, madeFrom(table, declared))
				db.SetMaxOpenConns(1)
				if off {
					harness.Exec(t, db, "SET sql_mode = ''")
				}
				if isText {
					try(db, kind, column, textsOf(strings.ToLower(rand.Text())[:mathrand.IntN(12)+1]))
				} else {
					for _, n := range []int64{mathrand.Int64N(100), -mathrand.Int64N(1<<20) - 1, mathrand.Int64()} {
						try(db, kind, column, integersOf(n))
					}
				}
				db.Close()
			}
		}
		t.Logf("%d rows are stored, %d refused", stored, refused)
		if stored < 100 || refused < 100 {
			t.Errorf("%d rows are stored and %d refused: the test tries too few", stored, refused)
		}
	})
}

// parsed returns the decimal digits of an integer that a driver shows, perhaps with zeros
// before them.
func parsed(s string) (string, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), true
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return strconv.FormatUint(n, 10), err == nil
}

var sender = policy.ScopeColumn{Column: "sender", Type: policy.ScopeText}

// createEvents creates the table events, whose keys are made from sender and no.
func createEvents(t *testing.T, s *harness.Scratch, id string) {
	t.Helper()
	createTable(t, s, "events", id)
}

func createTable(t *testing.T, s *harness.Scratch, name, id string) {
	t.Helper()
	text := "VARCHAR(20)"
	if s.Server == harness.MariaDB {
		text += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
	}
	harness.Exec(t, s.Raw, "CREATE TABLE "+name+" (id "+id+" PRIMARY KEY, sender "+text+", no BIGINT, note VARCHAR(20))")
}

// TestUUIDv5Deliveries: a second delivery of the same rows is the same rows, by each way to
// leave out or change rows that exist. Its keys are in the table then, which proves nothing
// about this delivery; and its duplicates make no source suspect.
func TestUUIDv5Deliveries(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createEvents(t, s, "CHAR(36)")
		db, m := s.Open(t, madeFrom("events", sender, policy.ScopeColumn{Column: "no"}))
		head, skip, update := "INSERT INTO", " ON CONFLICT DO NOTHING", " ON CONFLICT (id) DO UPDATE SET note = excluded.note"
		if s.Server == harness.MariaDB {
			head, skip, update = "INSERT IGNORE INTO", "", " ON DUPLICATE KEY UPDATE note = VALUES(note)"
		}
		record := func(query string, args ...any) ([]keyfill.RecordedKey, int64) {
			t.Helper()
			ctx, rec := keyfill.Record(context.Background())
			res, err := db.ExecContext(ctx, s.Placeholders(query), args...)
			if err != nil {
				t.Fatal(err)
			}
			n, err := res.RowsAffected()
			if err != nil {
				t.Fatal(err)
			}
			return rec.All(), n
		}
		rows := head + " events (sender, no, note) VALUES (?, ?, ?), (?, ?, ?)" + skip
		first, n := record(rows, "a", 1, "first", "b", 1, "first")
		if n != 2 || first[0].Outcome != keyfill.Stored || first[0].Key != uuid.MustParse(keyOf("ti", "a", "1")) || first[1].Key != uuid.MustParse(keyOf("ti", "b", "1")) {
			t.Errorf("the first delivery stores %d rows, recorded %v", n, first)
		}
		again, n := record(rows, "a", 1, "again", "b", 1, "again")
		if n != 0 || again[0].Outcome != keyfill.NotStored || again[0].Key != first[0].Key {
			t.Errorf("the second delivery stores %d rows, recorded %v", n, again)
		}
		mixed, n := record(rows, "b", 1, "again", "c", 1, "first")
		if n != 1 || mixed[0].Outcome != keyfill.Unknown || mixed[1].Outcome != keyfill.Unknown {
			t.Errorf("a delivery with a new row stores %d rows, recorded %v", n, mixed)
		}
		twice, n := record(rows, "d", 1, "first", "d", 1, "first")
		if n != 1 || twice[0].Outcome != keyfill.Unknown || twice[1].Outcome != keyfill.Unknown {
			t.Errorf("a delivery with a row twice stores %d rows, recorded %v", n, twice)
		}
		upserted, _ := record("INSERT INTO events (sender, no, note) VALUES (?, ?, ?)"+update, "a", 1, "changed")
		want := keyfill.Unknown
		if s.Dialect.Name == "mariadb" {
			want = keyfill.NotStored // by the count: a changed row counts twice
		}
		if upserted[0].Outcome != want {
			t.Errorf("an upsert of a stored row is recorded as %v", upserted)
		}
		if note := harness.Text(t, s.Raw, "SELECT note FROM events WHERE sender = 'a'"); note != "changed" {
			t.Errorf("the upsert leaves %q", note)
		}
		if s.Dialect.Name != "mariadb" {
			for _, one := range []struct {
				clause string
				want   keyfill.Outcome
			}{{update, keyfill.Unknown}, {skip, keyfill.NotStored}} {
				ctx, rec := keyfill.Record(context.Background())
				if err := harness.DrainContext(ctx, db, s.Placeholders("INSERT INTO events (sender, no, note) VALUES (?, ?, ?)"+one.clause+" RETURNING id"), "a", 1, "changed"); err != nil {
					t.Fatal(err)
				}
				if got := rec.All(); got[0].Outcome != one.want || got[0].Key != first[0].Key {
					t.Errorf("RETURNING with%s is recorded as %v", one.clause, got)
				}
			}
		}
		ctx, rec := keyfill.Record(context.Background())
		if _, err := db.ExecContext(ctx, s.Placeholders("INSERT INTO events (sender, no) VALUES (?, ?)"), "a", 1); err == nil {
			t.Error("a second delivery without a clause stores the row twice")
		}
		if got := rec.All(); got[0].Outcome != keyfill.NotStored {
			t.Errorf("a duplicate is recorded as %v", got)
		}
		if table := m.Stats().Tables["events"]; table.Suspects != 0 {
			t.Errorf("duplicates of delivered rows count as suspect: %+v", table)
		}
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM events"); n != 4 {
			t.Errorf("%d rows are stored, want 4", n)
		}
	})
}

// TestUUIDv5Layouts: the key is the same UUID in each layout, also for prepared statements
// and keys that are NULL or zero in the text; literals make the key that arguments make.
func TestUUIDv5Layouts(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		for name, kind := range map[dialect.Layout]string{
			dialect.SequentialAsString: harness.ColumnTypes("uuid", "UUID", "TEXT")[s.Dialect.Name],
			dialect.SequentialAsBinary: harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name],
		} {
			events := "events_" + string(name)
			createTable(t, s, events, kind)
			cfg := madeFrom(events, sender, policy.ScopeColumn{Column: "no"})
			table := cfg.Tables[events]
			table.Layout = name
			cfg.Tables[events] = table
			db, _ := s.Open(t, cfg)
			if _, err := harness.PreparedExec(db, s.Placeholders("INSERT INTO "+events+" (sender, no) VALUES (?, ?), (?, ?)"), "a", 1, "b", int64(2)); err != nil {
				t.Fatal(err)
			}
			harness.Exec(t, db, "INSERT INTO "+events+" (sender, no) VALUES ('it''s', -3)")
			harness.Exec(t, db, "INSERT INTO "+events+" (id, no, sender) VALUES (NULL, 4, 'd')")
			if s.IsPostgres() {
				harness.Exec(t, db, "INSERT INTO "+events+" (sender, no) VALUES ($1::text, $2::bigint)", "e", "05")
			} else {
				harness.Exec(t, db, "INSERT INTO "+events+" (sender, no) VALUES (?, ?)", "e", "05")
			}
			db.Close()
			rows, err := s.Raw.Query("SELECT id, sender, no FROM " + events)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for rows.Next() {
				var id uuid.UUID
				var text, no string
				if err := rows.Scan(&id, &text, &no); err != nil {
					t.Fatal(err)
				}
				if want := keyOf("ti", text, no); id.String() != want {
					t.Errorf("%s: %s %s has the key %s, want %s", name, text, no, id, want)
				}
				n++
			}
			if err := rows.Close(); err != nil || n != 5 {
				t.Errorf("%s: %d rows, error %v, want 5", name, n, err)
			}
		}
	})
}

// TestUUIDv5Refused: rows whose values only the engine knows are refused with the reason, and
// so are requests for keys without rows.
func TestUUIDv5Refused(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		createEvents(t, s, "CHAR(36)")
		db, m := s.Open(t, madeFrom("events", sender, policy.ScopeColumn{Column: "no"}))
		for _, query := range []string{
			"INSERT INTO events (sender, no) VALUES ('a', NULL)",
			"INSERT INTO events (sender, no) VALUES ('a', DEFAULT)",
			"INSERT INTO events (sender, no) VALUES ('a', 1 + 1)",
			"INSERT INTO events (sender, no) VALUES (lower('A'), 1)",
			"INSERT INTO events (sender, no) VALUES ('a', 1), ('b', (SELECT 1))",
			"INSERT INTO events (sender) VALUES ('a')",
			"INSERT INTO events (sender, no) SELECT 'a', 1",
			"INSERT INTO events (sender, no) SELECT sender, no FROM events",
		} {
			_, err := db.Exec(query)
			harness.RefusedFor(t, query, err, rewrite.ErrScope)
			if err != nil && !strings.Contains(err.Error(), "made from other columns") {
				t.Errorf("%s: %v", query, err)
			}
		}
		if _, err := m.Keys(context.Background(), "events", 1); !errors.Is(err, keysource.ErrNeedsRow) {
			t.Errorf("Keys: %v", err)
		}
		if _, err := m.Reserve(context.Background(), "events", 1); !errors.Is(err, keysource.ErrNeedsRow) {
			t.Errorf("Reserve: %v", err)
		}
		if column, anytime := m.KeyColumn("events"); column != "id" || anytime {
			t.Errorf("KeyColumn returns %q, %t", column, anytime)
		}
		harness.Exec(t, db, "INSERT INTO events (id, sender, no) SELECT '"+uuid.NewString()+"', 'a', 1")
		if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM events"); n != 1 {
			t.Errorf("%d rows are stored, want the one that brings its key", n)
		}
	})
}

// TestUUIDv5Columns: a column in which the engine takes different texts for equal, or stores
// another text, is refused by what the catalog says of it.
func TestUUIDv5Columns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		engine   harness.Engine
		column   string
		kind     string
		value    any
		contains string // empty: the row is stored
	}{
		{"without case", harness.MySQLDefault, "VARCHAR(20) COLLATE utf8mb4_general_ci", policy.ScopeText, "a", "utf8mb4_general_ci"},
		{"without accents", harness.MySQLDefault, "VARCHAR(20) COLLATE utf8mb4_unicode_ci", policy.ScopeText, "a", "binary one"},
		{"NOCASE", harness.SQLiteFile, "TEXT COLLATE NOCASE", policy.ScopeText, "a", "NOCASE"},
		{"RTRIM in quotes", harness.SQLiteFile, "TEXT CHECK (v <> 'x') COLLATE \"rtrim\"", policy.ScopeText, "a", "RTRIM"},
		{"an index of another collation", harness.SQLiteFile, "TEXT COLLATE NOCASE, UNIQUE (v COLLATE BINARY)", policy.ScopeText, "a", "NOCASE"},
		{"binary", harness.SQLiteFile, "TEXT COLLATE BINARY, w TEXT COLLATE NOCASE", policy.ScopeText, "a", ""},
		{"citext", harness.PgxDefault, "citext", policy.ScopeText, "a", "citext"},
		{"nondeterministic", harness.PgxDefault, "text COLLATE anycase", policy.ScopeText, "a", "not deterministic"},
		{"deterministic", harness.PgxDefault, `text COLLATE "und-x-icu"`, policy.ScopeText, "a", ""},
		{"a domain", harness.PgxDefault, "mail", policy.ScopeText, "a", "mail"},
		{"a padded text", harness.PgxDefault, "char(5)", policy.ScopeText, "a", "fills it up with spaces"},
		{"a padded text", harness.PQDefault, "char(5)", policy.ScopeText, "abcde", ""},
		{"a float", harness.PgxDefault, "double precision", policy.ScopeInteger, 7, "double precision"},
		{"a time", harness.PgxDefault, "timestamp", policy.ScopeText, "2026-01-01", "timestamp"},
		{"a date", harness.MySQLDefault, "DATE", policy.ScopeText, "2026-01-01", "date"},
		{"bytes", harness.MySQLDefault, "VARBINARY(20)", policy.ScopeText, "a", "varbinary"},
		{"a text as integer", harness.SQLiteFile, "TEXT", policy.ScopeInteger, 7, "{column: v, type: text}"},
		{"a type of SQLite that changes digits", harness.SQLiteFile, "STRING", policy.ScopeText, "007", "STRING"},
		{"computed", harness.SQLiteFile, "TEXT AS ('a')", policy.ScopeText, "a", "generated"},
		{"another name", harness.SQLiteFile, "TEXT, vv TEXT", "missing", "a", "none of this name"},
	} {
		t.Run(tt.name+"/"+tt.engine.Name, func(t *testing.T) {
			t.Parallel()
			s := tt.engine.Scratch(t)
			if s.IsPostgres() {
				harness.Exec(t, s.Raw, "CREATE EXTENSION IF NOT EXISTS citext")
				harness.Exec(t, s.Raw, "CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
				harness.Exec(t, s.Raw, "CREATE DOMAIN mail AS text")
			}
			harness.Exec(t, s.Raw, "CREATE TABLE events (id CHAR(36) PRIMARY KEY, no INT, v "+tt.column+")")
			column := policy.ScopeColumn{Column: "v", Type: tt.kind}
			if tt.kind == "missing" {
				column = policy.ScopeColumn{Column: "w", Type: policy.ScopeText}
			}
			db, _ := s.Open(t, madeFrom("events", column))
			_, err := db.Exec(s.Placeholders("INSERT INTO events ("+column.Column+") VALUES (?)"), tt.value)
			if tt.contains == "" && err == nil {
				return
			}
			if err == nil || tt.contains == "" || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("%v, want %q", err, tt.contains)
			}
			if got := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM events"); got != 0 {
				t.Error("a row was stored")
			}
		})
	}
}

// TestUUIDv5Copy: the rows of a COPY of lib/pq get their keys.
func TestUUIDv5Copy(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	createEvents(t, s, "uuid")
	db, _ := s.Open(t, madeFrom("events", sender, policy.ScopeColumn{Column: "no"}))
	load := func(query string, rows ...[]any) error {
		return harness.InTx(db, func(tx *sql.Tx) error { return harness.Load(context.Background(), tx, query, rows...) })
	}
	if err := load("COPY events (note, no, sender) FROM STDIN", []any{"x", 1, "a\tb"}, []any{"x", "007", `c\d`}, []any{nil, int64(-2), "é"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{"x", nil, "a"}, {"x", 1.5, "a"}, {"x", 1, []byte("a")}, {"x", 1, "a "}} {
		if err := load("COPY events (note, no, sender) FROM STDIN", row); err == nil {
			t.Errorf("%v is stored", row)
		}
	}
	if err := load("COPY events (note, no) FROM STDIN", []any{"x", 1}); err == nil || !strings.Contains(err.Error(), `column "sender"`) {
		t.Errorf("without a column: %v", err)
	}
	got := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id || ' ' || sender || ' ' || no FROM events ORDER BY no")
	want := []string{keyOf("ti", "é", "-2") + " é -2", keyOf("ti", "a\tb", "1") + " a\tb 1", keyOf("ti", `c\d`, "7") + ` c\d 7`}
	if !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}
