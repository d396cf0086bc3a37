package keyfill

import (
	"cmp"
	"maps"
	"time"

	"github.com/keyfill/keyfill/internal/fill"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/rewrite"
)

// Stats counts what a mount has done since it was opened, in statements.
//
// A statement is counted once for each execution, after the driver has accepted it. A bulk
// load counts once for each row. A prepared statement counts once, when it is prepared, if
// its text alone decides that it is kept or passed, if it is refused, or if it is sent
// under the mode off.
type Stats struct {
	// Passed counts statements with a word like INSERT that are not INSERTs
	// into configured tables. Statements without such a word are not counted.
	Passed uint64
	// SessionReads counts the statements that ask the session for a number which keyfill
	// has made instead of the engine, as by lastval(), and were sent: outside of
	// transactions on a pool, and with session_reads: warn.
	SessionReads uint64
	// Tables holds the counts by table, under the name that the policy matched.
	// The caller owns the map.
	Tables map[string]TableStats
}

// OtherTables is the name under which [Stats] counts all tables after the first
// 10,000, since a glob can match any number of them.
const OtherTables = "…"

// Reason is why a statement cannot be filled, as a word of lower-case letters
// and _ that will not change: "select", "no_column_list". It is fit for the
// label of a metric. The words are defined in package rewrite, whose Reasons
// errors.Is finds in an [*Error].
type Reason string

// Text returns the last sentence of the error of such a statement: what is wrong, and
// what to change. It is empty for a word that is no reason.
func (r Reason) Text() string { return rewrite.Reason(r).Error() }

// Cause is why an INSERT stored no key, or why that is not known, as a word of lower-case
// letters and _ that will not change. It is fit for the label of a metric.
type Cause string

// The causes for which an INSERT gets no key and is therefore not sent.
const (
	// CauseStore means that the store gave no number in time, or cannot be used as it
	// is.
	CauseStore Cause = "store"
	// CauseStoreBack means that the store's counter is below integers that it has given
	// before.
	CauseStoreBack Cause = "store_back"
	// CauseStoreBehind means that the store's counter is below keys in the table.
	CauseStoreBehind Cause = "store_behind"
	// CauseExhausted means that the source has no number left.
	CauseExhausted Cause = "exhausted"
	// CauseClock means that the clock shows a time of which no key can be made.
	CauseClock Cause = "clock"
	// CauseWorker means that other processes hold the worker's number, or all worker
	// numbers.
	CauseWorker Cause = "worker"
	// CauseCanceled means that the context of the statement ended.
	CauseCanceled Cause = "canceled"
	// CauseOther means anything else, such as a column that does not suit the source.
	CauseOther Cause = "other"
)

// The causes for which a filled INSERT stored no key, or for which it is not known whether
// it did. CauseEngine and CauseColumn are also the causes for an INSERT that gets no key
// because a query that keyfill sent about it failed.
const (
	// CauseEngine means that the database answered with an error.
	CauseEngine Cause = "engine"
	// CauseColumn means that the database, or the driver, answered with an error, and
	// that the key column is of another type than the keys. The log names the needed
	// change of the policy.
	CauseColumn Cause = "column"
	// CauseConnection means that the driver returned an error that is not an answer of the
	// database. The connection may be broken.
	CauseConnection Cause = "connection"
	// CauseTransaction means that the transaction in which the keys were made was rolled
	// back, or ended before the INSERT did.
	CauseTransaction Cause = "transaction"
	// CauseRows means that the INSERT returns rows, as by RETURNING, which keyfill does
	// not read.
	CauseRows Cause = "rows"
	// CauseUnended means that the rows of the INSERT were not read to their end, or
	// that the program closed a bulk load before its end. If the connection of a load
	// broke, the cause is CauseConnection.
	CauseUnended Cause = "unended"
	// CauseConflict means that the INSERT is an upsert, or leaves out rows that exist
	// already, and that the answer does not identify the new rows.
	CauseConflict Cause = "conflict"
	// CauseCount means that the database reports a number of rows other than the number
	// sent, since a trigger left some out, or that it reports no number.
	CauseCount Cause = "count"
	// CauseText means that the query has further statements, so that it is not known which
	// statement the answer belongs to.
	CauseText Cause = "text"
)

// TableStats counts what was done with the INSERTs into one table.
type TableStats struct {
	Filled  uint64            // statements that got at least one key, stored or not
	Keys    uint64            // keys that were added
	Kept    uint64            // statements that brought their own keys
	Refused map[Reason]uint64 // statements that cannot be filled, by cause

	// Entry is the entry of the policy that the table matched, as the file spells it,
	// or [OtherTables]. Unlike the name of a table it is fit for the label of a metric:
	// a glob is one entry, however many tables it matches.
	Entry string

	// Stored, LeftOut, Failed and Unknown count the filled statements by their outcome.
	// Their sum is Filled when no execution is under way, no rows are being read, no bulk
	// load is being sent, and no filled statement was withheld.
	//
	// Stored counts the statements that stored all of their keys, by the number of rows
	// that the engine answered with. The table is not read: a trigger, a rule or a view
	// may have stored another key, or none, and have counted the row. A later rollback
	// is not seen either, and the statement stays counted.
	Stored uint64
	// LeftOut counts the statements that succeeded and stored none of their keys: the
	// rows of an upsert or of INSERT IGNORE existed already, or the INSERT followed
	// EXPLAIN.
	LeftOut uint64
	// Failed counts the statements that ended in an error and stored no key.
	Failed uint64
	// Unknown counts the statements for which it is not known whether all keys, or
	// none, are stored. UnknownBy has the causes.
	Unknown uint64

	// FailedBy counts by cause the statements in Failed, and also the INSERTs that got no
	// key and were not sent, which are not in Filled. Refused statements are in Refused
	// alone.
	FailedBy map[Cause]uint64
	// UnknownBy counts the statements in Unknown by cause.
	UnknownBy map[Cause]uint64

	// NoKeyAt is when an INSERT last got no key, not counting INSERTs whose context had
	// ended, or about which a question to the database had failed. KeysSince counts the
	// keys that were added since then; for a mount of several databases it is the least of
	// their counts.
	NoKeyAt   time.Time `json:",omitzero"`
	KeysSince uint64

	// Withheld counts the filled and refused statements that were sent as they
	// came, because of the mode or of "unsupported: unfilled".
	Withheld uint64

	// Suspects counts the keys that the engine found in the table already: another program
	// fills the column too, or the store has gone back (its counter is lower than before).
	// SuspectAt is when the last such key was found.
	Suspects  uint64
	SuspectAt time.Time `json:",omitzero"`
}

// SourceStats is the state of one source of the policy at one moment. It marshals to JSON.
// A source whose name holds {table}, {schema} or {value:x}, and one that is written in
// place under a glob, has several states, a tenant's for example: a SourceStats is the sum
// over these states. So there are no more SourceStats than sources in the policy, and no
// name in them comes from a statement or a value.
type SourceStats struct {
	// Source is the name of the source: the name that the policy gives the source or
	// its state, with its words in braces, or entry.column of a source in place. It is
	// fit for the label of a metric.
	Source string
	Kind   string   // the kind as the policy spells it, such as "sequence"
	Tables []string // the entries of the policy that use it, as the file spells them
	Store  string   // the name of the store in the policy; empty for the tables' own database, or no store
	States int      // how many states are in use; 0 before the first key, and for a kind without a state

	// Next is the next key's number; 0 if it is not known in advance. Left counts the
	// numbers that are reserved and not yet used. Block is how many numbers the next fetch
	// reserves. If the source has several states, Next is 0, Left the sum, and Block the
	// greatest.
	Next, Left, Block int64

	// Max is the greatest number; 0 if the source has no greatest number, and before the
	// store has answered. Remaining is how many numbers are left up to Max, as far as this
	// process knows; of several states it is the least. PerSecond is how many numbers this
	// process uses a second, of late; it is 0 in the first ten seconds. Reserved numbers
	// that the process gives up count as used. Exhausted is when Remaining will be used up
	// at that rate, the zero Time where that is not known or lies centuries ahead; for a
	// snowflake it is when the time in its keys ends.
	Max       int64
	Remaining int64
	PerSecond float64
	Exhausted time.Time `json:",omitzero"`

	// Fetches counts the answers of the store that brought numbers, time or a lease,
	// FetchErrors the attempts that failed, and Waits the draws of keys that had to
	// wait. A source that draws keys in the transactions of statements fetches at each
	// draw.
	Fetches, FetchErrors, Waits uint64

	// LastFetch and SlowestFetch are how long the last and the slowest of Fetches took,
	// and FetchTime is how long all took together.
	LastFetch, SlowestFetch, FetchTime time.Duration

	LastFetchAt time.Time               `json:",omitzero"` // when the last successful fetch ended
	FetchTimes  []keysource.FetchBucket // the fetches by duration, in buckets that never change; nil if nothing is fetched

	// LastKeyAt is about when the last key was made. For a snowflake it is the time in its
	// last key. For other sources it is the last time that a key needed the store or a new
	// block. Up to Block keys may have been made since, because taking a key from a block
	// reads no clock.
	LastKeyAt time.Time `json:",omitzero"`

	// Worker is the number of the worker, -1 if the source has none, or none yet. Lease is
	// how long a lease lasts, 0 if the source has none. LeaseHeld reports whether the
	// process has its lease, and LeaseUntil when that ends unless it is renewed. Of several
	// states they describe the one whose lease ends first. Making a key renews the lease.
	// So the lease of an idle process expires, and the next key takes a new lease.
	// LeasesLost counts the expired leases that another process had taken meanwhile, and
	// LeaseLostAt is when the last of these was noticed.
	Worker     int64
	Lease      time.Duration
	LeaseHeld  bool
	LeaseUntil time.Time `json:",omitzero"`
	LeasesLost uint64

	LeaseLostAt time.Time `json:",omitzero"`

	// LastError is the error of the last attempt to fetch, empty after one has succeeded.
	// It holds no DSN, key or argument. LastErrorAt is when the last failed attempt ended.
	LastError   string
	LastErrorAt time.Time `json:",omitzero"`

	// Upstream is the name of the store from which the source gets its integers in blocks.
	// If the source has no such store, Upstream is empty and the fields below are zero.
	// UpstreamLeft is how many integers the application's database had left of such blocks
	// when this process saw them last: other processes use them too. Of several states it
	// is the sum. UpstreamBlock is the size of the next block.
	Upstream string `json:",omitempty"`

	UpstreamLeft, UpstreamBlock int64

	// UpstreamFetches counts the blocks that this process has fetched from that store, and
	// UpstreamFetchErrors its attempts that have failed.
	UpstreamFetches, UpstreamFetchErrors uint64

	// UpstreamError is the error of the last attempt to fetch from that store, or
	// empty.
	UpstreamError string `json:",omitempty"`
}

// sourcesOf returns the states of the sources of open databases, with the counts of the
// sources of closed ones.
func sourcesOf(all []*fill.Database, past numbering.PastSources) []SourceStats {
	var sources []*keys.Sources
	for _, one := range all {
		sources = append(sources, one.Sources)
	}
	var found []SourceStats
	for _, s := range keys.SourceStates(sources, past) {
		found = append(found, SourceStats(s))
	}
	return found
}

// statsOf returns the counts of the statements on one database.
func statsOf(db *fill.Database) Stats {
	passed, tables := db.Tally.Counts()
	s := Stats{Passed: passed, SessionReads: db.Tally.SessionReads.Load(), Tables: make(map[string]TableStats, len(tables))}
	for name, c := range tables {
		t := TableStats{
			Filled: c.Filled, Keys: c.Keys, Kept: c.Kept,
			Entry: cmp.Or(c.Entry, OtherTables), Stored: c.Stored, LeftOut: c.LeftOut,
			Failed: c.Failed, FailedBy: byCause(c.FailedBy), Unknown: c.Unknown, UnknownBy: byCause(c.UnknownBy),
			Withheld: c.Withheld, Suspects: c.Suspects,
			NoKeyAt: c.NoKeyAt, KeysSince: c.KeysSince, SuspectAt: c.SuspectAt,
		}
		if len(c.Refused) > 0 {
			t.Refused = make(map[Reason]uint64, len(c.Refused))
		}
		for reason, n := range c.Refused {
			t.Refused[Reason(reason)] = n
		}
		s.Tables[cmp.Or(name, OtherTables)] = t
	}
	return s
}

// add adds the counts of other to s, and keeps no reference to the maps of other.
func (s *Stats) add(other Stats) {
	s.Passed += other.Passed
	s.SessionReads += other.SessionReads
	for name, from := range other.Tables {
		if s.Tables == nil {
			s.Tables = map[string]TableStats{}
		}
		t := s.Tables[name]
		t.Entry = from.Entry
		t.Filled += from.Filled
		t.Keys += from.Keys
		t.Kept += from.Kept
		t.Stored += from.Stored
		t.LeftOut += from.LeftOut
		t.Failed += from.Failed
		t.Unknown += from.Unknown
		t.Withheld += from.Withheld
		t.Suspects += from.Suspects
		if t.NoKeyAt.IsZero() || !from.NoKeyAt.IsZero() && from.KeysSince < t.KeysSince {
			t.KeysSince = from.KeysSince
		}
		t.NoKeyAt, t.SuspectAt = later(t.NoKeyAt, from.NoKeyAt), later(t.SuspectAt, from.SuspectAt)
		t.Refused = summed(t.Refused, from.Refused)
		t.FailedBy = summed(t.FailedBy, from.FailedBy)
		t.UnknownBy = summed(t.UnknownBy, from.UnknownBy)
		s.Tables[name] = t
	}
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// byCause returns the counts with the words of their causes as keys.
func byCause(counts map[report.Cause]uint64) map[Cause]uint64 {
	var by map[Cause]uint64
	for c, n := range counts {
		by = summed(by, map[Cause]uint64{Cause(c.String()): n})
	}
	return by
}

// summed returns a map with the sums of the values of two maps, neither of which it
// changes.
func summed[K comparable](a, b map[K]uint64) map[K]uint64 {
	if b == nil {
		return a
	}
	all := maps.Clone(b)
	for k, n := range a {
		all[k] += n
	}
	return all
}
