package numbering

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// ScopeColumn is a column within whose values rows are numbered. Two values that the
// engine treats as equal must have the same numbering, and a value that the engine
// stores as another value must be refused: otherwise a number could be given twice.
type ScopeColumn struct {
	Rule    policy.ScopeColumn
	Dialect *dialect.Dialect
	Found   *catalog.Column

	// InKey reports that keys are made from the column's values, as for a uuidv5: the stored
	// value must be the one that was sent.
	InKey bool
}

// maxScopeText is the greatest length of a text, in bytes: every text type can hold
// that many.
const maxScopeText = 250

// NewScopeColumn returns the ScopeColumn of a table, or an error if the column, as the
// catalog describes it, cannot be used.
func NewScopeColumn(d *dialect.Dialect, table *catalog.Table, rule policy.ScopeColumn) (ScopeColumn, error) {
	return ScopeColumn{Rule: rule, Dialect: d}.in(table)
}

// NewFromColumn returns the ScopeColumn of a column from whose values keys are made, as
// [NewScopeColumn] does. table is nil in a test without a database.
func NewFromColumn(d *dialect.Dialect, table *catalog.Table, rule policy.ScopeColumn) (ScopeColumn, error) {
	c := ScopeColumn{Rule: rule, Dialect: d, InKey: true}
	if table == nil {
		c.Found = &catalog.Column{Name: rule.Column}
		return c, nil
	}
	return c.in(table)
}

// in returns c with the catalog's description of the column in a table.
func (c ScopeColumn) in(table *catalog.Table) (ScopeColumn, error) {
	rule, found := c.Rule, table.Column(c.Dialect, c.Rule.Column)
	c.Found = found
	fail := func(format string, args ...any) (ScopeColumn, error) { return ScopeColumn{}, c.fail(format, args...) }
	switch {
	case found == nil:
		var names []string
		for _, column := range table.Columns {
			names = append(names, column.Name)
		}
		return fail("the table has none of this name: write it as the table has it%s", nearest.DidYouMean(rule.Column, names))
	case rule.Type == policy.ScopeInteger && (!found.Integer || found.Text):
		return fail("its type is %s: write {column: %s, type: text} if that is a text, or make it an integer", orNone(found.Type), rule.Column)
	case rule.Type == policy.ScopeInteger:
		return c, nil
	case !found.Text || found.Integer || found.Binary || !c.isText():
		return fail("its type is %s, which is no plain text: leave type: text out if that is an integer", orNone(found.Type))
	case !c.isBinary():
		return fail("its collation is %s, under which texts may be equal that differ: give it a binary one", orNone(found.Collation))
	}
	return c, nil
}

func orNone(name string) string {
	if name == "" {
		return "not known"
	}
	return name
}

// scopeRule describes how an engine compares and stores the values of a scope's column, and
// of the column with the date of a period.
type scopeRule struct {
	isBinary func(collation string) bool // texts with this collation are equal only if their bytes are
	types    []string                    // the text types that are compared by the collation alone; nil means all
	lenient  bool                        // without strict mode, a value that does not fit is stored as another value

	tells    bool // the catalog tells collations that take different texts for equal
	pads     bool // a char(n) is read with spaces at its end: MySQL takes them off, and SQLite adds none
	replaces bool // a text type may store another character for one that its character set lacks

	// date is the query that returns an argument as a column for dates stores it, as text
	// YYYY-MM-DD.
	date string
}

// scopeRules holds the rule of each family of engines. For PostgreSQL it lists types,
// since citext is not compared by the collation alone, and the catalog does not show the
// type below a domain.
var scopeRules = map[dialect.Family]scopeRule{
	dialect.FamilyMySQL: {
		isBinary: func(collation string) bool { return collation == "binary" || strings.HasSuffix(collation, "_bin") },
		lenient:  true,
		date:     "SELECT CAST(CAST(? AS DATE) AS CHAR)",
	},
	dialect.FamilyPostgreSQL: {
		isBinary: func(collation string) bool { return slices.Contains(exactCollations, collation) },
		tells:    true,
		pads:     true,
		types:    []string{"text", "character varying", "character"},
		date:     "SELECT to_char(CAST($1 AS date), 'YYYY-MM-DD')",
	},
	dialect.FamilySQLite: {
		isBinary: func(collation string) bool { return strings.EqualFold(collation, "BINARY") },
		date:     "SELECT substr(?, 1, 10)",
	},
	dialect.FamilySQLServer: {
		isBinary: func(collation string) bool {
			return strings.HasSuffix(collation, "_BIN") || strings.HasSuffix(collation, "_BIN2") || strings.HasSuffix(collation, "_BIN2_UTF8")
		},
		pads: true, replaces: true,
		date: "SELECT CONVERT(char(10), CAST(@p1 AS date), 23)",
	},
	dialect.FamilyOracle: {
		isBinary: func(collation string) bool { return collation == "BINARY" },
		pads:     true, replaces: true,
		date: "SELECT TO_CHAR(:1, 'YYYY-MM-DD') FROM dual",
	},
}

// isText reports whether values of the column's type are compared by the collation alone.
func (c *ScopeColumn) isText() bool {
	types := scopeRules[c.Dialect.Family].types
	name, _, _ := strings.Cut(c.Found.Type, "(")
	return types == nil || slices.Contains(types, name)
}

// exactCollations lists PostgreSQL's collations that are known to be deterministic, so
// that texts are equal only if their bytes are: "Collation Support", section 24.2.2.4
// of the PostgreSQL 18 documentation. A collation that a user has created may be of
// another kind, whatever its name says.
var exactCollations = []string{"default", "C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic", "pg_c_utf8"}

// isBinary reports whether two texts in the column are equal only if their bytes are.
// Spaces at the end may not count, but texts with such spaces are refused.
func (c *ScopeColumn) isBinary() bool {
	if c.InKey && scopeRules[c.Dialect.Family].tells {
		return c.Found.Collation != "" && !strings.HasSuffix(c.Found.Collation, catalog.NotDeterministic)
	}
	return scopeRules[c.Dialect.Family].isBinary(c.Found.Collation)
}

// Normal converts a value of the column to the form that names its parent's row: an
// int64, a uint64 above the greatest int64, or a string. No error contains the value.
func (c *ScopeColumn) Normal(v driver.Value) (any, error) {
	if b, ok := v.([]byte); ok && c.Dialect.BytesAreText {
		v = string(b) // on other engines a []byte is not text
	}
	var problem error
	if c.Rule.Type == policy.ScopeText {
		text, ok := v.(string)
		if !ok {
			return nil, c.fail("a %T is no text: give it as one", v)
		}
		if problem = c.checkText(text); problem == nil {
			return text, nil
		}
		return nil, problem
	}
	n, ok := integerOfScope(v)
	if !ok {
		return nil, c.fail("a %T is given that is no integer: give it as one", v)
	}
	if problem = c.checkInteger(n); problem != nil {
		return nil, problem
	}
	return n, nil
}

// fail returns an error about the column or a value of it.
func (c *ScopeColumn) fail(format string, args ...any) error {
	if c.InKey {
		return anchor.Errorf("from-columns", "the column %q, from which the key is made: %s", c.Rule.Column, fmt.Sprintf(format, args...))
	}
	return anchor.Errorf("scope-column", "the scope's column %q: %s", c.Rule.Column, fmt.Sprintf(format, args...))
}

// integerOfScope returns v if it is an integer, or the integer that v spells in decimal
// digits and nothing else.
func integerOfScope(v driver.Value) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), true
		}
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			return n, true
		}
		u, overflow := strconv.ParseUint(v, 10, 64)
		return u, errors.Is(err, strconv.ErrRange) && overflow == nil
	}
	return nil, false
}

// checkInteger refuses an integer that an engine may store as another number: on SQLite
// an integer of more than 63 bits, on MySQL without strict mode one that does not fit
// the column.
func (c *ScopeColumn) checkInteger(v any) error {
	bits := c.Found.Bits
	if bits == 0 {
		return nil // the size of the column is not known, since there is no database
	}
	fits := true
	switch v := v.(type) {
	case int64:
		if !scopeRules[c.Dialect.Family].lenient {
			return nil
		}
		greatest := int64(math.MaxInt64)
		if bits < 63 {
			greatest = 1<<bits - 1
		}
		unsigned := strings.Contains(c.Found.Type, "unsigned")
		fits = v <= greatest && (v >= 0 || !unsigned && v >= -greatest)
	case uint64:
		fits = bits > 63
	}
	if !fits {
		return c.fail("the value does not fit into %s: make the column wider", c.Found.Type)
	}
	return nil
}

// checkText refuses a text that an engine may store as another text, or treat as equal
// to another one.
func (c *ScopeColumn) checkText(text string) error {
	switch {
	case !utf8.ValidString(text), strings.ContainsRune(text, 0):
		return c.fail("the text is not UTF-8, or has a NUL in it")
	case strings.HasSuffix(text, " "):
		return c.fail("the text ends in a space, with which it may be equal to the one without: take it off")
	case c.InKey && c.pads() && utf8.RuneCountInString(text) < c.Found.Length:
		return c.fail("the text is shorter than %s, which fills it up with spaces: make that a varchar", c.Found.Type)
	case c.InKey && c.replaces() && strings.ContainsFunc(text, func(r rune) bool { return r > 127 }):
		return c.fail("the text is not ASCII, and %s may not hold its characters: make that a type for Unicode", c.Found.Type)
	case len(text) > c.maxText(), c.Found.Length > 0 && utf8.RuneCountInString(text) > c.Found.Length:
		return c.fail("the text is too long: %d bytes are taken, and no more than %s holds", c.maxText(), c.Found.Type)
	case scopeRules[c.Dialect.Family].lenient && !strings.HasPrefix(c.Found.Collation, "utf8mb4") && strings.ContainsFunc(text, func(r rune) bool { return r > 127 }):
		return c.fail("the text is not ASCII, and the character set of collation %s may not have it: make that utf8mb4", c.Found.Collation)
	}
	return nil
}

// maxText returns the greatest length of a text, in bytes.
func (c *ScopeColumn) maxText() int {
	switch {
	case !c.InKey || c.Found.Type == "tinytext":
		return maxScopeText
	case scopeRules[c.Dialect.Family].lenient && c.Found.Length == 0:
		return math.MaxUint16 // a text of MySQL; without strict mode the rest is cut off
	}
	return math.MaxInt32
}

// pads reports whether a shorter text is read back with spaces after it.
func (c *ScopeColumn) pads() bool {
	if !scopeRules[c.Dialect.Family].pads {
		return false
	}
	name, _, _ := strings.Cut(strings.ToLower(c.Found.Type), "(")
	return name == "char" || name == "character" || name == "nchar"
}

// replaces reports whether the engine may store other characters in place of those that the
// column's character set does not have.
func (c *ScopeColumn) replaces() bool {
	return scopeRules[c.Dialect.Family].replaces && c.Found.Type != "" &&
		!strings.HasPrefix(strings.ToLower(c.Found.Type), "n") && !strings.HasSuffix(c.Found.Collation, "_UTF8")
}
