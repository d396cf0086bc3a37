package policy

import (
	"fmt"
	"slices"
	"strings"
)

// place is where in a configuration something stands. The zero value is the
// whole configuration.
type place struct {
	section string // "tables", "sources" or "stores", for a place in an entry of it
	name    string // of the entry, as written
	field   string // "layout", "source.epoch", "keys.column"; "" is the entry itself
	item    int    // of the list in field, from 1
	inner   int    // of a list within that item, from 1
}

// position counts lines and characters from 1; 0 is not known.
type position struct{ line, column int }

// origin is where the parts of a configuration stand in its file.
type origin struct {
	file string // "" when it was parsed from bytes
	hash string // of the bytes
	at   map[place]position
}

// in returns the place of a field.
func (p place) in(field string) place {
	if p.field != "" {
		field = p.field + "." + field
	}
	p.field = field
	return p
}

// entry returns the place of the entry called name, where p is a section.
func (p place) entry(name string) place { return place{section: p.field, name: name} }

// element returns the place of the element with index i, where p is a list,
// perhaps one in an element of another.
func (p place) element(i int) place {
	if p.item == 0 {
		p.item = i + 1
	} else {
		p.inner = i + 1
	}
	return p
}

// parent returns the place of the mapping that p is a field of.
func (p place) parent() place {
	i := strings.LastIndexByte(p.field, '.')
	p.field = p.field[:max(i, 0)]
	if p.field == "" {
		p.item, p.inner = 0, 0
	}
	return p
}

// top returns the smallest place that is judged as a whole: an entry of a
// section, or a field of the file.
func (p place) top() place {
	p.item, p.inner = 0, 0
	if p.section != "" {
		p.field = ""
	} else {
		p.field, _, _ = strings.Cut(p.field, ".")
	}
	return p
}

// label returns the beginning of a message about p, after the table's name:
// "key 2: layout: ".
func (p place) label() string {
	var b strings.Builder
	switch p.section {
	case "sources":
		fmt.Fprintf(&b, "source %s: ", show(p.name))
	case "stores":
		name := hidden
		if p.name == "" || sourceName.MatchString(p.name) {
			name = show(p.name)
		}
		fmt.Fprintf(&b, "store %s: ", name)
	}
	field := p.field
	if p.item > 0 && (field == "keys" || strings.HasPrefix(field, "keys.")) {
		fmt.Fprintf(&b, "key %d: ", p.item)
		field = strings.TrimPrefix(field[len("keys"):], ".")
	}
	if field != "" {
		b.WriteString(field + ": ")
	}
	return b.String()
}

// mayHideSecret reports whether the text at p, which is no name that is known there, may
// be a part of a DSN, or a password.
func (p place) mayHideSecret() bool {
	return p.section == "stores" || p.section == "" && p.field == "stores"
}

// storeWords are the names of the fields of a store, and of its tls. They are written out, since
// what reads these fields shows them; a test compares the two.
var storeWords = []string{
	"driver", "dsn", "dsn_env", "endpoints", "endpoints_env", "prefix", "user_env", "password_env", "tls",
	"ca", "cert", "key", "server_name",
}

// shown is show for a name or a tag that the file has at p.
func (p place) shown(s string) string {
	if p.mayHideSecret() && !slices.Contains(storeWords, s) {
		return hidden
	}
	return show(s)
}

// find returns the position of p, or of the nearest that encloses it in its
// entry.
func (o *origin) find(p place) position {
	if o == nil {
		return position{}
	}
	for {
		if at, ok := o.at[p]; ok {
			return at
		}
		whole := p
		whole.inner = 0
		if at, ok := o.at[whole]; ok {
			return at
		}
		switch {
		case p.item > 0 && !strings.Contains(p.field, "."):
			p.item = 0
		case p.field != "":
			p = p.parent()
		default:
			return position{}
		}
	}
}
