package firstpolicy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/internal/schemafile"
	"github.com/keyfill/keyfill/policy"
)

// draftScripts returns the policy for the tables that files of SQL declare.
func (f *Input) draftScripts(ctx context.Context) (*draft.Draft, error) {
	switch {
	case f.Database != database.Address{}:
		return nil, usage.Errorf("--schema replaces the database: leave --driver, --dsn and --dsn-env out")
	case f.Dialect == "":
		return nil, usage.Errorf("say --dialect with --schema, one of %s", dialect.Names())
	case len(f.Schemas) > 0:
		return nil, usage.Errorf("--also is for a database, and --schema reads all tables: leave --also out")
	}
	d, err := dialect.ByName(f.Dialect)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	var scripts []io.Reader
	for _, name := range f.Scripts {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		scripts = append(scripts, file)
	}
	if d.Family == dialect.FamilySQLite {
		return f.draftSQLite(ctx, scripts)
	}
	over, unread, err := schemafile.Read(d, scripts...)
	if err != nil {
		return nil, err
	}
	if len(over.Tables) == 0 {
		return nil, errNoTable
	}
	first := draft.Of(d, over)
	f.tellUnread(first, unread)
	return first, compareDraft(first, func(cfg *policy.Config) ([]keyfill.Finding, error) {
		tables, err := relation.NewTables(table.Options{Policy: cfg}, drivers.Facts{Dialect: d}, []*dialect.Dialect{d})
		if err != nil {
			return nil, err
		}
		found, err := check.Run(ctx, check.Options{Tables: tables, Overview: over})
		var findings []keyfill.Finding
		for _, one := range found {
			findings = append(findings, keyfill.Finding(one))
		}
		return findings, err
	})
}

var errNoTable = errors.New("the schema declares no table: name a file with CREATE TABLE statements, and their dialect in --dialect")

// tellUnread writes into the comments which statements were not understood.
func (f *Input) tellUnread(first *draft.Draft, unread []schemafile.Unread) {
	for _, one := range unread {
		first.Remarks = append(first.Remarks, fmt.Sprintf("The statement %s of line %d was not understood: what it declares is missing here.", one.What, one.Line))
	}
}

// draftSQLite executes the scripts on a SQLite database in a temporary folder, and returns
// the policy for that database: only SQLite itself knows all of its grammar. It executes
// only the statements that create and change tables.
func (f *Input) draftSQLite(ctx context.Context, scripts []io.Reader) (*draft.Draft, error) {
	folder, err := os.MkdirTemp("", "keyfill-init-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	dsn := "file:" + filepath.ToSlash(filepath.Join(folder, "schema.db")) + "?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	unread, err := schemafile.Execute(ctx, db, scripts...)
	if err != nil {
		return nil, err
	}
	f.Database.Driver = "sqlite"
	first, err := f.draftDatabase(ctx, db, dialect.SQLite(), dsn)
	if err != nil {
		return nil, err
	}
	if first.IsEmpty() {
		return nil, errNoTable
	}
	f.tellUnread(first, unread)
	return first, nil
}
