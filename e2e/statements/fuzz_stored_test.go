package statements_test

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// The FuzzStored targets make programs of their input: INSERTs of many forms
// between transactions, temporary tables, other schemas and DDL. Each program
// runs twice, through the plain driver in a database whose engine makes the keys,
// and through keyfill in another one. What is stored must be the same but for the
// keys, and what keyfill reports must be true.
//
//	make fuzz FUZZ=FuzzStored FUZZTIME=200000x
//
// runs 200,000 programs of storedSeed on each engine, without "go test -fuzz". Its engine
// looks for inputs that reach new code of this process, which says nothing of what a
// server does with them; it runs each of these up to a minute long to make it shorter;
// and each of its processes starts a server. See fuzz_long_test.go.

// FuzzStoredSQLite compares in memory, in this process.
func FuzzStoredSQLite(f *testing.F) {
	fuzzStored(f, []harness.Engine{harness.SQLiteMemory})
}

// FuzzStoredMariaDB compares on MariaDB in three modes of its driver.
func FuzzStoredMariaDB(f *testing.F) {
	fuzzStored(f, []harness.Engine{
		{Name: "mysql", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "multiStatements=true"},
		{Name: "mysql-interpolate", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "multiStatements=true&interpolateParams=true"},
		{Name: "mysql-found", Driver: "mysql", Dialect: dialect.MariaDB(), Server: harness.MariaDB, Params: "multiStatements=true&clientFoundRows=true"},
	})
}

// FuzzStoredPostgreSQL compares on PostgreSQL, through pgx in two modes and lib/pq.
func FuzzStoredPostgreSQL(f *testing.F) {
	fuzzStored(f, []harness.Engine{harness.PgxDefault, harness.PgxSimple, harness.PQDefault})
}

// storedSeeds returns how many programs a plain "go test" runs on an engine.
func storedSeeds(t testing.TB) uint64 { return testturn.Share[uint64](t, 90, 45) }

// fuzzStored fuzzes programs on modes of one engine, the first byte says on which.
func fuzzStored(f *testing.F, modes []harness.Engine) {
	fuzzPairs(f, modes, newTwins, storedSeeds(f))
}

// newTwins makes twins of some modes.
func newTwins(t testing.TB, modes []harness.Engine) (pairs []pair) {
	for _, e := range modes {
		pairs = append(pairs, newTwin(t, e))
	}
	return pairs
}

// fuzzPairs fuzzes programs on pairs of databases, one for each mode.
func fuzzPairs(f *testing.F, modes []harness.Engine, newPairs newPairs, seeds uint64) {
	if text := os.Getenv("KEYFILL_FUZZ"); text != "" {
		fuzzAtLength(f, modes, newPairs, text)
		return
	}
	for i := range seeds {
		f.Add(storedSeed(i))
	}
	pairs := newPairs(f, modes)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		// Its own handles: an input that failed must fail when it is run alone.
		w := pairs[int(input[0])%len(pairs)]
		defer w.close()
		if err := w.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.run(t, t.Name(), input[1:])
	})
	for _, w := range pairs {
		w.seen().report(f)
	}
}

// storedSeed returns the input of number i: bytes without a pattern, the same ones
// at each run.
func storedSeed(i uint64) []byte {
	var seed []byte
	for n := uint64(0); len(seed) < 240; n++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, i), n))
		seed = append(seed, sum[:]...)
	}
	seed[0] = byte(i)
	return seed
}
