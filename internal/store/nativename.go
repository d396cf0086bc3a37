package store

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// nativeName is the name of a sequence as it is stored, and as it is written
// into a statement.
type nativeName struct{ schema, name, quoted string }

// shown returns the name for messages.
func (n nativeName) shown() string {
	if n.schema == "" {
		return n.name
	}
	return n.schema + "." + n.name
}

// nameOf returns a name with its quoted form.
func nameOf(d *dialect.Dialect, schema, name string) nativeName {
	quoted := d.QuoteIdent(name)
	if schema != "" {
		quoted = d.QuoteIdent(schema) + "." + quoted
	}
	return nativeName{schema, name, quoted}
}

var errNativeName = anchor.New("native", "not a name of one or two parts")

// splitNative reads the name of a sequence as SQL has it.
func splitNative(d *dialect.Dialect, text string) (schema, name string, err error) {
	switch parts := splitName(d, text); len(parts) {
	case 1:
		return "", parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	}
	return "", "", errNativeName
}

// state returns the [Claim].State of what draws from the sequence.
func (n nativeName) state() string { return "sequence " + n.shown() }
