package table

import (
	"cmp"
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/boxing"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/report"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Table is a configured table.
type Table struct {
	plans.Target
	Rule       *policy.Rule
	Mode       policy.Mode
	KeyColumns []Column
	NewError   errorMaker

	// AsksCatalog reports that the catalog is queried before the first fill, through Gate.
	AsksCatalog bool
	Gate        *Gate

	// tally counts INSERTs into the table; nil before the first.
	tally atomic.Pointer[report.TableTally]

	// LastIDKey is the index of the key that LastInsertId returns, -1 if it returns the
	// driver's own answer.
	LastIDKey int
}

// Column is a key column, with the source of its keys.
type Column struct {
	ID     int64 // distinguishes the column from the database's other key columns; 0 if its table is not remembered, or if its state (stored counter) has several names
	Rule   policy.RuleKey
	Name   string
	Layout dialect.Layout
	Source keysource.Source // nil for a source with a stored state: see Drawing.Counter
	text   bool             // keys are text with an alphabet of their own, or decimal text

	InTransaction bool // keys belong to the transaction of their INSERT
	OnConnection  bool // keys are drawn on the connection of their INSERT

	// Shape maps the numbers of a counter to keys; nil if the numbers are the keys, or the
	// source has no counter.
	Shape keysource.Mapping
}

// IsInteger reports whether keys are sent as integers.
func (k *Column) IsInteger() bool { return k.Rule.Integer && k.Layout == "" }

// sqlType returns the type to which a query casts a key: the engine accepts it for
// every column that takes the keys. PostgreSQL assigns uuid to text too, but not text
// to uuid.
func (k *Column) sqlType() string {
	switch {
	case k.text:
		return "text"
	case k.IsInteger():
		return "bigint"
	case k.Layout.Bytes():
		return "bytea"
	}
	return "uuid"
}

// TallyIn returns the counts of INSERTs into the table. It remembers them, so that
// later calls need no lock. c is the Tally of the table's database.
func (t *Table) TallyIn(c *report.Tally) *report.TableTally {
	if counts := t.tally.Load(); counts != nil {
		return counts
	}
	counts := c.Of(t.Table, t.Rule.Entry)
	t.tally.Store(counts)
	return counts
}

// Of returns the table of an INSERT of a plan.
func Of(in *plans.Insert) *Table { return in.Target.Owner.(*Table) }

// KeyError returns the error for a key that could not be made. An error of the driver
// on the statement's own connection is returned unchanged, unless the engine has
// stopped the statement.
func (t *Table) KeyError(i int, err error) error {
	if sqlcode.Answered(err) && !report.Ours(err) && !report.IsStopped(err) {
		return err
	}
	return t.NewError(t.Table, t.KeyColumns[i].Name, -1, report.Stopped(err))
}

// EndOfKeys returns the first day on which some key column of the table can get no more
// keys; it is empty if there is none.
func (t *Table) EndOfKeys() string {
	first := ""
	for i := range t.KeyColumns {
		if src := t.KeyColumns[i].Rule.Source; OfWorkers(src) {
			day := src.SnowflakeOptions().Bits.End().Format(time.DateOnly)
			if first == "" || day < first {
				first = day
			}
		}
	}
	return first
}

// MadeFrom returns the columns that the table's keys are made from, as in "from sender, no",
// or "ref from sender, no" if the table has several key columns. It is empty if there are
// none.
func (t *Table) MadeFrom() string {
	var all []string
	for i := range t.KeyColumns {
		k := &t.KeyColumns[i]
		if k.Rule.From == nil {
			continue
		}
		var columns []string
		for _, c := range k.Rule.From {
			columns = append(columns, c.Column)
		}
		text := "from " + strings.Join(columns, ", ")
		if len(t.KeyColumns) > 1 {
			text = k.Name + " " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// Reported converts a key, as it was bound or as the engine returned it, to the type that a
// Recorder (see keyfill.Record) shows.
func (k *Column) Reported(v driver.Value) any {
	switch v := v.(type) {
	case uuid.UUID:
		return v
	case [16]byte:
		return uuid.UUID(v)
	case string:
		if k.text {
			return v
		}
		if k.IsInteger() {
			if id, err := strconv.ParseInt(v, 10, 64); err == nil {
				return id
			}
			return v
		}
		if id, err := uuid.Parse(v); err == nil {
			return id
		}
		return v
	case []byte:
		if len(v) == 16 && !k.text && !k.IsInteger() {
			if k.Layout == dialect.Swapped {
				return uuid.UUID(dialect.Unswap([16]byte(v)))
			}
			return uuid.UUID(v)
		}
		return k.Reported(string(v))
	case uint64:
		// go-sql-driver/mysql returns a uint64 for an unsigned column.
		if v <= math.MaxInt64 {
			return int64(v)
		}
	}
	return v
}

// Dummies returns n values for an INSERT that stores nothing, such as an EXPLAIN: 0, or
// the zero value of the layout.
func (k *Column) Dummies(n int) []driver.Value {
	keys := make([]driver.Value, n)
	for i := range keys {
		switch {
		case k.Rule.Integer:
			keys[i] = boxing.Integers(0, 1, k.Layout)[0]
		case k.text:
			keys[i] = strings.Repeat("0", cmp.Or(k.width(), dummyText))
		default:
			keys[i] = k.Layout.Value([16]byte{})
		}
	}
	return keys
}

// dummyText is the length of a dummy text key in characters, which is the length of a
// ULID.
const dummyText = 26

// EngineFunction returns the engine's own function that makes keys of the column's kind
// and layout.
func (k *Column) EngineFunction(d *dialect.Dialect) dialect.Function {
	if k.Layout != dialect.SequentialAsString || k.Rule.Prefix != "" {
		return dialect.Function{}
	}
	switch k.Rule.Source.Kind {
	case policy.KindUUIDv4:
		return d.Numbering.UUIDv4
	case policy.KindUUIDv7:
		return d.Numbering.UUIDv7
	}
	return dialect.Function{}
}

// tail returns the expression by which the engine makes the keys for the rows of a
// query from a prefix that keyfill gives; it is empty if the source has no such prefix.
func (k *Column) tail(d *dialect.Dialect) string {
	if _, ok := k.Source.(keysource.RowSource); !ok {
		return ""
	}
	if k.Rule.Prefix != "" {
		return d.Numbering.Tails.TypeID
	}
	return d.Numbering.Tails.Of(k.Layout, k.text)
}

// GapFree reports whether the numbers of the rows must have no gaps.
func (k *Column) GapFree() bool { return k.Rule.Source.Transaction == policy.TransactionJoined }

// Check returns an error if a column of the table cannot hold its keys.
func (t *Table) Check(d *dialect.Dialect, found *catalog.Table) error {
	for i := range t.KeyColumns {
		k := &t.KeyColumns[i]
		if err := found.Check(d, k.Wanted()); err != nil {
			return t.NewError(t.Table, k.Name, -1, err)
		}
	}
	return nil
}

// Worker returns an error if the worker number of a snowflake cannot be determined in
// this process: its variable is not set, or the host's name does not end in a number.
func (k *Column) Worker() error {
	src := k.Rule.Source
	if !OfWorkers(src) || src.Spread != "" || src.WorkerLease > 0 {
		return nil
	}
	_, err := src.SnowflakeOptions().Number()
	return err
}

// IsOfSession reports whether the table's name, such as #t, means a table of one session.
// ##t is one table for all sessions, which the catalog shows to all.
func (t *Table) IsOfSession(d *dialect.Dialect) bool {
	name := t.Rule.Name
	return d.Grammar.SessionNames != "" && strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "##")
}

// SourceName returns the name under which the stored counters of a key column's source
// are added up in statistics. There are no more names than the policy has sources.
func SourceName(entry string, k *policy.RuleKey) string {
	if k.Own {
		return entry + "." + k.Column
	}
	return cmp.Or(k.Source.Name, k.State)
}

// detach sets the facts about a table for a use without a database: the catalog is not
// queried, and no trigger is assumed to change a row.
func (t *Table) detach() {
	rows := &RowFacts{Stays: true}
	t.AsksCatalog = false
	t.Gate.Rows.Store(rows)
	t.Gate.Facts.Store(&Facts{Columns: make([]ColumnFacts, len(t.KeyColumns)), Rows: rows})
}
