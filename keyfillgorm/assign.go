package keyfillgorm

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"reflect"

	"github.com/keyfill/keyfill/internal/anchor"
)

// set sets a key in a struct and returns the value that GORM binds for it. It returns an
// error if that value is not the key, since the key would then be stored in a form that
// keyfill does not expect.
func (d *drawn) set(ctx context.Context, rv reflect.Value, key driver.Value) (any, error) {
	if err := d.assign(ctx, rv, key); err != nil {
		return nil, err
	}
	value, _ := d.field.ValueOf(ctx, rv)
	if sent := sentAs(value); !equal(sent, key) {
		return nil, anchor.Lastf("policy", "keyfillgorm: field %s sends its key, as %T, in another form than the policy's %T: set layout: in the policy, or choose another type", d.field.Name, sent, key)
	}
	return value, nil
}

// assign sets a key in a struct. The error does not contain GORM's error, which shows the
// key.
func (d *drawn) assign(ctx context.Context, rv reflect.Value, key driver.Value) error {
	if text, ok := key.(string); ok {
		if u := unmarshaler(d.field.ReflectValueOf(ctx, rv)); u != nil {
			if u.UnmarshalText([]byte(text)) == nil {
				return nil
			}
			return d.unfit(key)
		}
	}
	if d.field.Set(ctx, rv, key) != nil {
		return d.unfit(key)
	}
	return nil
}

// unfit returns the error for a field that cannot hold a key.
func (d *drawn) unfit(key driver.Value) error {
	return anchor.Lastf("policy", "keyfillgorm: field %s, as %s, cannot hold the key of table %q, as %T: give it a type that is an sql.Scanner, or set layout:", d.field.Name, d.field.FieldType, d.table, key)
}

// unmarshaler returns the text unmarshaler of a field that is an array, or a pointer to
// one, and that GORM cannot read: GORM knows only sql.Scanner, and the UUID of Go 1.27's
// standard library is none. It returns nil for other fields.
func unmarshaler(field reflect.Value) encoding.TextUnmarshaler {
	array := field.Type()
	if array.Kind() == reflect.Pointer {
		array = array.Elem()
	}
	if array.Kind() != reflect.Array || reflect.PointerTo(array).Implements(reflect.TypeFor[sql.Scanner]()) {
		return nil
	}
	if !reflect.PointerTo(array).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	if field.Kind() == reflect.Array {
		return field.Addr().Interface().(encoding.TextUnmarshaler)
	}
	if field.IsNil() {
		field.Set(reflect.New(array))
	}
	return field.Interface().(encoding.TextUnmarshaler)
}

// sentAs returns a value as drivers send it. If database/sql does not convert the value, a
// driver that accepts every type sends the value's text, if it has one.
func sentAs(value any) any {
	sent, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err == nil {
		return sent
	}
	if m, ok := value.(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return value
}

// equal compares two values of a driver.
func equal(a any, b driver.Value) bool {
	switch b := b.(type) {
	case []byte:
		a, ok := a.([]byte)
		return ok && bytes.Equal(a, b)
	case string:
		a, ok := a.(string)
		return ok && a == b
	}
	return a == b
}
