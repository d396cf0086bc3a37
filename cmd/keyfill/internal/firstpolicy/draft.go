// Package firstpolicy drafts a first policy for the tables of a database or of scripts, for
// keyfill init, and writes into its comments what keyfill check finds and what the INSERTs
// in Go code say.
package firstpolicy

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/policycheck"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/draft"
	"github.com/keyfill/keyfill/policy"
)

// Input says from where the first policy is made: from a database, or from SQL scripts.
type Input struct {
	Database database.Address
	Scripts  []string // the names of files with SQL
	Dialect  string   // the dialect of the scripts
	Schemas  []string // schemas of the database besides the current one
}

// Draft returns the policy for the database, or for the scripts.
func (f *Input) Draft(ctx context.Context) (*draft.Draft, error) {
	if len(f.Scripts) > 0 {
		return f.draftScripts(ctx)
	}
	if f.Dialect != "" {
		return nil, usage.Errorf("--dialect is for --schema, and the database shows its own dialect: leave it out")
	}
	db, d, err := f.Database.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	dsn, _, err := f.Database.DataSource()
	if err != nil {
		return nil, err
	}
	return f.draftDatabase(ctx, db, d, dsn)
}

// draftDatabase returns the policy for the database db, and closes db.
func (f *Input) draftDatabase(ctx context.Context, db *sql.DB, d *dialect.Dialect, dsn string) (*draft.Draft, error) {
	q := catalog.DB(db)
	if d.Grammar.TableCase {
		exact, err := catalog.Exact(ctx, q)
		if err != nil {
			return nil, err
		}
		if exact {
			d = d.WithExactTables()
		}
	}
	over, err := catalog.List(ctx, d, q, f.folded(d))
	if err != nil {
		return nil, err
	}
	if !over.IsComplete() {
		return nil, fmt.Errorf("keyfill reads no list of tables from %s: give CREATE TABLE statements by --schema and --dialect", d.Title)
	}
	first := draft.Of(d, over)
	if first.EnsureSchema, err = check.MayCreate(ctx, d, q); err != nil {
		return nil, err
	}
	if !first.EnsureSchema {
		first.Remarks = append(first.Remarks, "This user may not create tables: have those made that keyfill ddl --dialect "+d.Name+" prints.")
	}
	first.Way = "keyfill plan there --driver " + f.Database.Driver + " --dsn-env VARIABLE"
	for i, schema := range f.folded(d) {
		if d.Family != dialect.FamilySQLite && !slices.ContainsFunc(over.Tables, func(t *catalog.Listed) bool { return t.Schema == schema }) {
			first.Remarks = append(first.Remarks, fmt.Sprintf("The schema %q of --also has no table that this user sees: look at its name.", f.Schemas[i]))
		}
	}
	if len(over.Tables) == 0 {
		first.Remarks = append(first.Remarks, "The database has no table that this user sees. Without an entry every statement passes: keyfill may be installed first, and its policy written later.")
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return first, compareDraft(first, func(cfg *policy.Config) ([]keyfill.Finding, error) {
		return policycheck.Compare(ctx, &f.Database, cfg, dsn, 0)
	})
}

// folded returns the names of the schemas, folded as the catalog compares them.
func (f *Input) folded(d *dialect.Dialect) []string {
	var all []string
	for _, name := range f.Schemas {
		all = append(all, d.FoldTable(name, true))
	}
	return all
}

// compareDraft compares the policy with the database by calling look, and writes the
// findings into the policy's comments. It comments out entries that have an error, and
// repeats the comparison until no entry has an error.
func compareDraft(first *draft.Draft, look func(cfg *policy.Config) ([]keyfill.Finding, error)) error {
	remarks := first.Remarks
	for {
		cfg, err := policy.Parse([]byte(first.Text()))
		if err != nil {
			return err // an error would be a bug in keyfill, since each entry was parsed before
		}
		findings, err := look(cfg)
		if err != nil {
			return err
		}
		withdrawn := false
		first.ClearNotes()
		first.Remarks = slices.Clone(remarks)
		for _, one := range findings {
			note := findingNote(one)
			switch {
			case one.Line > 0 && one.Severity == check.Error && first.Withdraw(one.Line, note):
				withdrawn = true
			case one.Line > 0 && first.Note(one.Line, note):
			case one.Rule == "no-rule" && first.Names(one.Table):
				// The policy's comments describe this table already.
			default:
				first.Remarks = append(first.Remarks, note)
			}
		}
		if !withdrawn {
			return compareLeft(first, look)
		}
	}
}

// compareLeft compares the entries that are commented out with the database too, so that
// their comments say what has to be done before they can be used.
func compareLeft(first *draft.Draft, look func(cfg *policy.Config) ([]keyfill.Finding, error)) error {
	text := first.Left()
	if text == "" {
		return nil
	}
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		return err // an error would be a bug in keyfill, since each line was parsed before
	}
	findings, err := look(cfg)
	for _, one := range findings {
		if one.Severity == check.Error {
			first.NoteLeft(one.Line, findingNote(one))
		}
	}
	return err
}

// findingNote returns the text of a finding for a comment.
func findingNote(one keyfill.Finding) string {
	where := one.Table
	if where != "" && one.Column != "" {
		where += "." + one.Column
	}
	if where != "" {
		where = " of " + where
	}
	return fmt.Sprintf("keyfill check, %s %s%s: %s. Remedy: %s", one.Severity, one.Rule, where, one.Message, one.Remedy)
}
