package faults_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

const (
	lossesPage = "../../docs/guarantees.md"

	lossesBegin = "<!-- table of losses: make losses -->\n"
	lossesEnd   = "<!-- end of table of losses -->\n"
)

// lossReason says why nothing has noticed a loss. An empty list stands for all.
type lossReason struct {
	stores, sources, losses []string
	outcome                 lossOutcome // empty for all
	runs                    bool        // only where a process runs on
	text                    string
}

var (
	lossInDatabase = []string{"PostgreSQL", "MariaDB", "SQLite", "Galera"}
	lossOfOthers   = []string{"other", "newcomer", "exclusive"}
)

// lossReasons are the reasons in the order in which the page numbers them. The first one that
// is about a cell counts.
var lossReasons = []lossReason{
	{sources: []string{"snowflake"}, losses: []string{"wiped"},
		text: "A process uses the time that it has reserved without asking, until its next mark, a second or so later. The rows that say which columns a state fills, by which a new process knows that it has to leave out that time, are dropped too."},
	{sources: []string{"snowflake"}, losses: []string{"dump"},
		text: "A process that ended long ago leaves an old mark too. One that runs on raises it with its next mark, a second or so later."},
	{outcome: lossAgain,
		text: "The table has lost the rows together with the state, so the two agree. A program that has noted the keys of the lost rows elsewhere meets them again."},
	{stores: lossInDatabase, losses: lossOfOthers,
		text: "The program that comes first makes the state above the keys of its own table. It does not look at the tables of other programs that use the state."},
	{losses: []string{"newcomer"},
		text: "A database that has not used the store has no trace of the state. It makes the state above its own keys."},
	{losses: []string{"exclusive"},
		text: "With `exclusive: true` the database has no row about the state in the store."},
	{losses: []string{"tenants"},
		text: "A state with the name of a tenant may be new at any time, and begins at `start:`. Which rows are the tenant's is not known."},
	{sources: []string{"scope"}, losses: []string{"lowered"},
		text: "A row below the numbers of its parent is no sign of a loss, since an INSERT may bring a number that no row follows. That the next number is there already is found by a unique index; without one, keyfill would have to read all rows of the parent."},
	{sources: []string{"joined"}, losses: []string{"lowered"},
		text: "A node of a cluster may lack what another one has committed, so a process that runs takes no lower row for a loss. It compares the row with the table at its first INSERT only."},
	{stores: []string{"SQLite"}, sources: []string{"sequence"}, losses: []string{"lowered"}, runs: true,
		text: "A sequence on SQLite follows keys that INSERTs bring, so a row below the keys is raised; with `on_behind: error` it is an error. The process that runs on has its block."},
	{sources: []string{"sequence", "recycled"}, runs: true,
		text: "The process that runs on uses its block without asking, and the block is in no table: a process that is started sees only the keys that are stored. A table that keyfill has never filled has no row either. With its next block the running process finds another row, and compares it."},
}

// reasonFor returns the place of the reason for an outcome, -1 if there is none.
func (g lossGroup) reasonFor(outcome lossOutcome, runs bool) int {
	is := func(all []string, one string) bool { return len(all) == 0 || slices.Contains(all, one) }
	return slices.IndexFunc(lossReasons, func(r lossReason) bool {
		return is(r.stores, g.store.name) && is(r.sources, g.source.name) && is(r.losses, g.loss.name) &&
			(r.outcome == "" || r.outcome == outcome) && (runs || !r.runs)
	})
}

// lossTable is the table of the page.
type lossTable struct {
	numbers map[int]int // of reasons on the page, by their places
	reasons []string
	missing []string // the cells that need a reason and have none
}

// cell returns what the page says of a group.
func (l *lossTable) cell(g lossGroup, of [lossVariants]lossOutcome) string {
	anew, runs := l.words(g, false, of[0], of[1]), l.words(g, true, of[2], of[3])
	if anew == runs {
		return anew
	}
	return anew + "; " + runs
}

// words returns what the page says of a column with a unique index and of one without.
func (l *lossTable) words(g lossGroup, runs bool, indexed, plain lossOutcome) string {
	words := map[lossOutcome]string{
		lossTwice: "twice", lossStopped: "index", lossTold: "told", lossAgain: "again", lossGoesOn: "goes on", lossNone: "–",
	}
	text := words[plain]
	switch {
	case plain == lossTwice && indexed == lossTwice:
		text = "twice in two"
	case plain == lossTwice && indexed == lossStopped, plain == indexed:
	case plain == lossNone:
		text = words[indexed]
	default:
		text = words[indexed] + " / " + text
	}
	for _, outcome := range []lossOutcome{plain, indexed} {
		if outcome == lossTwice || outcome == lossAgain {
			return text + l.number(g, outcome, runs)
		}
	}
	return text
}

// number returns the number of a reason in brackets.
func (l *lossTable) number(g lossGroup, outcome lossOutcome, runs bool) string {
	place := g.reasonFor(outcome, runs)
	if place < 0 {
		l.missing = append(l.missing, g.name())
		return ""
	}
	if l.numbers[place] == 0 {
		l.reasons = append(l.reasons, lossReasons[place].text)
		l.numbers[place] = len(l.reasons)
	}
	return fmt.Sprintf(" (%d)", l.numbers[place])
}

// lossRow is a row of the table, for stores that have the same one.
type lossRow struct {
	stores        []string
	source, cells string
}

// page returns the table and its reasons, and the groups that lack a reason. Stores with the
// same row for a source share it.
func (o *lossOutcomes) page() (page string, missing []string) {
	table := lossTable{numbers: map[int]int{}}
	var rows []*lossRow
	for i := range lossStores {
		store := &lossStores[i]
		for groups := range slices.Chunk(store.groups(), len(lossKinds)) {
			row := &lossRow{stores: []string{store.name}, source: groups[0].source.name}
			for _, g := range groups {
				row.cells += " | " + table.cell(g, o.of(g))
			}
			same := slices.IndexFunc(rows, func(r *lossRow) bool { return r.source == row.source && r.cells == row.cells })
			if same >= 0 {
				rows[same].stores = append(rows[same].stores, store.name)
			} else {
				rows = append(rows, row)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| store | source")
	for _, loss := range lossKinds {
		b.WriteString(" | " + loss.title)
	}
	b.WriteString(" |\n" + strings.Repeat("|---", 2+len(lossKinds)) + "|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s%s |\n", strings.Join(r.stores, ", "), r.source, r.cells)
	}
	b.WriteString("\nWhy nothing notices it:\n\n")
	for i, text := range table.reasons {
		fmt.Fprintf(&b, "%d. %s\n", i+1, text)
	}
	return b.String(), table.missing
}

// writePage writes the table into the page.
func (o *lossOutcomes) writePage() error {
	before, _, after, err := lossesOnPage()
	if err != nil {
		return err
	}
	page, _ := o.page()
	return os.WriteFile(lossesPage, []byte(before+lossesBegin+page+lossesEnd+after), 0o644)
}

func lossesOnPage() (before, table, after string, err error) {
	text, err := os.ReadFile(lossesPage)
	if err != nil {
		return "", "", "", err
	}
	before, rest, found := strings.Cut(string(text), lossesBegin)
	table, after, closed := strings.Cut(rest, lossesEnd)
	if !found || !closed {
		return "", "", "", fmt.Errorf("%s has no table between %q and %q", lossesPage, lossesBegin, lossesEnd)
	}
	return before, table, after, nil
}

// TestLossesPage: the table of docs/guarantees.md is what testdata/losses.txt says.
func TestLossesPage(t *testing.T) {
	outcomes := readLosses(t, lossesFile)
	if *harness.UpdateDocs { // TestLosses writes it again, when it ends
		if err := outcomes.writePage(); err != nil {
			t.Fatal(err)
		}
	}
	_, table, _, err := lossesOnPage()
	if err != nil {
		t.Fatal(err)
	}
	want, missing := outcomes.page()
	for _, name := range missing {
		t.Errorf("%s: no reason says why nothing notices it: add one to lossReasons", name)
	}
	if table != want {
		t.Errorf("%s has the table\n%s\nwant\n%s\nrun make losses", lossesPage, table, want)
	}
}
