package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// text is the shape (type of a value in the file) of a string that is not empty.
var text = shape[string]{
	read: func(r *reader, p place, n *yaml.Node) string {
		if r.isString(p, n) && n.Value == "" {
			r.misread(positionOf(n), p, "the text of this field is empty; write a text, or leave the field out")
		}
		return n.Value
	},
	schema: schema{"type": "string", "minLength": 1},
}

// matching returns s with a pattern in its JSON Schema. Reading ignores the pattern:
// the value is checked later, as it may also come from Go.
func (s shape[V]) matching(pattern string) shape[V] {
	s.schema = s.schema.with("pattern", pattern)
	return s
}

// number returns the shape (type of a value in the file) of an integer, any that V holds.
func number[V int | int64]() shape[V] {
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) V {
			if !r.is(p, n, yaml.ScalarNode, "whole number") {
				return 0
			}
			if n.ShortTag() != "!!int" {
				r.misread(positionOf(n), p, want(p, "whole number", n))
				return 0
			}
			i, err := strconv.ParseInt(n.Value, 10, 64)
			if err != nil || int64(V(i)) != i {
				r.misread(positionOf(n), p, "want a whole number in decimal digits")
			}
			return V(i)
		},
		schema: schema{"type": "integer"},
	}
}

// atLeast returns the shape (type of a value in the file) of an integer that is not below
// least.
func atLeast[V int | int64](least V) shape[V] {
	s := number[V]()
	return shape[V]{
		read: func(r *reader, p place, n *yaml.Node) V {
			before := len(r.list)
			i := s.read(r, p, n)
			if len(r.list) == before && i < least {
				r.misread(positionOf(n), p, fmt.Sprintf("want a whole number from %d", least))
			}
			return i
		},
		schema: s.schema.with("minimum", least),
	}
}

// judged returns the shape (type of a value in the file) of an integer that is at least
// least in the JSON Schema. Reading does not check this bound: the kind of the source
// checks it later, together with other rules.
func judged[V int | int64](least V) shape[V] {
	s := number[V]()
	return shape[V]{read: s.read, schema: s.schema.with("minimum", least)}
}

// choice returns the shape (type of a value in the file) of an integer that is one of
// numbers, for the field called name.
func choice(name string, numbers []int) shape[int] {
	s := number[int]()
	return shape[int]{
		read: func(r *reader, p place, n *yaml.Node) int {
			before := len(r.list)
			i := s.read(r, p, n)
			if len(r.list) == before && !slices.Contains(numbers, i) {
				r.misreadField(positionOf(n), p, unknownNumber(name, i, numbers))
			}
			return i
		},
		schema: schema{"enum": numbers},
	}
}

// boolean is the shape (type of a value in the file) of true and false.
var boolean = shape[bool]{
	read: func(r *reader, p place, n *yaml.Node) bool {
		if !r.is(p, n, yaml.ScalarNode, "boolean") {
			return false
		}
		if n.ShortTag() != "!!bool" {
			r.misread(positionOf(n), p, want(p, "boolean", n)+"; it is true or false")
		}
		return strings.EqualFold(n.Value, "true")
	},
	schema: schema{"type": "boolean"},
}

// optional returns the shape (type of a value in the file) of a pointer to a value of shape
// s, which is nil if the value is missing.
func optional[V any](s shape[V]) shape[*V] {
	return shape[*V]{
		read: func(r *reader, p place, n *yaml.Node) *V {
			return new(s.read(r, p, n))
		},
		schema: s.schema,
	}
}

const durationPattern = `^[0-9]+(ms|s|m|h)$`

var duration = regexp.MustCompile(durationPattern)

// durationShape is the shape (type of a value in the file) of a duration, such as 30s.
var durationShape = shape[time.Duration]{
	read: func(r *reader, p place, n *yaml.Node) time.Duration {
		if n.Tag == "!!int" {
			r.misread(positionOf(n), p, "want a whole number of ms, s, m or h, as in 30s")
			return 0
		}
		if !r.isString(p, n) {
			return 0
		}
		d, err := time.ParseDuration(n.Value)
		if !duration.MatchString(n.Value) || err != nil || d <= 0 {
			r.misread(positionOf(n), p, "want a whole number of ms, s, m or h, as in 30s")
		}
		return d
	},
	schema: schema{"type": "string", "pattern": durationPattern},
}
