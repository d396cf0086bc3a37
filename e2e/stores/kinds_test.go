package stores_test

import (
	"time"

	"github.com/keyfill/keyfill/policy"
)

// The kinds of sources under test. Each fills a table of its own.
const (
	sequence = iota
	recycled
	flake
	joined
)

const (
	// block is how many integers a process fetches at a time, and series how many it owns.
	block  = 1000
	series = 50 * block

	// seriesLease and workerLease are near the least that a policy takes, so that leases
	// run out often.
	seriesLease = 2 * time.Second
	workerLease = 5 * time.Second
)

// joinedShare is the share of the processes that use the numbering without gaps.
const joinedShare = 5

// kind is a source under test.
type kind struct {
	name   string
	source policy.Source
	leased bool // a lease says whose its integers are
}

// central is the name of the store under test in the policy.
const central = "central"

// kinds are what the stores keep: the states of all but joined are in the store that the
// policy names, and joined counts in the application's own database.
var kinds = []kind{
	sequence: {name: "sequence", source: policy.Source{Kind: policy.KindSequence, Store: central, EnsureSchema: true, Block: block}},
	recycled: {name: "recycled", leased: true, source: policy.Source{Kind: policy.KindRecycled, Store: central, EnsureSchema: true,
		Block: block, Series: series, Lease: seriesLease}},
	flake:  {name: "flake", leased: true, source: policy.Source{Kind: policy.KindSnowflake, Store: central, EnsureSchema: true, WorkerLease: workerLease}},
	joined: {name: "joined", source: policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}},
}

// table returns the name of the table whose keys are of a kind.
func table(of int) string { return "t_" + kinds[of].name }

// config is the policy for the tables of some kinds.
func config(dialect string, of []int, stores map[string]policy.Store) *policy.Config {
	cfg := &policy.Config{Dialect: dialect, Stores: stores, Tables: map[string]policy.Table{}}
	for _, k := range of {
		source := kinds[k].source
		cfg.Tables[table(k)] = policy.Table{Column: "id", InPlace: &source}
	}
	return cfg
}

// schema returns the statements that make the tables. A row says which draw its key is of.
func schema(of []int) []string {
	var all []string
	for _, k := range of {
		all = append(all, "CREATE TABLE "+table(k)+" (id BIGINT NOT NULL PRIMARY KEY, draw BIGINT NOT NULL)")
	}
	return all
}
