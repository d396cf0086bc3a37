package table

import (
	"context"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// valueKey is the context key of a value that WithValue has set.
type valueKey struct{ name string }

// WithValue returns a context with the value that replaces {name} in the names of
// stored counters.
func WithValue(ctx context.Context, name, value string) context.Context {
	return context.WithValue(ctx, valueKey{name}, value)
}

// ValuesOf returns a function for the values that WithValue has set in ctx.
func ValuesOf(ctx context.Context) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := ctx.Value(valueKey{name}).(string)
		return v, ok && v != ""
	}
}

// SpreadIn returns the number with which keys begin, which is the context's value with
// this name.
func SpreadIn(ctx context.Context, name string) (int, error) {
	text, ok := ValuesOf(ctx)(name)
	if !ok {
		return 0, anchor.Errorf("value", "the table's keys begin with the value %q, which the context lacks: call keyfill.WithValue(ctx, %[1]q, …)", name)
	}
	return keysource.ParseSpread(text)
}
