package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/nearest"
)

// Key is a key column as the policy describes it.
type Key struct {
	Column  string // folded
	Integer bool   // the keys are integers

	// Layout is how keys that are not integers are sent, text included. For integers it is
	// the layout in the policy, without the dialect's default: SequentialAsString means
	// decimal text, any other value means numbers.
	Layout dialect.Layout

	MaxBits int // integers are below 2^MaxBits; zero means 63

	// Length is the number of characters of keys that are sent as text and are not
	// integers, 36 for a UUID. Zero means that the number is not known; then no column is
	// too short.
	Length int

	// Text reports whether the keys are text that is no UUID's, and Prefixed whether that text
	// is a UUID with a prefix, which never looks like a number.
	Text, Prefixed bool

	// State reports whether the keys come from a state (a stored counter) that numbers one
	// column, so that a second state for the same rows would repeat them.
	State bool

	Exclusive bool // no other program inserts rows without a key, which the engine would number

	// Below is the first integer that is left to the engine's own counter, such as
	// AUTO_INCREMENT; zero if none is left. Check does not test whether that counter has
	// reached it.
	Below int64

	// Counts reports whether the keys come from a sequence that can be given a last
	// integer, so that the engine's own counter may number rows above that.
	Counts bool

	COMB bool // the source makes COMBs, which are UUIDs with the time in them

	// Native reports whether the keys are drawn from a sequence of the engine, so that a
	// default that draws from a sequence is no reason to refuse the column. Check does not
	// test whether both draw from the same sequence.
	Native bool

	// Cased reports whether two keys may differ only by the case of a letter.
	Cased bool
}

// Check returns nil, or an [*Error] with the reason and the remedy if the engine would
// refuse the keys, change them, store them in another order, or make the same keys itself.
// The error is the first of [Table.Problems]. A column of a type that this package does not
// know passes.
func (t *Table) Check(d *dialect.Dialect, k Key) error {
	if all := t.Problems(d, k); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Problems returns all errors of which [Table.Check] returns the first, each an [*Error].
//
// Errors: [ErrNoColumn] alone, or [ErrGenerated], [ErrIdentityAlways], [ErrType],
// [ErrCOMB], [ErrCollation], [ErrView], [ErrPartition], [ErrChild], [ErrAttached],
// [ErrNarrow], [ErrLive], in this order.
func (t *Table) Problems(d *dialect.Dialect, k Key) (all []error) {
	c := t.Column(d, k.Column)
	if c == nil {
		return []error{&Error{t.Name, k.Column, ErrNoColumn, engines[d.Family].noColumn + nearest.DidYouMean(k.Column, t.columnNames())}}
	}
	fail := func(err error, format string, args ...any) {
		detail := fmt.Sprintf(format, args...)
		if t.View {
			detail = "the column is a view's, with the type of its query: " + detail
		}
		all = append(all, &Error{t.Name, c.Name, err, detail})
	}
	if c.Generated {
		fail(ErrGenerated, "make it a plain column, or take it out of the policy")
	}
	if c.IdentityAlways {
		fail(ErrIdentityAlways, "the column is %s: %s, or use source identity", c.Identity, c.withoutAlways())
	}
	if problem := c.typeProblem(d, k); problem != "" {
		fail(ErrType, "%s", problem)
	}
	if problem := c.combProblem(d, k); problem != "" {
		fail(ErrCOMB, "%s", problem)
	}
	if problem := c.caseProblem(d, k); problem != "" {
		fail(ErrCollation, "%s", problem)
	}
	if advice, err := t.secondName(); err != nil && k.State && !k.Exclusive {
		all = append(all, &Error{t.Name, c.Name, err, advice})
	}
	if k.Integer && c.Integer && c.Bits < k.maxBits() {
		fail(ErrNarrow, "%s holds %d bits: %s", c.Type, c.Bits, narrower(c.Bits))
	}
	switch {
	case k.Below > 0 && c.RowID && c.Identity == "":
		fail(ErrLive, "SQLite gives the greatest key and one where the column has no AUTOINCREMENT, so that no counter could stand at below: leave below out")
	case k.Below > 0 && c.Identity == "AUTO_INCREMENT" && !c.Indexes.LeadsIndex:
		// In MyISAM and Aria, an AUTO_INCREMENT column that is not the first of its index
		// is numbered separately for each value of the columns before it.
		fail(ErrLive, "its AUTO_INCREMENT counts within the columns that are before it in the index, so that no counter could stand at below: make an index that begins with it, or leave below out")
	case c.Identity == "", c.IdentityAlways, k.Exclusive, k.Native && c.isSequence(), k.Below > 0 && c.hasCounter(d):
	default:
		fail(ErrLive, c.fittingSources(d, k), c.Identity)
	}
	return all
}

// fittingSources returns which sources fit a column that the engine fills too. In the text
// %s stands for the engine's way to fill it, such as AUTO_INCREMENT.
func (c *Column) fittingSources(d *dialect.Dialect, k Key) string {
	fits := "it has %s: remove that, use source identity"
	if c.isSequence() && k.Integer && k.Layout == "" {
		fits = "it has %s: use source native, which draws from the same sequence, or source identity"
	}
	if k.Counts && c.hasCounter(d) {
		fits += ", or print keyfill plan there, which lets programs without keyfill go on inserting"
	}
	return fits + ", or say exclusive: true if no other program inserts without a key"
}

// columnNames returns the names of the columns as the catalog spells them.
func (t *Table) columnNames() []string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// secondName returns an error, and a remedy, if the rows of the table are found under
// another name too, such as a view's: if the policy names both, two sources would number
// the same rows. The error is nil if the catalog shows no other name.
func (t *Table) secondName() (advice string, err error) {
	switch {
	case t.View:
		return "configure its table in place of the view, or say exclusive: true where nothing else fills that", ErrView
	case t.Partition:
		return "fill the whole table and not its partitions, or say exclusive: true where no program inserts into the whole one", ErrPartition
	case t.Child:
		return "say exclusive: true where one source of a name fills both, or where a key may be in each of them", ErrChild
	case t.Twin != "":
		return fmt.Sprintf("name the table as %s.%s in the policy and in the INSERT, or say exclusive: true where nothing fills that", t.Twin, t.Name), ErrAttached
	}
	return "", nil
}

// withoutAlways returns how to make a column with an identity accept keys.
func (c *Column) withoutAlways() string {
	if c.Identity == "IDENTITY" {
		return "make it a column without that" // SQL Server has no GENERATED BY DEFAULT
	}
	return "make it GENERATED BY DEFAULT"
}

func (k *Key) maxBits() int {
	if k.MaxBits == 0 {
		return 63
	}
	return k.MaxBits
}

// narrower returns the advice that makes keys fit into a column of that number of bits.
func narrower(bits int) string {
	for _, limit := range []int{53, 31} { // the values that the policy accepts for max_bits
		if bits >= limit {
			return fmt.Sprintf("say max_bits: %d", limit)
		}
	}
	return "make the column wider"
}

// typeProblem returns why the column cannot hold the keys k, and what to change; empty if
// it can hold them.
func (c *Column) typeProblem(d *dialect.Dialect, k Key) string {
	switch {
	case c.rounds:
		return c.Type + " is a floating-point number: make it a column of the key's own type"
	case c.lossy:
		return c.Type + " does not hold every key as it is sent: make it a column of the key's own type"
	case !c.Integer && !c.Text && !c.Binary && !c.UUID:
		return "" // this package does not know the type
	case k.Integer && k.Layout == dialect.SequentialAsString:
		return c.decimalProblem(k.maxBits())
	case k.Integer:
		return c.integerProblem()
	case k.Layout.Bytes():
		return c.bytesProblem(k.Layout)
	}
	return c.textProblem(d, k)
}

func (c *Column) decimalProblem(maxBits int) string {
	digits := len(strconv.FormatUint(1<<maxBits-1, 10))
	switch {
	case !c.Text && c.Integer:
		return c.Type + " takes integers as they are: leave layout out"
	case !c.Text:
		return fmt.Sprintf("%s takes no decimal text: make it an integer column, or text of %d characters", c.Type, digits)
	case c.Length != 0 && c.Length < digits:
		return fmt.Sprintf("%s is too short: %d bits need %d characters", c.Type, maxBits, digits)
	}
	return ""
}

func (c *Column) integerProblem() string {
	switch {
	case c.Integer:
		return ""
	case c.Text:
		return c.Type + " takes text: say layout: string, or make it an integer column"
	}
	return c.Type + " takes no integers: use source uuidv7, or make it an integer column"
}

// keyBytes is the size of a UUID that is sent as bytes (layout binary or swapped).
const keyBytes = 16

func (c *Column) bytesProblem(l dialect.Layout) string {
	switch {
	case c.Binary && c.Length != 0 && c.Length < keyBytes:
		return fmt.Sprintf("%s is too short for keys of %d bytes: make it longer", c.Type, keyBytes)
	case c.Binary:
		return ""
	case c.Integer && !c.Text:
		return c.Type + " takes integers: use source sequence, or make it a column of 16 bytes"
	}
	return fmt.Sprintf("%s takes text: leave layout: %s out, or make it a column of %d bytes", c.Type, l, keyBytes)
}

// uuidLength is how many characters the text of a UUID has.
const uuidLength = 36

func (c *Column) textProblem(d *dialect.Dialect, k Key) string {
	switch {
	case c.numeric && !k.Prefixed && (k.Text || k.Length != 0 && k.Length != uuidLength):
		return c.Type + " makes a number of text that looks like one, the same of several keys: make it a text column"
	case c.Text && c.Length != 0 && c.Length < k.Length:
		return fmt.Sprintf("%s is too short for keys of %d characters: make it longer", c.Type, k.Length)
	case k.Prefixed && d.PadsText && c.isPadded() && c.Length > k.Length:
		return fmt.Sprintf("%s fills keys of %d characters up with spaces, with which no program reads them: make it a varchar", c.Type, k.Length)
	case c.UUID && k.Prefixed:
		return fmt.Sprintf("%s takes UUIDs, and the keys have a prefix: say layout: %s, which stores the UUID alone, or make it a text column of %d characters", c.Type, d.DefaultLayout, k.Length)
	case c.UUID && (k.Text || k.Length != 0 && k.Length != uuidLength):
		return fmt.Sprintf("%s takes UUIDs, and the keys have %d characters: use source uuidv7, or make it a text column", c.Type, k.Length)
	case c.Text, c.UUID:
		return ""
	case c.takesTextAsBytes(k):
		return ""
	case c.Binary && k.Prefixed:
		return fmt.Sprintf("%s takes bytes, and the keys are text: say layout: binary, which stores the UUID alone, or make it a text column of %d characters", c.Type, k.Length)
	case c.Binary:
		return c.Type + " takes bytes: say layout: binary, or make it a text column"
	}
	return c.Type + " takes integers: use source sequence, or make it a column of the key's own type"
}

// isPadded reports whether the column's type is a text of a fixed length.
func (c *Column) isPadded() bool {
	name, _, _ := strings.Cut(strings.ToLower(c.Type), "(")
	return name == "char" || name == "character" || name == "nchar" || name == "bpchar"
}

// combProblem returns why a COMB (a UUID with the time in it) does not suit the column.
// MariaDB refuses a quarter of all COMBs and stores a sixth with the last bytes first,
// since it reads version and variant where a COMB has random bits (observed on 10.11.19).
// SQL Server compares the last bytes first.
func (c *Column) combProblem(d *dialect.Dialect, k Key) string {
	e := engines[d.Family]
	if !k.COMB || !c.UUID || e.comb == "" || e.combLayout != "" && e.combLayout != k.Layout {
		return ""
	}
	return c.Type + e.comb
}
