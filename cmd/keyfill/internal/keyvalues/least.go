package keyvalues

import (
	"database/sql/driver"
	"io"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/typeid"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// PrintLeast prints the least key that a source makes at a time, which is written as in
// RFC 3339, or as a day in UTC.
func PrintLeast(w io.Writer, source policy.Source, l dialect.Layout, at string) error {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, at); err != nil {
			return usage.Errorf("--at: write a time as 2026-11-28T15:04:05Z, or a day as 2026-11-28")
		}
	}
	key, err := least(source, l, t)
	if err != nil {
		return err
	}
	return printKey(w, key)
}

// PrintLeast prints the least key that a table of the policy gets at a time.
func (k *TableKeys) PrintLeast(w io.Writer, table, at string) error {
	key, _, err := k.Key(table)
	if err != nil {
		return err
	}
	return PrintLeast(w, key.Sent(), key.Layout, at)
}

// least returns the least key that a source makes at a time.
func least(source policy.Source, l dialect.Layout, at time.Time) (key driver.Value, err error) {
	switch source.Kind {
	case policy.KindUUIDv7:
		if source.Prefix != "" {
			low, _, err := keysource.UUIDv7Bounds(at, at, dialect.SequentialAsBinary)
			if err != nil {
				return nil, err
			}
			return string(typeid.Append(nil, source.Prefix, [16]byte(low.([]byte)))), nil
		}
		key, _, err = keysource.UUIDv7Bounds(at, at, l)
	case policy.KindULID:
		key, _, err = keysource.ULIDBounds(at, at, l)
	case policy.KindCOMB:
		key, _, err = keysource.COMBBounds(at, at, source.Epoch, l)
	case policy.KindSnowflake:
		key, _, err = keysource.SnowflakeBounds(at, at, source.SnowflakeOptions().Bits, l)
	default:
		return nil, usage.Errorf("--at: keys of kind %s hold no time by which they sort: use uuidv7, ulid, comb or snowflake", source.Kind)
	}
	return key, err
}
