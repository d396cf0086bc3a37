package dialect_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

// TestTransactions: every engine's savepoint has a name.
func TestTransactions(t *testing.T) {
	for _, d := range dialect.All() {
		tx := &d.Transactions
		for _, text := range []string{tx.Set, tx.Undo, tx.Release, tx.Probe} {
			if strings.Count(text, "%") != 1 && text != "" || tx.Set == "" || tx.Undo == "" {
				t.Errorf("%s: %q has no place for the name", d.Name, text)
			}
		}
		if (tx.Probe == "" && tx.Open == "") != (tx.Ended == 0) {
			t.Errorf("%s: %q or %q fails with %d", d.Name, tx.Probe, tx.Open, tx.Ended)
		}
		// Where errors abort, a transaction goes on after one only from a savepoint.
		if d.ErrorsAbort && tx.Release == "" {
			t.Errorf("%s: savepoints pile up", d.Name)
		}
	}
	if got := dialect.SQLServer().Transactions; got.Set != "SAVE TRANSACTION %" || got.Undo != "ROLLBACK TRANSACTION %" || got.Release != "" {
		t.Errorf("SQL Server: %+v", got)
	}
	if got := dialect.Oracle().Transactions; got.Set != "SAVEPOINT %" || got.Undo != "ROLLBACK TO SAVEPOINT %" || got.Release != "" {
		t.Errorf("Oracle: %+v", got)
	}
}
