package keys_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

var journalFile = harness.SQLiteDatabase{Name: "journal", Path: "", Params: []string{harness.Patience, "_pragma=journal_mode(DELETE)", "_pragma=synchronous(OFF)"}, Conns: 4}

// sqliteDatabases with the transactions of BeginTx being DEFERRED, as the
// driver begins them, and IMMEDIATE.
var sqliteDatabases = []harness.SQLiteDatabase{
	{Name: "memory", Path: ":memory:", Params: nil, Conns: 1},
	{Name: "shared cache", Path: "file:%s?mode=memory&cache=shared", Params: []string{harness.Patience}, Conns: 4},
	harness.WalFile, harness.WalFile.OneConn(), harness.WalFile.Immediate(),
	journalFile, journalFile.OneConn(), journalFile.Immediate(),
}

// eachSQLite runs a test for databases of SQLite.
func eachSQLite(t *testing.T, databases []harness.SQLiteDatabase, f func(t *testing.T, d harness.SQLiteDatabase, s *harness.Scratch)) {
	for _, d := range databases {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			f(t, d, d.Scratch(t))
		})
	}
}
