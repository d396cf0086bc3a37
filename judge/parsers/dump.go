package parsers

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/keyfill/keyfill/judge/tree"
)

// dumper converts the tree that a parser made, whatever its types, into a tree that can be
// compared. It reads fields and changes none.
type dumper struct {
	// special returns the nodes of structs that a judge must know, such as INSERTs; nil for
	// all others.
	special func(d *dumper, v reflect.Value) *tree.Node
	wraps   map[string]tree.Wrap // the Wrap of nodes, by the names of their types
	// skipped holds the fields that describe the text instead of the statement, by name or
	// by type.name, and the types that have only such fields.
	skipped map[string]bool
}

// node dumps a value; it returns nil if there is no value.
func (d *dumper) node(v reflect.Value) *tree.Node {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer, reflect.Interface:
		return d.node(v.Elem())
	case reflect.Struct:
		if d.special != nil {
			if n := d.special(d, v); n != nil {
				return n
			}
		}
		return d.fields(v)
	case reflect.Slice, reflect.Array:
		return d.list(v)
	case reflect.String:
		return &tree.Node{Label: v.String()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &tree.Node{Label: strconv.FormatInt(v.Int(), 10)}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &tree.Node{Label: strconv.FormatUint(v.Uint(), 10)}
	case reflect.Float32, reflect.Float64:
		return &tree.Node{Label: strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	case reflect.Bool:
		return &tree.Node{Label: strconv.FormatBool(v.Bool())}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return nil
	}
	panic(fmt.Sprintf("parsers: a tree has a %s in it", v.Kind()))
}

// fields dumps a struct: its type and each field that is set, except for the fields in
// without.
func (d *dumper) fields(v reflect.Value, without ...string) *tree.Node {
	t := v.Type()
	n := &tree.Node{Label: t.Name(), Wrap: d.wraps[t.Name()]}
	for i := range t.NumField() {
		f := t.Field(i)
		if v.Field(i).IsZero() || d.skipped[f.Name] || d.skipped[t.Name()+"."+f.Name] || d.skipped[f.Type.Name()] ||
			f.Type.Kind() == reflect.Pointer && d.skipped[f.Type.Elem().Name()] || slices.Contains(without, f.Name) {
			continue
		}
		kid := d.node(v.Field(i))
		if kid != nil && !(f.Anonymous && len(kid.Kids) == 0) { // skip an embedded struct that has only skipped fields
			n.Kids = append(n.Kids, &tree.Node{Label: f.Name, Kids: []*tree.Node{kid}})
		}
	}
	return n
}

// list dumps a slice; bytes are text.
func (d *dumper) list(v reflect.Value) *tree.Node {
	if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
		return &tree.Node{Label: string(v.Bytes())}
	}
	n := &tree.Node{Label: "list"}
	n.Kids = d.nodes(v)
	return n
}

// nodes dumps the elements of a slice.
func (d *dumper) nodes(v reflect.Value) []*tree.Node {
	var nodes []*tree.Node
	for i := range v.Len() {
		nodes = append(nodes, d.node(v.Index(i)))
	}
	return nodes
}

// inner follows pointers and interfaces.
func inner(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// field returns a field, following pointers; the zero Value if the field is not set.
func field(v reflect.Value, name string) reflect.Value {
	if v = inner(v); v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return inner(v.FieldByName(name))
}

// text returns a field that is a string, empty if it is not set.
func text(v reflect.Value, name string) string {
	if f := field(v, name); f.Kind() == reflect.String {
		return f.String()
	}
	return ""
}
