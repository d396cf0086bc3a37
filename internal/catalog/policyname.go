package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/keyfill/keyfill/dialect"
)

// isPlainName matches names that need no quotes in a policy, if folding their case does
// not change them.
var isPlainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// PolicyTable returns how a policy names a table that was found: schema.table, or table
// without a schema, with the quotes that SQL would need for the case and the characters.
func PolicyTable(d *dialect.Dialect, schema, table string) string {
	name := policyPart(d, table, d.FoldTable)
	if schema == "" {
		return name
	}
	return policyPart(d, schema, d.FoldTable) + "." + name
}

// PolicyColumn returns how a policy names a column that was found.
func PolicyColumn(d *dialect.Dialect, column string) string { return policyPart(d, column, d.Fold) }

func policyPart(d *dialect.Dialect, name string, fold func(name string, quoted bool) string) string {
	if isPlainName.MatchString(name) && fold(name, false) == fold(name, true) {
		return name
	}
	return d.QuoteIdent(name)
}

// isPlainScalar matches texts that are strings in YAML without quotes, except yamlWords.
var isPlainScalar = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// yamlWords are words that YAML 1.1 or 1.2 does not read as strings.
var yamlWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// YAMLString returns a text as a string of YAML, in quotes where it needs them.
func YAMLString(text string) string {
	if isPlainScalar.MatchString(text) && !slices.Contains(yamlWords, strings.ToLower(text)) {
		return text
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text) // in single quotes, YAML would turn the end of a line into a space
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
