package table

import (
	"context"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// valueKey is the key of a value that WithValue puts into a context.
type valueKey struct{ name string }

// WithValue returns a context that holds the value of a name in the names of states.
func WithValue(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, valueKey{name}, value)
}

// ValuesOf returns what WithValue has put into ctx.
func ValuesOf(ctx context.Context) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := ctx.Value(valueKey{name}).(string)
		return v, ok && v != ""
	}
}

// SpreadIn returns the number with which keys begin: the context's value of this name.
func SpreadIn(ctx context.Context, name string) (int, error) {
	text, ok := ValuesOf(ctx)(name)
	if !ok {
		return 0, anchor.Errorf("value", "its keys begin with the value %q, which is not given: keyfill.WithValue(ctx, %[1]q, …)", name)
	}
	return keysource.ParseSpread(text)
}
