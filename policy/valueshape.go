package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/internal/nearest"
)

// shape is the type of a value in the file. read reads such a value, and schema describes
// it for the JSON Schema. If the value has another type, read reports a mistake, and its
// result is not used.
type shape[V any] struct {
	read   func(r *reader, p place, n *yaml.Node) V
	schema schema
}

// heading describes a key of a mapping: its name, whether it is required, and its schema.
type heading struct {
	name     string
	required bool
	example  string // shown in the message if a required field is missing
	schema   schema
}

// field is one key of a mapping that is read into a T.
type field[T any] struct {
	heading
	read func(r *reader, p place, n *yaml.Node, to *T)
}

// bind returns the field called name. Its values have shape s (the type of a value in the
// file) and are stored in *to(t).
func bind[T, V any](name, doc string, s shape[V], to func(t *T) *V) field[T] {
	return field[T]{
		heading: heading{name: name, schema: s.schema.with("description", doc)},
		read: func(r *reader, p place, n *yaml.Node, t *T) {
			*to(t) = s.read(r, p, n)
		},
	}
}

// must returns f as a required field; example is shown if it is missing.
func must[T any](example string, f field[T]) field[T] {
	f.required, f.example = true, example
	return f
}

// byDefault returns f with the value that applies if the field is left out. Only the schema
// uses that value: the code that completes a configuration has its own default values, and
// a test checks that both are the same.
func (f field[T]) byDefault(value any) field[T] {
	f.schema = f.schema.with("default", value)
	return f
}

// as returns f with examples of its value in the schema.
func (f field[T]) as(examples ...any) field[T] {
	f.schema = f.schema.with("examples", examples)
	return f
}

// object returns the shape (type of a value in the file) of a mapping with these fields and
// no others.
func object[T any](fields []field[T]) shape[T] {
	all := headings(fields)
	return shape[T]{
		read: func(r *reader, p place, n *yaml.Node) (t T) {
			r.object(p, n, all, func(i int, at place, value *yaml.Node) { fields[i].read(r, at, value, &t) })
			return t
		},
		schema: objectSchema(all),
	}
}

// object reads a mapping with these fields and no others. It calls read for each field
// in the mapping, with the field's index.
func (r *reader) object(p place, n *yaml.Node, fields []heading, read func(i int, at place, value *yaml.Node)) {
	if !r.isMapping(p, n) {
		return
	}
	seen := make(map[string]bool)
	r.pairs(p, n, "field", func(name string, key, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f heading) bool { return f.name == name })
		if i < 0 {
			names := fieldNames(fields)
			meant := nearest.Word(name, names)
			seen[meant] = true // the misspelt field counts as given, so that it is not reported as missing too
			msg := strings.Replace(unknownWord("field", name, names), show(name), p.shown(name), 1)
			if belongs := r.levels.belongs(p, name); meant == "" && belongs != "" {
				msg = fmt.Sprintf("unknown field %s; it belongs %s", show(name), belongs)
			}
			r.misreadField(positionOf(key), p.in(meant), msg)
			return
		}
		seen[name] = true
		r.origin.at[p.in(name)] = positionOf(value)
		read(i, p.in(name), value)
	})
	for _, f := range fields {
		if f.required && !seen[f.name] {
			r.misreadField(positionOf(n), p.in(f.name), f.name+" is missing; write it, as in "+f.example)
		}
	}
}

func headings[T any](fields []field[T]) []heading {
	all := make([]heading, len(fields))
	for i, f := range fields {
		all[i] = f.heading
	}
	return all
}

func fieldNames(fields []heading) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

// section returns the shape (type of a value in the file) of a mapping of names to values
// of shape s.
func section[V any](s shape[V]) shape[map[string]V] {
	return shape[map[string]V]{
		read: func(r *reader, p place, n *yaml.Node) map[string]V {
			if !r.isMapping(p, n) {
				return nil
			}
			entries := make(map[string]V)
			r.pairs(p, n, "entry", func(name string, key, value *yaml.Node) {
				at := p.entry(name)
				r.origin.at[at] = positionOf(key)
				if at.mayHideSecret() && value.Kind != yaml.MappingNode {
					r.unread[at.top()] = true
					at.name = notShown // the name may be part of the DSN on the line above, so messages do not show it
				}
				entries[name] = s.read(r, at, value)
			})
			return entries
		},
		schema: schema{"type": "object", "additionalProperties": s.schema},
	}
}

// list returns the shape (type of a value in the file) of a list of values of shape s.
func list[V any](s shape[V]) shape[[]V] {
	return shape[[]V]{
		read: func(r *reader, p place, n *yaml.Node) []V {
			if !r.is(p, n, yaml.SequenceNode, "list") {
				return nil
			}
			if len(n.Content) == 0 {
				r.misread(positionOf(n), p, "the list is empty; leave it out")
			}
			var values []V
			for i, c := range n.Content {
				at := p.element(i)
				r.origin.at[at] = positionOf(c)
				values = append(values, s.read(r, at, c))
			}
			return values
		},
		schema: schema{"type": "array", "minItems": 1, "items": s.schema},
	}
}

// orMapping returns the shape of a value that is written as one, or as a mapping.
func orMapping[V any](one, whole shape[V]) shape[V] {
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) V {
			if n.Kind == yaml.MappingNode {
				return whole.read(r, p, n)
			}
			return one.read(r, p, n)
		},
		schema: schema{"oneOf": []schema{one.schema, whole.schema}},
	}
}

// word returns the shape (type of a value in the file) of a string that is one of words.
// what is what messages call it.
func word[V ~string](what string, words []string) shape[V] {
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) V {
			if r.isString(p, n) && !slices.Contains(words, n.Value) {
				r.misreadField(positionOf(n), p, unknownWord(what, n.Value, words))
			}
			return V(n.Value)
		},
		schema: schema{"enum": words},
	}
}

// numbered returns the shape (type of a value in the file) of a string that is one of
// words, and is read as its index.
func numbered[V ~uint8](what string, words []string) shape[V] {
	w := word[string](what, words)
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) V {
			return V(max(slices.Index(words, w.read(r, p, n)), 0))
		},
		schema: w.schema,
	}
}

// set returns the shape (type of a value in the file) of a list of words, which is read as
// a set of bits, one for each index. An unquoted null is read as the word "null".
func set[V ~uint8](what string, words []string) shape[V] {
	w := word[string](what, words)
	items := []any{nil} // other readers of YAML get nil for an unquoted null
	for _, word := range words {
		items = append(items, word)
	}
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) (bits V) {
			if !r.is(p, n, yaml.SequenceNode, "list") {
				return 0
			}
			if len(n.Content) == 0 {
				r.misread(positionOf(n), p, "the list is empty, so that nothing would be filled; leave it out, or say mode: off")
			}
			for _, c := range n.Content {
				if c.Kind == yaml.ScalarNode && c.Value != "" && c.ShortTag() == "!!null" {
					quoted := *c
					quoted.Tag = "!!str"
					c = &quoted
				}
				bit := V(1) << max(slices.Index(words, w.read(r, p, c)), 0)
				if bits&bit != 0 && slices.Contains(words, c.Value) {
					r.misread(positionOf(c), p, fmt.Sprintf("%q twice", c.Value))
				}
				bits |= bit
			}
			return bits
		},
		schema: schema{
			"type": "array", "minItems": 1, "uniqueItems": true, "items": schema{"enum": items},
		},
	}
}
