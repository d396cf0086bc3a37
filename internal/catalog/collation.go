package catalog

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// caseProblem returns why the column treats two keys that differ only by case as equal, and
// what to change; empty if it distinguishes them, or the catalog does not show it.
//
// Names of collations end in _bin or _cs on MySQL and MariaDB ("Collation Naming
// Conventions" of the MySQL 8.4 Reference Manual), and have _BIN, _BIN2 or _CS in them on
// SQL Server ("Windows Collation Name"). A deterministic collation of PostgreSQL
// distinguishes all texts; of SQLite's own collations only NOCASE does not
// (https://www.sqlite.org/datatype3.html#collation).
func (c *Column) caseProblem(d *dialect.Dialect, k Key) string {
	e := engines[d.Family]
	if !k.Cased || !c.Text || e.isCaseSensitive == nil || e.isCaseSensitive(c) {
		return ""
	}
	if e.caseless != nil {
		if problem := e.caseless(c); problem != "" {
			return problem
		}
	}
	return fmt.Sprintf("its collation is %s, and keys may differ by case alone: make it %s, or say alphabet: base32", c.Collation, e.casing)
}

func (c *Column) isCitext() bool { return c.Type == "citext" || strings.HasSuffix(c.Type, ".citext") }

func isCaseSensitiveInPostgreSQL(c *Column) bool {
	return !c.isCitext() && !strings.HasSuffix(c.Collation, NotDeterministic)
}

func citextProblem(c *Column) string {
	if !c.isCitext() {
		return ""
	}
	return c.Type + " is text that is compared in lower case: make it text, or say alphabet: base32"
}

// NotDeterministic is appended to the name of a collation of PostgreSQL that may treat
// different texts as equal.
const NotDeterministic = " (not deterministic)"

// hasWord reports whether a name has one of the words between underscores.
func hasWord(name string, words ...string) bool {
	for part := range strings.SplitSeq(strings.ToLower(name), "_") {
		if isOneOf(part, words...) {
			return true
		}
	}
	return false
}

func isOneOf(text string, words ...string) bool {
	for _, word := range words {
		if strings.EqualFold(text, word) {
			return true
		}
	}
	return false
}

// takesTextAsBytes reports whether a column of bytes keeps the keys' text as it is: the
// columns of MySQL and MariaDB do, except BINARY(n), which fills up with NUL.
func (c *Column) takesTextAsBytes(k Key) bool {
	return c.Binary && (k.Cased || k.Prefixed) && k.Length > 0 &&
		(strings.HasPrefix(c.Type, "varbinary(") && c.Length >= k.Length || c.Type == fmt.Sprintf("binary(%d)", k.Length))
}
