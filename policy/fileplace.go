package policy

import (
	"fmt"
	"slices"
	"strings"
)

// place identifies a part of a configuration, such as a field of a table. The zero
// value is the whole configuration.
type place struct {
	section string // "tables", "sources" or "stores" if the part is in an entry of that section
	name    string // the name of that entry as the file spells it
	field   string // such as "layout", "source.epoch" or "keys.column"; empty for the entry itself
	item    int    // which element of the list in field, from 1; 0 for none
	inner   int    // which element of a list within that element, from 1; 0 for none
}

// position is a line and a column of the file, both counted from 1; 0 means not known.
type position struct{ line, column int }

// origin holds the positions of the parts of a configuration in its file.
type origin struct {
	file string // empty if the configuration was parsed from bytes
	hash string // the hash of the bytes of the file
	at   map[place]position
}

// in returns the place of a field of p.
func (p place) in(field string) place {
	if p.field != "" {
		field = p.field + "." + field
	}
	p.field = field
	return p
}

// entry returns the place of the entry called name in the section p.
func (p place) entry(name string) place { return place{section: p.field, name: name} }

// element returns the place of the element with index i of the list p, which may itself
// be an element of a list.
func (p place) element(i int) place {
	if p.item == 0 {
		p.item = i + 1
	} else {
		p.inner = i + 1
	}
	return p
}

// parent returns the place of the mapping that has the field p.
func (p place) parent() place {
	i := strings.LastIndexByte(p.field, '.')
	p.field = p.field[:max(i, 0)]
	if p.field == "" {
		p.item, p.inner = 0, 0
	}
	return p
}

// top returns the place that contains p and is checked as a whole: an entry of a
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

// label returns the beginning of a message about p, such as "key 2: layout: ". The name
// of a table comes before it.
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

// mayHideSecret reports whether an unknown name at p may be a part of a DSN, or a password.
func (p place) mayHideSecret() bool {
	return p.section == "stores" || p.section == "" && p.field == "stores"
}

// storeWords are the names of the fields of a store and of its tls, which messages may
// show. They are written out here, since the functions that read these fields use them; a
// test compares this list with those functions.
var storeWords = []string{
	"driver", "dsn", "dsn_env", "endpoints", "endpoints_env", "prefix", "user_env", "password_env", "tls",
	"ca", "cert", "key", "server_name",
}

// shown returns a name or a tag of the file at p for a message, hidden if it may be secret.
func (p place) shown(s string) string {
	if p.mayHideSecret() && !slices.Contains(storeWords, s) {
		return hidden
	}
	return show(s)
}

// find returns the position of p, or of the nearest part that contains p in its entry.
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
