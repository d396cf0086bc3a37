package catalog

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// caseProblem returns why the column takes two keys that differ by case for equal, and
// what to change; empty if it does not, or the catalog does not show it.
//
// Names of collations end in _bin or _cs on MySQL and MariaDB ("Collation Naming
// Conventions" of the MySQL 8.4 Reference Manual), and have _BIN, _BIN2 or _CS in them on
// SQL Server ("Windows Collation Name"). A deterministic collation of PostgreSQL
// distinguishes all texts; of SQLite's own only NOCASE does not
// (https://www.sqlite.org/datatype3.html#collation).
func (c *Column) caseProblem(d *dialect.Dialect, k Key) string {
	if !k.Cased || !c.Text {
		return ""
	}
	fits, instead := true, ""
	switch d.Family {
	case dialect.FamilyMySQL:
		fits, instead = c.Collation == "" || hasWord(c.Collation, "bin", "cs", "binary"), "ascii_bin"
	case dialect.FamilySQLServer:
		fits, instead = c.Collation == "" || hasWord(c.Collation, "bin", "bin2", "cs"), "Latin1_General_100_BIN2"
	case dialect.FamilyPostgreSQL:
		isCitext := c.Type == "citext" || strings.HasSuffix(c.Type, ".citext")
		if isCitext {
			return c.Type + " is text that is compared in lower case: make it text, or say alphabet: base32"
		}
		fits, instead = !strings.HasSuffix(c.Collation, NotDeterministic), `"C"`
	case dialect.FamilySQLite:
		fits, instead = c.Collation == "" || isOneOf(c.Collation, "BINARY", "RTRIM"), "BINARY"
	}
	if fits {
		return ""
	}
	return fmt.Sprintf("its collation is %s, and keys may differ by case alone: make it %s, or say alphabet: base32", c.Collation, instead)
}

// NotDeterministic follows the name of a collation of PostgreSQL that may take
// different texts for one.
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
	return c.Binary && k.Cased && k.Length > 0 &&
		(strings.HasPrefix(c.Type, "varbinary(") && c.Length >= k.Length || c.Type == fmt.Sprintf("binary(%d)", k.Length))
}
