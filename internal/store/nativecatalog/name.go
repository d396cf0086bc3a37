package nativecatalog

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// Name is the name of a sequence: its parts as they are stored, and Quoted as it is
// written into a statement.
type Name struct{ Schema, Name, Quoted string }

// Shown returns the name as messages show it.
func (n Name) Shown() string {
	if n.Schema == "" {
		return n.Name
	}
	return n.Schema + "." + n.Name
}

// nameOf returns the Name of a sequence, with its quoted form.
func nameOf(d *dialect.Dialect, schema, name string) Name {
	quoted := d.QuoteIdent(name)
	if schema != "" {
		quoted = d.QuoteIdent(schema) + "." + quoted
	}
	return Name{schema, name, quoted}
}

var errName = anchor.New("native", "not a name of one or two parts")

// SplitName reads the name of a sequence that is written in SQL.
func SplitName(d *dialect.Dialect, text string) (schema, name string, err error) {
	switch parts := engine.SplitName(d, text); len(parts) {
	case 1:
		return "", parts[0], nil
	case 2:
		return parts[0], parts[1], nil
	}
	return "", "", errName
}

// State returns the [binding.Claim].State of a source that draws from the sequence.
func (n Name) State() string { return "sequence " + n.Shown() }
