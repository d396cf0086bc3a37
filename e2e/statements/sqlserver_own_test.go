package statements_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// TestTDSOwnTable: the columns of a session's own table #mu are asked for in tempdb, on
// the connection that has it, and again after a text that may have changed it.
//
//deviation:filled-inserts | Before the first INSERT into a session's own table `#t` whose source has a state, `tempdb` is asked whether its column takes the keys, and again after a possible change. keyfill does not compare the source's numbers with the rows of `#t`. | SQL Server | `CREATE TABLE #t (id bigint, a int); INSERT INTO #t (a) VALUES (1)` | –
func TestTDSOwnTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	n := &faketds.Numbers{Next: 1, Table: "#mu", Texts: map[string]func(*faketds.NumbersSession){
		"CREATE TABLE #mu (id uniqueidentifier, a int)": func(s *faketds.NumbersSession) { s.Own = "uniqueidentifier" },
		"ALTER TABLE #mu ALTER COLUMN id bigint":        func(s *faketds.NumbersSession) { s.Own = "bigint" },
	}}
	s := faketds.NewServer(t)
	s.Connects(n.Connect)
	cfg := harness.FillID("#mu", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, Block: 1, Start: 1, Create: new(true)}})
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlserver", harness.ServerDSN("sqlserver", s.Listener.Addr())), cfg)
	c := harness.ConnOf(t, db)
	const insert = "INSERT INTO #mu (a) VALUES (1)"
	asked := func() (questions int) {
		for _, call := range s.Take() {
			if strings.Contains(call.Query, "JOIN tempdb.sys.schemas") {
				questions++
				if want := (faketds.Param{Name: "@p1", Value: "tempdb..[#mu]"}); !slices.Contains(call.Params, want) {
					t.Errorf("asked with %v", call.Params)
				}
			}
		}
		return questions
	}

	harness.Must(t, c, "CREATE TABLE #mu (id uniqueidentifier, a int)")
	n.Take()
	s.Take()
	_, err := c.ExecContext(ctx, insert)
	if !errors.Is(err, catalog.ErrType) {
		t.Errorf("into a uniqueidentifier: %v", err)
	}
	if sent := changes(n.Take()); len(sent) > 0 {
		t.Errorf("into a uniqueidentifier: sent %q", sent)
	}
	if got := asked(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}

	harness.Must(t, c, "ALTER TABLE #mu ALTER COLUMN id bigint", insert, insert)
	// When a statement runs that was prepared is not seen, so that each text is a doubt.
	if got := asked(); got < 1 || got > 2 {
		t.Errorf("behind ALTER TABLE: asked %d times, want once an INSERT", got)
	}
	if _, stored, _ := n.State(); !slices.Equal(stored, []int64{1, 2}) {
		t.Errorf("stored %v", stored)
	}

	// Another session has no such table: what it says of its INSERT is the engine's.
	other := harness.ConnOf(t, db)
	n.Fails = func(text string) *faketds.Error {
		if strings.HasPrefix(text, "INSERT") {
			return &faketds.Error{Number: 208}
		}
		return nil
	}
	if _, err := other.ExecContext(ctx, insert); err == nil || errors.Is(err, catalog.ErrType) || !strings.Contains(err.Error(), "Fehler") {
		t.Errorf("without a table: %v", err)
	}
}
