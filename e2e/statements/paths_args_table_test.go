package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// argumentsDoc holds the table that TestArguments keeps true, between the lines
// that begin it and end it.
const (
	argumentsDoc   = "../../docs/arguments.md"
	argumentsBegin = "<!-- table -->\n"
	argumentsEnd   = "<!-- end of table -->\n"
)

// argumentDrivers are the columns of the table: a driver, and what tries it in
// each of its ways.
var argumentDrivers = []struct {
	name, title string
	engines     []harness.Engine // nil where there is no server
	try         func(t *testing.T, k *argumentKind) (outcome string)
}{
	{"mysql", "go-sql-driver/mysql", harness.MySQLEngines, nil},
	{"pgx", "pgx", []harness.Engine{harness.PgxDefault, harness.PgxSimple}, nil},
	{"postgres", "lib/pq", []harness.Engine{harness.PQDefault, harness.PQBinary}, nil},
	{"sqlite", "modernc.org/sqlite", []harness.Engine{harness.SQLiteFile}, nil},
	{"sqlserver", "go-mssqldb", nil, trySQLServer},
	{"oracle", "go-ora", nil, tryOracle},
}

// The outcomes of an argument in the table.
const (
	outcomeWorks   = "works"
	outcomeFilled  = "filled"
	outcomeKept    = "kept"
	outcomeRefused = "refused: "
	outcomeError   = "the driver's error"
	outcomeRows    = "a list, as without keyfill"
	outcomeNone    = "–"
)

// TestArguments tries every kind of argument with every driver by a statement
// that is filled and by the same statement with a key written by hand through
// the raw driver: both store the same, or are the same error, or ours is refused
// and stores nothing. What it finds is the table of docs/arguments.md.
//
//deviation:filled-inserts | An INSERT into a configured table that may need a key is refused if its first argument is an option or `NamedArgs` of pgx, or if it has `sql.Named` beside `?`: [arguments.md](arguments.md). | PostgreSQL with pgx; SQLite, MySQL | `db.Exec(q, pgx.QueryExecModeExec, 1)` | `unsupported: unfilled` sends it as it is
func TestArguments(t *testing.T) {
	t.Parallel()
	cells := map[[2]string]string{} // by kind and driver
	var mu sync.Mutex
	t.Run("drivers", func(t *testing.T) {
		for _, d := range argumentDrivers {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				try := d.try
				if try == nil {
					try = tryEngines(t, d.engines)
				}
				for _, k := range argumentKinds {
					t.Run(k.name, func(t *testing.T) {
						outcome := outcomeNone
						if k.text(d.name, "t", false) != "" {
							outcome = try(t, &k)
						}
						mu.Lock()
						defer mu.Unlock()
						cells[[2]string{k.name, d.name}] = outcome
					})
				}
			})
		}
	})
	if !t.Failed() {
		compareTable(t, cells)
	}
}

// compareTable compares the table with what was found; a cell of a driver that
// could not be tried stays as it is.
func compareTable(t *testing.T, cells map[[2]string]string) {
	doc, err := os.ReadFile(argumentsDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), argumentsBegin)
	table, after, closed := strings.Cut(rest, argumentsEnd)
	if !found || !closed {
		t.Fatalf("%s has no table", argumentsDoc)
	}
	titles, rule := "| argument |", "|---|"
	for _, d := range argumentDrivers {
		titles += " " + d.title + " |"
		rule += "---|"
	}
	written := strings.Split(table, "\n")
	lines := []string{titles, rule}
	for i, k := range argumentKinds {
		line := "| " + k.name + " |"
		for j, d := range argumentDrivers {
			cell, tried := cells[[2]string{k.name, d.name}]
			if !tried && i+2 < len(written) {
				if row := strings.Split(written[i+2], "|"); len(row) > j+2 {
					cell = strings.TrimSpace(row[j+2])
				}
			}
			line += " " + cell + " |"
		}
		lines = append(lines, line)
	}
	lines = append(lines, "")
	if *harness.UpdateDocs {
		text := before + argumentsBegin + strings.Join(lines, "\n") + argumentsEnd + after
		if err := os.WriteFile(argumentsDoc, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if slices.Equal(lines, written) {
		return
	}
	for i := range max(len(lines), len(written)) {
		var got, want string
		if i < len(lines) {
			got = lines[i]
		}
		if i < len(written) {
			want = written[i]
		}
		if got != want {
			t.Errorf("%s has\n%s\nfound is\n%s", argumentsDoc, want, got)
		}
	}
}

// tryEngines tries a kind on the databases of one driver, on each path; they must
// agree, but for a refusal of one path where another has the driver's error.
func tryEngines(t *testing.T, engines []harness.Engine) func(*testing.T, *argumentKind) string {
	var all []*harness.Scratch
	for _, e := range engines {
		all = append(all, e.Scratch(t))
	}
	return func(t *testing.T, k *argumentKind) string {
		var outcomes []string
		for _, s := range all {
			for _, path := range []string{"exec", "prepared"} {
				outcome := tryArgument(t, s, k, harness.SeveralPaths[path])
				if !slices.Contains(outcomes, outcome) {
					outcomes = append(outcomes, outcome)
				}
			}
		}
		return strings.Join(outcomes, ", or ")
	}
}

// tryArgument stores a kind twice and compares.
func tryArgument(t *testing.T, s *harness.Scratch, k *argumentKind, send func(context.Context, *sql.DB, string, ...any) error) string {
	column := k.column[s.Dialect.Name]
	if column == "" {
		column = "TEXT"
	}
	id := "CHAR(36)"
	if s.IsPostgres() {
		id = "uuid"
	}
	// The drivers cache by text: each kind has tables of its own.
	raw, ours := fmt.Sprintf("raw_%d", slices.IndexFunc(argumentKinds, k.is)), fmt.Sprintf("ours_%d", slices.IndexFunc(argumentKinds, k.is))
	for _, table := range []string{raw, ours} {
		harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS "+table)
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (v %s, w %s, n INT, id %s)", table, column, column, id))
	}
	ctx := context.Background()
	wantErr := send(ctx, s.Raw, handText(column, k.text(s.Driver, raw, true)), k.args...)
	db, _ := s.Open(t, harness.FillID(ours, policy.Table{}))
	defer db.Close()
	err := send(ctx, db, handText(column, k.text(s.Driver, ours, false)), k.args...)
	want, wantID := storedArguments(t, s, raw)
	got, gotID := storedArguments(t, s, ours)
	var refusal *keyfill.Error
	switch {
	case errors.As(err, &refusal):
		if got != "" {
			t.Errorf("refused, and stored %s", got)
		}
		return outcomeRefused + reasonOf(t, err)
	case err != nil && k.key && wantErr == nil, err == nil && wantErr != nil && !k.key:
		t.Errorf("error %v; by hand %v", err, wantErr)
	case err != nil:
		if wantErr == nil || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", wantErr) || got != "" {
			t.Errorf("error %T %v, by hand %T %v; stored %s", err, err, wantErr, wantErr, got)
		}
		return outcomeError
	case got != want && wantErr == nil:
		t.Errorf("stored %s; by hand %s", got, want)
	}
	return judgeKey(t, k, gotID, wantID, wantErr)
}

// judgeKey returns the outcome for the key of a row that is stored.
func judgeKey(t *testing.T, k *argumentKind, got, byHand string, wantErr error) string {
	t.Helper()
	switch {
	case !k.key && harness.IsKey(got):
		return outcomeWorks
	case k.key && wantErr == nil && got == byHand:
		return outcomeKept
	case k.key && harness.IsKey(got) && got != broughtKey && got != zeroKey:
		return outcomeFilled
	}
	t.Errorf("the key is %q; by hand %q, error %v", got, byHand, wantErr)
	return ""
}

// zeroKey is the zero UUID.
const zeroKey = "00000000-0000-0000-0000-000000000000"

// handText writes the other text column for one that takes no text.
func handText(column, query string) string {
	if column == "TEXT" {
		return query
	}
	return strings.ReplaceAll(query, "'w'", "NULL")
}

func (k *argumentKind) is(other argumentKind) bool { return k.name == other.name }

// reasonOf returns the word for a refusal.
func reasonOf(t *testing.T, err error) string {
	t.Helper()
	for _, reason := range argumentReasons {
		if errors.Is(err, reason) {
			return "`" + string(reason) + "`"
		}
	}
	t.Errorf("a refusal for another reason: %v", err)
	return "?"
}

// storedArguments returns the columns of a table's rows, and the last key.
func storedArguments(t *testing.T, s *harness.Scratch, table string) (values, id string) {
	t.Helper()
	rows, err := s.Raw.Query("SELECT v, w, n, id FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var (
			v, w any
			n    sql.NullInt64
			key  sql.NullString
		)
		if err := rows.Scan(&v, &w, &n, &key); err != nil {
			t.Fatal(err)
		}
		values += fmt.Sprintf("(%T %v, %T %v, %v)", v, v, w, w, n)
		id = key.String
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values, id
}
