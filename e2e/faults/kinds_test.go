package faults_test

import (
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// faultKind is a source with a state that is put under faults.
type faultKind struct {
	name   string
	source policy.Source
	form   form
	before []string // makes what has to be there

	// state is the table in which a reservation waits for a session that has locked its
	// rows; if the engine keeps the state, or no row holds it, the table of the keys, for
	// which the INSERT waits.
	state string

	// joined reports that keys belong to the transaction of the INSERT, and the keys of
	// one that was rolled back come again.
	joined bool

	workers bool // each process has a worker's number, given or leased
	servers bool // not on SQLite
	single  bool // statements of several rows are refused
}

// faultKinds returns every source that has a state, as it is on an engine.
func faultKinds(e harness.Engine) []faultKind {
	joined := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}
	all := []faultKind{
		{name: "sequence", source: faultSequence, state: "keyfill_sequences"},
		{name: "snowflake", source: faultSnowflake, state: "keyfill_workers", workers: true},
		{name: "joined", source: joined, form: form{Gapless: true}, state: "keyfill_sequences", joined: true},
		{name: "scoped", source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Scope = &policy.Scope{{Column: "parent"}} }),
			form: form{Listed: true, Scoped: true, Gapless: true}, state: "keyfill_sequences", joined: true},
		{name: "maxplusone", source: harness.Mapped(policy.KindMaxPlusOne, nil),
			form: form{Unique: true, Gapless: true}, state: "t", joined: true},
		{name: "optimistic", source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Lock = policy.LockOptimistic }), state: "keyfill_sequences"},
		{name: "procedure", source: harness.Mapped(policy.KindSequence, func(s *policy.Source) { s.Via = policy.ViaProcedure }), state: "keyfill_sequences", servers: true},
		{name: "native", source: policy.Source{Kind: policy.KindNative, Sequence: "numbers", Block: 50},
			before: []string{"CREATE SEQUENCE numbers INCREMENT BY 50"}, state: "t", servers: true},
		{name: "pseudorandom", source: harness.Mapped(policy.KindPseudorandom, nil), form: form{Listed: true, Column: "INT"}, state: "keyfill_sequences"},
		{name: "scatter", source: harness.Mapped(policy.KindScatter, nil), form: form{Listed: true}, state: "keyfill_sequences"},
		{name: "coprime", source: harness.Mapped(policy.KindCoprime, func(s *policy.Source) { s.Length = 6 }),
			form: form{Listed: true, Column: "VARCHAR(6)"}, state: "keyfill_sequences"},
		{name: "composite", source: harness.Mapped(policy.KindComposite, nil),
			form: form{Listed: true, Column: "CHAR(20)"}, state: "keyfill_workers", workers: true},
		{name: "leased", source: harness.Mapped(policy.KindSnowflake, func(s *policy.Source) { s.WorkerLease = 5 * time.Second }),
			state: "keyfill_workers", workers: true, servers: true},
		{name: "recycled", source: harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Series, s.Lease = 500, time.Second }), state: "keyfill_series"},
	}
	all = append(all, keyTableKinds()...)
	return slices.DeleteFunc(all, func(k faultKind) bool { return k.servers && e.Server == nil })
}

// keyTableKinds are sequences in a table that was there before: with a row for
// each that holds the next number, and with one row that holds the last and is
// compared.
func keyTableKinds() []faultKind {
	return []faultKind{
		{name: "table-next", state: "serials",
			before: []string{"CREATE TABLE serials (name VARCHAR(20) NOT NULL PRIMARY KEY, serial BIGINT NOT NULL)", "INSERT INTO serials VALUES ('things', 41)"},
			source: policy.Source{Kind: policy.KindSequence, Table: &policy.KeyTable{
				Name: "serials", Key: "name", Row: "things", Value: "serial", Stored: policy.StoredNext}}},
		{name: "table-last", state: "last_number",
			before: []string{"CREATE TABLE last_number (number BIGINT NOT NULL, version BIGINT NOT NULL)", "INSERT INTO last_number VALUES (0, 7)"},
			source: policy.Source{Kind: policy.KindSequence, Lock: policy.LockOptimistic, Table: &policy.KeyTable{
				Name: "last_number", Value: "number", Stored: policy.StoredLast, Version: "version"}}},
	}
}

// often returns the kind as one that reserves often.
func (k faultKind) often() faultKind {
	if k.source.Block == 0 && !k.joined && !k.workers {
		k.source.Block = 5
	}
	return k
}

// numbered reports whether each process is given a worker's number.
func (k faultKind) numbered() bool { return k.workers && k.source.WorkerLease == 0 }

// drawnOnce reports whether keys of a transaction that was rolled back do not come
// again either. On SQLite the rows of the state are rolled back with it.
func (k faultKind) drawnOnce(e harness.Engine) bool {
	return !k.joined && (e.Server != nil || k.workers)
}

// config is the policy for a table whose id comes from the source.
func (k faultKind) config(e harness.Engine, table string) *policy.Config {
	cfg := harness.FillID(table, policy.Table{InPlace: &k.source})
	cfg.Dialect = e.Dialect.Name
	cfg.StoreWait = jobPatience // the default may pass on a busy machine
	return cfg
}

// swarm makes an empty database with the table t and what the kind needs, for
// processes.
func (k faultKind) swarm(t *testing.T, e harness.Engine) *swarm {
	t.Helper()
	w := newSwarm(t, e, slices.Concat(k.before, k.form.table("t")))
	if e.IsPostgres() {
		// Of sessions that wait for each other one gets an error after a second else.
		w.setting("deadlock_timeout = '20ms'")
	}
	w.use(k.source)
	w.job.Form = k.form
	w.drawnOnce = k.drawnOnce(e)
	return w
}

// setting changes a setting of the sessions of the swarm's database on
// PostgreSQL that are opened from now on.
func (w *swarm) setting(assignment string) {
	w.t.Helper()
	var name string
	if err := w.raw.QueryRow("SELECT current_database()").Scan(&name); err != nil {
		w.t.Fatal(err)
	}
	harness.Exec(w.t, w.raw, "ALTER DATABASE "+name+" SET "+assignment)
}

// eachFaultKind runs a test for each kind on each engine; by turns for a fifth of them.
func eachFaultKind(t *testing.T, engines []harness.Engine, f func(t *testing.T, e harness.Engine, k faultKind)) {
	for place, e := range harness.ByTurns(t, engines) {
		for _, k := range kindsByTurns(t, e, place, 5) {
			runFaultKind(t, e, k, f)
		}
	}
}

// kindsByTurns returns the kinds of an engine, by turns one of each few of them, and others
// of engines in places that follow each other.
func kindsByTurns(t *testing.T, e harness.Engine, place, each int) (kinds []faultKind) {
	t.Helper()
	for i, k := range faultKinds(e) {
		if testturn.Of(t, place+i, each) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// eachFaultKindByTurns runs a test for each kind on one of the engines, by turns for a
// fifth of the kinds, and with make soak on each of the engines. The first kind has the
// engine of that turn, so that tests of different turns put one kind under their faults on
// different engines. Without turns every kind meets every engine in TestFaultKill.
func eachFaultKindByTurns(t *testing.T, turn int, engines []harness.Engine, f func(t *testing.T, e harness.Engine, k faultKind)) {
	if harness.Soaking() {
		eachFaultKind(t, engines, f)
		return
	}
	for i, k := range faultKinds(engines[0]) {
		if !testturn.Of(t, i, 5) {
			continue
		}
		e := engines[(turn+i)%len(engines)]
		if k.servers && e.Server == nil {
			e = engines[(turn+i+1)%len(engines)]
		}
		runFaultKind(t, e, k, f)
	}
}

// runFaultKind runs a test for a kind on an engine. A long run has the machine for itself.
func runFaultKind(t *testing.T, e harness.Engine, k faultKind, f func(t *testing.T, e harness.Engine, k faultKind)) {
	t.Run(e.Name+"/"+k.name, func(t *testing.T) {
		if !harness.Soaking() {
			t.Parallel()
		}
		f(t, e, k)
	})
}
