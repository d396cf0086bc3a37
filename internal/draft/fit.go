package draft

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// Fit is the source that suits a column, as a policy and a comment say it.
type Fit struct {
	Rest    string // the part of an entry after the column: ", source: uuidv7, layout: binary"
	Why     string // why the source suits, as a part of a sentence
	Instead string // an alternative, or a fact to know, as a sentence
}

// sequence is the part of an entry for a source of integers.
const sequence = ", source: {kind: sequence, ensure_schema: true}"

// FitOf returns the source that suits a column by its type. It reports false if none does.
func FitOf(d *dialect.Dialect, col *catalog.Column) (Fit, bool) {
	switch {
	case col.UUID:
		return Fit{", source: uuidv7", "a uuidv7 sorts by time", "A uuidv4 would not show when a row was made."}, true
	case col.Integer && !col.Text:
		return integerFit(col.Bits)
	case col.Binary && !col.Text:
		return binaryFit(col)
	case col.Text:
		return textFit(d, col)
	}
	return Fit{}, false
}

func integerFit(bits int) (Fit, bool) {
	switch {
	case bits >= 63:
		return Fit{
			sequence, "a sequence counts in a table that keyfill makes",
			"{kind: snowflake, worker_env: APP_WORKER} would ask no server, and needs a number for each process.",
		}, true
	case bits >= 53:
		return Fit{
			", max_bits: 53" + sequence, "a sequence counts in a table that keyfill makes",
			"{kind: snowflake, bits: 53, worker_env: APP_WORKER} would ask no server, and needs a number for each process.",
		}, true
	case bits >= 31:
		return Fit{
			", max_bits: 31" + sequence, "a sequence that ends at 2147483647, as the type does",
			"keyfill plan bigint prints the steps to a wider column.",
		}, true
	}
	return Fit{}, false
}

func binaryFit(col *catalog.Column) (Fit, bool) {
	isFixed := strings.HasPrefix(strings.ToLower(col.Type), "binary(")
	switch {
	case col.Length != 0 && col.Length < 16, isFixed && col.Length != 16:
		return Fit{}, false
	}
	return Fit{
		", source: uuidv7, layout: binary", "a uuidv7 has 16 bytes and sorts by time",
		"A uuidv4 would not show when a row was made.",
	}, true
}

// These are lengths, in characters, of keys that are texts.
const (
	uuidLength    = 36
	ulidLength    = 26
	typeIDLength  = 30 // with a prefix of three letters
	leastLength   = 6  // the least length of a key of kind coprime: shorter texts often have a meaning
	base62Longest = 10 // with this length, the number of all keys fits into 63 bits
	base32Longest = 12
)

func textFit(d *dialect.Dialect, col *catalog.Column) (Fit, bool) {
	if isNoText(d, col) {
		return Fit{}, false
	}
	width := widthOf(d, col)
	layout := ""
	if d.DefaultLayout != dialect.SequentialAsString {
		layout = ", layout: string"
	}
	isAnyValue := col.Integer // in SQLite, such a column turns texts that look like numbers into numbers
	fit, length := Fit{}, 0
	switch {
	case width == 0 || width >= uuidLength:
		length = uuidLength
		fit = Fit{", source: uuidv7" + layout, "a uuidv7 has 36 characters and sorts by time", "A ulid would have 26 characters."}
	case width >= ulidLength && !isAnyValue:
		length = ulidLength
		fit = Fit{", source: ulid", "a ulid has 26 characters and sorts by time, where a UUID of 36 does not fit", "A uuidv7 needs a column of 36 characters."}
		if width >= typeIDLength {
			fit.Instead = "{kind: uuidv7, prefix: cus} would make 30 characters, which begin with the type of the row."
		}
	case width >= leastLength && !isAnyValue:
		fit, length = coprimeFit(d, col, width)
	default:
		return Fit{}, false
	}
	if isPadded(d, col) && length != width {
		return Fit{}, false // the engine would return the key with spaces after it
	}
	return fit, true
}

// coprimeFit returns the source that makes short texts, for a column of the given width.
func coprimeFit(d *dialect.Dialect, col *catalog.Column, width int) (fit Fit, length int) {
	alphabet, longest := "", base62Longest
	switch {
	case d.Caseless:
		longest = base32Longest // the default of this engine, whose texts compare without case
	case mixesCases(d, col):
		alphabet, longest = ", alphabet: base32", base32Longest
	}
	length = min(width, longest)
	fit = Fit{
		fmt.Sprintf(", source: {kind: coprime, length: %d%s, ensure_schema: true}", length, alphabet),
		fmt.Sprintf("coprime makes texts of %d characters, and no text twice", length),
		"The next key can be computed from the one before.",
	}
	for _, digits := range []int{24, 20} {
		if width >= digits {
			fit.Instead = fmt.Sprintf("{kind: composite, length: %d, worker_env: APP_WORKER} would make digits that sort by time, and needs a number for each process.", digits)
			break
		}
	}
	return fit, length
}

// mixesCases reports whether two texts that differ only by case are equal in the column.
func mixesCases(d *dialect.Dialect, col *catalog.Column) bool {
	alone := catalog.Table{Columns: []catalog.Column{*col}}
	for _, err := range alone.Problems(d, catalog.Key{Column: d.Fold(col.Name, true), Cased: true, Exclusive: true}) {
		if errors.Is(err, catalog.ErrCollation) {
			return true
		}
	}
	return false
}

// isNoText reports whether a column of SQLite is declared as a number, a truth value or a
// time. SQLite would store a text in that column, but an application that reads a number
// could not read the key.
func isNoText(d *dialect.Dialect, col *catalog.Column) bool {
	if !d.LooseTypes || !col.Integer {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(col.Type), "(")
	switch strings.TrimSpace(kind) {
	case "numeric", "decimal", "dec", "number", "money", "bool", "boolean", "bit", "year", "date", "time", "datetime", "timestamp", "json":
		return true
	}
	return false
}

var declaredLength = regexp.MustCompile(`\(\s*([0-9]{1,9})\s*\)`)

// widthOf returns how many characters a column can hold; zero for any number. SQLite
// enforces no length, but an application that declares one relies on it.
func widthOf(d *dialect.Dialect, col *catalog.Column) int {
	if d.LooseTypes && col.Length == 0 {
		if found := declaredLength.FindStringSubmatch(col.Type); found != nil {
			n, _ := strconv.Atoi(found[1]) // no error: it has at most nine digits
			return n
		}
	}
	return col.Length
}

// isPadded reports whether the engine pads a text with spaces and returns them. MySQL and
// MariaDB remove them, and SQLite has no such type.
func isPadded(d *dialect.Dialect, col *catalog.Column) bool {
	if !d.PadsText {
		return false
	}
	kind := strings.ToLower(col.Type)
	for _, fixed := range []string{"char(", "nchar(", "character(", "bpchar("} {
		if strings.HasPrefix(kind, fixed) {
			return true
		}
	}
	return false
}

// IsKeyName reports whether a column has a usual name for a key without a meaning of its
// own, such as id or order_id.
func IsKeyName(table, column string) bool {
	if isBareKeyName(column) {
		return true
	}
	name := strings.ToLower(column)
	table = strings.ToLower(table)
	for _, one := range singulars(table) {
		if name == one+"_id" || name == one+"id" {
			return true
		}
	}
	return name == table+"_id"
}

// isBareKeyName reports whether a column has a usual name for the key of any table.
func isBareKeyName(column string) bool {
	switch strings.ToLower(column) {
	case "id", "uuid", "guid", "uid", "ulid", "key_id", "pk":
		return true
	}
	return false
}

// isStreamName reports whether a table has a name that suggests that programs read its rows
// in the order of their keys, such as outbox.
func isStreamName(table string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(table), func(c rune) bool { return c == '_' || c == '-' || c == '.' }) {
		switch strings.TrimSuffix(word, "s") {
		case "outbox", "outboxe", "inbox", "inboxe", "event", "queue", "job", "message", "journal", "change", "changelog", "notification":
			return true
		}
	}
	return false
}

// singulars returns possible names for one row of a table, such as order for orders.
func singulars(table string) []string {
	if stem, ok := strings.CutSuffix(table, "ies"); ok {
		return []string{stem + "y", table}
	}
	if stem, ok := strings.CutSuffix(table, "es"); ok {
		return []string{stem, stem + "e", table}
	}
	return []string{strings.TrimSuffix(table, "s"), table}
}
