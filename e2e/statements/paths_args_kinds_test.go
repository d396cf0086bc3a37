package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/lib/pq"
	mssql "github.com/microsoft/go-mssqldb"
	go_ora "github.com/sijms/go-ora/v2"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// argumentKind is a kind of argument, a row of the table in docs/arguments.md.
type argumentKind struct {
	name string

	// values is the text after VALUES for the columns v, w and n, and id if the kind is
	// the key's value: one text for all drivers with ? for the placeholders, or one for
	// each driver that is tried.
	values map[string]string
	key    bool // the last value is the key
	args   []any
	column map[string]string // the type of v and w by dialect; nil for text
}

// anyDriver is the key of a text for all drivers.
const anyDriver = ""

// ordinary are the columns' values for an argument of any type.
var ordinary = map[string]string{anyDriver: "?, 'w', ?"}

// keyed are those for one in the key's place.
var keyed = map[string]string{anyDriver: "'a', 'w', 7, ?"}

// valuer is a type of an application that knows its value.
type valuer struct{ text string }

func (v valuer) Value() (driver.Value, error) {
	if v.text == "" {
		return nil, nil
	}
	return v.text, nil
}

// rewriter is a pgx.QueryRewriter that brings the arguments itself.
type rewriter struct{ args []any }

func (r rewriter) RewriteQuery(_ context.Context, _ *pgx.Conn, query string, _ []any) (string, []any, error) {
	return query, r.args, nil
}

// broughtKey is a key that an application brings.
const broughtKey = "01900000-0000-7000-8000-00000000abcd"

var (
	jsonTypes = map[string]string{"postgres": "JSONB"}
	listTypes = map[string]string{"postgres": "TEXT[]"}
)

var argumentKinds = []argumentKind{
	{name: "placeholder", values: ordinary, args: []any{"a", 7}},
	{name: "the same number twice", args: []any{"a", 7}, values: map[string]string{
		"pgx": "$1, $1, $2", "postgres": "$1, $1, $2", "sqlite": "?1, ?1, ?2", "sqlserver": "@p1, @p1, @p2"}},
	{name: "numbers in another order", args: []any{7, "a"}, values: map[string]string{
		"pgx": "$2, 'w', $1", "postgres": "$2, 'w', $1", "sqlite": "?2, 'w', ?1", "sqlserver": "@p2, 'w', @p1", "oracle": ":2, 'w', :1"}},
	{name: "`?1` and `?` mixed", args: []any{"a", 7}, values: map[string]string{"sqlite": "?1, 'w', ?"}},
	{name: "`$1` in SQLite", args: []any{"a", 7}, values: map[string]string{"sqlite": "$1, 'w', $2"}},
	{name: "`:a` without a name", args: []any{"a", 7}, values: map[string]string{"sqlite": ":a, 'w', :b", "sqlserver": "@a, 'w', @b", "oracle": ":a, 'w', :b"}},
	{name: "`sql.Named`", args: []any{sql.Named("a", "a"), sql.Named("b", 7)}, values: map[string]string{
		anyDriver: "?, 'w', ?", "sqlite": ":a, 'w', :b", "sqlserver": "@a, 'w', @b", "oracle": ":a, 'w', :b"}},
	{name: "`sql.Named` in another order", args: []any{sql.Named("b", 7), sql.Named("a", "a")}, values: map[string]string{
		"sqlite": "@a, 'w', $b", "sqlserver": "@a, 'w', @b", "oracle": ":a, 'w', :b"}},
	{name: "`sql.Named`, one twice", args: []any{sql.Named("b", 7), sql.Named("a", "a")}, values: map[string]string{
		"sqlite": ":a, :a, :b", "sqlserver": "@a, @a, @b", "oracle": ":a, :a, :b"}},
	{name: "`sql.Named` beside others", args: []any{sql.Named("a", "a"), 7}, values: map[string]string{
		"sqlite": ":a, 'w', ?", "sqlserver": "@a, 'w', @p2", "oracle": ":a, 'w', :2"}},
	{name: "`sql.Out`", args: []any{sql.Named("a", sql.Out{Dest: new("a")}), sql.Named("b", 7)}, values: map[string]string{
		anyDriver: "?, 'w', ?", "sqlite": ":a, 'w', :b", "sqlserver": "@a, 'w', @b", "oracle": ":a, 'w', :b"}},
	{name: "`nil`", values: ordinary, args: []any{nil, 7}},
	{name: "`[]byte`", values: ordinary, args: []any{[]byte("a"), 7}},
	{name: "`time.Time`", values: ordinary, args: []any{time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC), 7},
		column: map[string]string{"postgres": "TIMESTAMPTZ", "mariadb": "DATETIME(6)", "sqlite": "TIMESTAMP"}},
	{name: "`driver.Valuer`", values: ordinary, args: []any{valuer{"a"}, 7}},
	{name: "`driver.Valuer` of nil", values: ordinary, args: []any{valuer{}, 7}},
	{name: "`sql.NullString`", values: ordinary, args: []any{sql.NullString{String: "a", Valid: true}, 7}},
	{name: "pointer", values: ordinary, args: []any{new("a"), 7}},
	{name: "nil pointer", values: ordinary, args: []any{(*string)(nil), 7}},
	{name: "named type", values: ordinary, args: []any{named("a"), 7}},
	{name: "`uuid.UUID`", values: ordinary, args: []any{uuid.MustParse(harness.Key), 7}},
	{name: "`[16]byte`", values: ordinary, args: []any{[16]byte(uuid.MustParse(harness.Key)), 7}, column: map[string]string{"postgres": "UUID"}},
	{name: "`json.RawMessage`", values: ordinary, args: []any{json.RawMessage(`{"a": 1}`), 7}, column: jsonTypes},
	{name: "`[]string`", values: ordinary, args: []any{[]string{"a", "b"}, 7}, column: listTypes},
	{name: "`pq.Array`", values: ordinary, args: []any{pq.Array([]string{"a", "b"}), 7}, column: listTypes},
	{name: "`pgtype.FlatArray`", values: ordinary, args: []any{pgtype.FlatArray[string]{"a", "b"}, 7}, column: listTypes},
	{name: "slices of rows (array DML)", values: ordinary, args: []any{[]string{"a", "b"}, []int64{7, 8}}, column: listTypes},
	{name: "`pgx.NamedArgs`", args: []any{pgx.NamedArgs{"a": "a", "b": 7}}, values: map[string]string{"pgx": "@a, 'w', @b"}},
	{name: "`pgx.StrictNamedArgs`", args: []any{pgx.StrictNamedArgs{"a": "a", "b": 7}}, values: map[string]string{"pgx": "@a, 'w', @b"}},
	{name: "`pgx.QueryExecMode`", args: []any{pgx.QueryExecModeExec, "a", 7}, values: map[string]string{"pgx": "$1, 'w', $2"}},
	{name: "`pgx.QueryResultFormats`", args: []any{pgx.QueryResultFormats{0}, "a", 7}, values: map[string]string{"pgx": "$1, 'w', $2"}},
	{name: "`pgx.QueryRewriter`", args: []any{rewriter{[]any{"a"}}}, values: map[string]string{"pgx": "$1, 'w', 7"}},
	{name: "`pgx.QueryRewriter` and an argument", args: []any{rewriter{[]any{"a", 7}}, 7}, values: map[string]string{"pgx": "$1, 'w', $2"}},
	{name: "`mssql.VarChar`", args: []any{mssql.VarChar("a"), 7}, values: map[string]string{"sqlserver": "@p1, 'w', @p2"}},
	{name: "`*mssql.ReturnStatus`", args: []any{"a", new(mssql.ReturnStatus), 7}, values: map[string]string{"sqlserver": "@p1, 'w', @p2"}},
	{name: "`go_ora.Out`", args: []any{go_ora.Out{Dest: new("a"), Size: 10}, 7}, values: map[string]string{"oracle": ":1, 'w', :2"}},

	{name: "key: `nil`", values: keyed, key: true, args: []any{nil}},
	{name: "key: empty text", values: keyed, key: true, args: []any{""}},
	{name: "key: nil pointer", values: keyed, key: true, args: []any{(*string)(nil)}},
	{name: "key: `driver.Valuer` of nil", values: keyed, key: true, args: []any{valuer{}}},
	{name: "key: `sql.NullString{}`", values: keyed, key: true, args: []any{sql.NullString{}}},
	{name: "key: `uuid.NullUUID{}`", values: keyed, key: true, args: []any{uuid.NullUUID{}}},
	{name: "key: `uuid.Nil`", values: keyed, key: true, args: []any{uuid.Nil}},
	{name: "key: pointer to `uuid.Nil`", values: keyed, key: true, args: []any{&uuid.UUID{}}},
	{name: "key: `[16]byte{}`", values: keyed, key: true, args: []any{[16]byte{}}},
	{name: "key: text", values: keyed, key: true, args: []any{broughtKey}},
	{name: "key: `[]byte` of text", values: keyed, key: true, args: []any{[]byte(broughtKey)}},
	{name: "key: pointer", values: keyed, key: true, args: []any{new(broughtKey)}},
	{name: "key: named type", values: keyed, key: true, args: []any{named(broughtKey)}},
	{name: "key: `driver.Valuer`", values: keyed, key: true, args: []any{valuer{broughtKey}}},
	{name: "key: `uuid.UUID`", values: keyed, key: true, args: []any{uuid.MustParse(broughtKey)}},
	{name: "key: `[16]byte`", values: keyed, key: true, args: []any{[16]byte(uuid.MustParse(broughtKey))}},
	{name: "key: `mssql.UniqueIdentifier`", key: true, args: []any{mssql.UniqueIdentifier(uuid.MustParse(broughtKey))}, values: map[string]string{"sqlserver": "'a', 'w', 7, @p1"}},
	{name: "key: `mssql.UniqueIdentifier{}`", key: true, args: []any{mssql.UniqueIdentifier{}}, values: map[string]string{"sqlserver": "'a', 'w', 7, @p1"}},
	{name: "key: `sql.Named` of nil", key: true, args: []any{sql.Named("id", nil)}, values: map[string]string{
		anyDriver: "'a', 'w', 7, ?", "sqlite": "'a', 'w', 7, :id", "sqlserver": "'a', 'w', 7, @id", "oracle": "'a', 'w', 7, :id"}},
	{name: "key: the caller's placeholder used twice", key: true, args: []any{""}, values: map[string]string{
		"pgx": "$1, 'w', 7, $1", "postgres": "$1, 'w', 7, $1", "sqlite": "?1, 'w', 7, ?1", "sqlserver": "@p1, 'w', 7, @p1"}},
	{name: "key: `sql.Out`", key: true, args: []any{sql.Named("id", sql.Out{Dest: new(broughtKey), In: true})}, values: map[string]string{
		"sqlserver": "'a', 'w', 7, @id", "oracle": "'a', 'w', 7, :id"}},
}

// text returns the INSERT of a kind for a driver, with placeholders as the driver has
// them; empty if the driver lacks the kind. withKey reports whether the statement goes to
// the raw driver, so that it needs a key written by hand.
func (k *argumentKind) text(name, table string, withKey bool) string {
	values, own := k.values[name]
	if !own {
		if values = k.values[anyDriver]; values == "" {
			return ""
		}
		values = numbered(name, values)
	}
	columns := "v, w, n"
	switch {
	case k.key:
		columns += ", id"
	case withKey:
		columns += ", id"
		values += ", '" + harness.Key + "'"
	}
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ")"
}

// numbered turns every ? of a text into the driver's placeholders.
func numbered(name, text string) string {
	sigil := map[string]string{"pgx": "$", "postgres": "$", "sqlserver": "@p", "oracle": ":"}[name]
	if sigil == "" {
		return text
	}
	var b strings.Builder
	n := 0
	for _, c := range text {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteString(sigil + string(rune('0'+n)))
	}
	return b.String()
}
