package upstream_test

import (
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/txtar"
)

// TestUpstreamStatements compares the statements that change the rows with blocks with
// testdata/upstream.txtar. MariaDB, PostgreSQL and SQLite run them in e2e.
func TestUpstreamStatements(t *testing.T) {
	var got []txtar.File
	for _, name := range goldens.Named {
		d, err := dialect.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		install, turn := upstreamStatements(d)
		got = append(got, txtar.File{Name: name + ": install", Data: []byte(install + "\n")},
			txtar.File{Name: name + ": turn", Data: []byte(turn + "\n")})
	}
	fakedb.Compare(t, filepath.Join("testdata", "upstream.txtar"), got)
}

// upstreamStatements are the statements of a dialect about a row with blocks.
func upstreamStatements(d *dialect.Dialect) (install, turn string) {
	e := engine.Of(d)
	return e.ComposeInstall().Text, e.ComposeTurn().Text
}
