package fill_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Why a function may read the state of the connection's transaction, although after DDL
// of MySQL and MariaDB a transaction may be open or not (session.Unasked), until Settle
// asks.
const (
	// settles: the function itself calls Settle, IsInTransaction or AskCommits before.
	settles = "settles"

	// settled: the function is called after one that settles.
	settled = "settled"

	// asOpen: the way inside a transaction is right outside of one too, only slower or
	// with fewer facts.
	asOpen = "as open"

	// elsewhere: the branch is of engines whose DDL commits nothing on the side.
	elsewhere = "elsewhere"
)

var readsOfState = map[string]string{
	"executor.NumberedByEngine":  settles,
	"executor.join":              settles,
	"executor.count":             settled, // by numberedByEngine
	"executor.notByEngine":       settled, // by numberedByEngine, or by join
	"executor.setSavepoint":      settled, // by countInsert
	"executor.sendAgain":         settled, // by join
	"executor.take":              settled, // by join
	"executor.unfitStandIn":      asOpen,  // without a database
	"execution.IsBefore":         asOpen,  // join settles then
	"outcome.outcome":            asOpen,
	"outcome.UndoneAfter":        asOpen,
	"outcome.GreatestStored":     asOpen,
	"executor.chooseUntold":      asOpen, // join settles then
	"executor.countTaken":        asOpen,
	"outcome.raiseAbove":         asOpen,
	"outcome.idWhere":            asOpen,
	"outcome.NoteSent":           asOpen,
	"retry.BeforeEnd":            asOpen,
	"retry.dropStored":           asOpen,
	"fill.decidesAgain":          asOpen,    // what failed is not sent once more
	"fill.passes":                elsewhere, // batches: PostgreSQL
	"execution.BeforeEnd":        asOpen,
	"retry.beforeCommit":         asOpen,
	"execution.Ask":              asOpen, // a question without locks; PostgreSQL, where an error aborts, is never Unasked
	"outcome.ask":                asOpen, // as execution.Ask
	"keys.doubt":                 asOpen,
	"counter.reserveAbove":       asOpen,
	"relation.Held":              asOpen,
	"keys.writeClaim":            asOpen,
	"relation.Apart":             elsewhere, // PostgreSQL
	"numbering.Within":           settled,   // by join
	"relation.BeforeCommit":      asOpen,    // nothing is proven
	"relation.EnsureStates":      asOpen,
	"relation.NoteGone":          asOpen,
	"relation.EnsureStatesAgain": asOpen,
	"numbering.Bind":             elsewhere, // states on the connection: SQLite
	"numbering.withinOwn":        elsewhere,
	"numbering.at":               elsewhere,
	"numbering.seriesAt":         elsewhere,
	"numbering.keysEnd":          elsewhere,
	"relation.LockBeforeRead":    elsewhere,
	"relation.catalogTable":      elsewhere, // states on the connection: SQLite
	"relation.places":            asOpen,
}

// settling are the calls after which the state is no longer Unasked.
var settling = []string{"Settle", "IsInTransaction", "AskCommits"}

// TestReadsOfState: each function that compares the state of the transaction with Inside,
// Outside or Unknown is named with the reason why Unasked does no harm there.
func TestReadsOfState(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{".", "execution", "executor", "outcome", "retry", "forecast", "../keys", "../keys/counter", "../keys/numbering", "../keys/relation", "../keys/table", "../explain", "../..", "../../keyfillpgx"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				name := parsed.Name.Name + "." + f.Name.Name
				read, asked := firstRead(f.Body)
				if read == token.NoPos {
					continue
				}
				found[name] = true
				switch why, known := readsOfState[name]; {
				case !known:
					t.Errorf("%s in %s reads the state of the transaction, which may be session.Unasked: settle it before, or say here why that does no harm", name, file)
				case why == settles && (asked == token.NoPos || asked > read):
					t.Errorf("%s in %s reads the state of the transaction before it settles it", name, file)
				}
			}
		}
	}
	for name := range readsOfState {
		if !found[name] {
			t.Errorf("%s reads no state of a transaction any more", name)
		}
	}
}

// firstRead returns where a body first compares the state of the transaction, and where it
// first settles it.
func firstRead(body *ast.BlockStmt) (read, asked token.Pos) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && asked == token.NoPos && slices.Contains(settling, s.Sel.Name) {
				asked = n.Pos()
			}
		case *ast.BinaryExpr:
			field, isField := n.X.(*ast.SelectorExpr)
			state, isState := n.Y.(*ast.SelectorExpr)
			if isField && isState && field.Sel.Name == "Tx" && slices.Contains([]string{"Inside", "Outside", "Unknown"}, state.Sel.Name) && read == token.NoPos {
				read = n.Pos()
			}
		}
		return true
	})
	return read, asked
}
