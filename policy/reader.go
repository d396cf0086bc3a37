package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader reads a [Config] from the nodes of a YAML file, and notes their positions and
// mistakes. It refuses aliases and never follows them, so reading a file costs no more
// than its length.
type reader struct {
	mistakes
	levels *fieldLevels
}

// is reports whether n is of the given kind. If not, it adds the mistake that a value
// of the type called name is wanted.
func (r *reader) is(p place, n *yaml.Node, kind yaml.Kind, name string) bool {
	if !r.isPlain(p, n) {
		return false
	}
	standard := kind == yaml.ScalarNode ||
		kind == yaml.MappingNode && n.ShortTag() == "!!map" ||
		kind == yaml.SequenceNode && n.ShortTag() == "!!seq"
	if n.Kind != kind || !standard {
		r.misread(positionOf(n), p, want(p, name, n))
		return false
	}
	return true
}

// isMapping reports whether n is a mapping. If not, it adds the mistake, with an
// example of the right value.
func (r *reader) isMapping(p place, n *yaml.Node) bool {
	if !r.isPlain(p, n) {
		return false
	}
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		r.misread(positionOf(n), p, want(p, "mapping", n)+r.mappingExample(p, n))
		return false
	}
	return true
}

// mappingExample returns the end of a message about a value that should be a table, a
// source or a section of these: an example. It is empty for other places.
func (r *reader) mappingExample(p place, n *yaml.Node) string {
	value := ""
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" && isPlainWord(n.Value) {
		value = n.Value
	}
	name := p.name
	if !isPlainWord(name) {
		name = map[string]string{"tables": "orders", "sources": "numbers"}[p.section]
	}
	switch {
	case p.section == "tables" && p.field == "":
		return fmt.Sprintf("; write %s: {column: %s}", name, cmp.Or(value, "id"))
	case p.section == "" && p.field == "tables":
		return fmt.Sprintf("; write tables: {%s: {column: id}}", cmp.Or(value, "orders"))
	case p.section == "sources" && p.field == "":
		if !slices.Contains(r.levels.kinds, value) {
			value = KindSequence
		}
		return fmt.Sprintf("; write %s: {kind: %s}", name, value)
	}
	return ""
}

// isPlainWord reports whether a text is a name that a message may show as it is.
func isPlainWord(text string) bool {
	return len(text) <= maxShown && strings.IndexFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_')
	}) < 0
}

// isString reports whether n is a string. If not, it adds the mistake.
func (r *reader) isString(p place, n *yaml.Node) bool {
	if !r.is(p, n, yaml.ScalarNode, "string") {
		return false
	}
	if n.ShortTag() == "!!str" {
		return true
	}
	msg := want(p, "string", n)
	if n.Value != "" && n.Style&yaml.TaggedStyle == 0 {
		msg += "; quotes make it a string"
	}
	r.misread(positionOf(n), p, msg)
	return false
}

// isPlain reports whether n is not an alias and has no anchor. If it returns false, it has
// added the mistake.
func (r *reader) isPlain(p place, n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.misread(positionOf(n), p, aliasMessage)
		return false
	}
	return true
}

const aliasMessage = "anchors and aliases (&name, *name) are not read; write the value out, and a name that begins with * in quotes"

// pairs calls f for each entry of the mapping n whose key is a string that did not
// occur before. what is what messages call a key.
func (r *reader) pairs(p place, n *yaml.Node, what string, f func(name string, key, value *yaml.Node)) {
	first := make(map[string]position)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		pos := positionOf(key)
		switch at, double := first[key.Value]; {
		case !r.isPlain(p, key):
		case key.ShortTag() == "!!merge":
			r.misread(pos, p, "merge keys (<<) are not read; write the fields out")
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			r.misread(pos, p, fmt.Sprintf("want a string as the name of the %s, have %s; write it in quotes", what, have(p, key)))
		case double:
			r.misread(pos, p, fmt.Sprintf("%s %s twice, first in line %d", what, p.shown(key.Value), at.line))
		default:
			first[key.Value] = pos
			f(key.Value, key, value)
		}
	}
}

func positionOf(n *yaml.Node) position { return position{n.Line, n.Column} }

// want returns the message about a node that is not of the type called name.
func want(p place, name string, n *yaml.Node) string {
	return fmt.Sprintf("want a %s, have %s", name, have(p, n))
}

// have returns the type of n for a message, without its value.
func have(p place, n *yaml.Node) string {
	switch tag := n.ShortTag(); {
	case n.Style&yaml.TaggedStyle != 0:
		return "a value with the tag " + p.shown(tag)
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case tag == "!!str":
		return "a string"
	case tag == "!!int":
		return "a number"
	case tag == "!!float":
		return "a floating-point number"
	case tag == "!!bool":
		return "a boolean"
	case tag == "!!null" && n.Value == "":
		return "nothing"
	case tag == "!!null":
		return "null"
	}
	return "a date"
}
