package conformance_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/dialect"
)

// sqliteTarget returns a target beside a file that is not there.
func sqliteTarget(t *testing.T, dsn string) conformance.Target {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return conformance.Target{Name: "sqlite", Driver: db.Driver(), DSN: dsn, Dialect: dialect.SQLite()}
}

// TestPlaceExists: a place that is there is not touched, whether a run has made it or not.
func TestPlaceExists(t *testing.T) {
	folder := t.TempDir()
	target := sqliteTarget(t, filepath.Join(folder, "a?b%41.db")[:len(folder)+2]+".db")
	const name = "keyfill_conformance_0123456789abcdef"
	mine := filepath.Join(folder, name)
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(mine, "conformance.db")
	if err := os.WriteFile(note, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := conformance.Options{Rows: 100, Rate: 1_000_000, Only: []string{"catalog"}, Out: new(bytes.Buffer)}
	if _, err := conformance.RunAt(t.Context(), target, o, name); !errors.Is(err, conformance.ErrExists) {
		t.Errorf("%v, want %v", err, conformance.ErrExists)
	}
	// Its files have the names of a run's, and no mark.
	if err := conformance.Drop(t.Context(), target, name); !errors.Is(err, conformance.ErrNotOurs) {
		t.Errorf("%v, want %v", err, conformance.ErrNotOurs)
	}
	if text, err := os.ReadFile(note); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if all, err := conformance.Leftovers(t.Context(), target); err != nil || !slices.Equal(all, []string{name}) {
		t.Errorf("%q, %v", all, err)
	}
}

// TestPlaceLeft: a place that cannot be dropped is printed.
func TestPlaceLeft(t *testing.T) {
	folder := t.TempDir()
	target := sqliteTarget(t, filepath.Join(folder, "a.db"))
	const name = "keyfill_conformance_0123456789abcdef"
	var out bytes.Buffer
	put := putsFile{&out, filepath.Join(folder, name, "of another program")}
	o := conformance.Options{Rows: 100, Rate: 1_000_000, Only: []string{"catalog"}, Out: put}
	report, err := conformance.RunAt(t.Context(), target, o, name)
	if err == nil || report == nil || !strings.Contains(out.String(), filepath.Join(folder, name)+" is left") {
		t.Errorf("%v, %v: %s", report, err, &out)
	}
	if _, err := os.Stat(put.path); err != nil {
		t.Error(err)
	}
}

// putsFile writes a file into a place while a run is at work there.
type putsFile struct {
	*bytes.Buffer
	path string
}

func (p putsFile) Write(text []byte) (int, error) {
	if err := os.WriteFile(p.path, nil, 0o600); err != nil {
		return 0, err
	}
	return p.Buffer.Write(text)
}

// TestWithDatabase: a DSN of SQL Server names the database of the run, and all else as it
// was, in each of its forms.
func TestWithDatabase(t *testing.T) {
	for _, dsn := range []string{
		"sqlserver://u:p%40ss@host:1433?database=shop&encrypt=disable&app+name=x",
		"sqlserver://u:p%40ss@host/instance?Database=shop&encrypt=disable",
		"server=host;user id=u;password={p;x};database=shop;encrypt=disable",
		"server=host;user id=u;password=p;encrypt=disable;",
		"odbc:server=host;user id=u;password={p;x};database=shop;encrypt=disable",
	} {
		want, err := msdsn.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		got, err := msdsn.Parse(conformance.WithDatabase(dsn, "other"))
		if err != nil {
			t.Fatal(err)
		}
		if got.Database != "other" || got.Host != want.Host || got.Instance != want.Instance || got.User != want.User || got.Password != want.Password || got.Encryption != want.Encryption || got.AppName != want.AppName {
			t.Errorf("%s: %+v, want the database other and else %+v", dsn, got, want)
		}
	}
}
