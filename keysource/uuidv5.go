package keysource

//row:changes | a key that is made from columns of its row | `keysource/uuidv5.go`, `internal/keys/fromrow.go`, `internal/keys/numbering/scopecolumn.go`

import (
	"context"
	"crypto/sha1" //nolint:gosec // RFC 9562, section 5.5, prescribes SHA-1
	"database/sql/driver"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// UUIDv5 makes UUIDs of version 5 from the values of columns: the same namespace and the
// same values make the same key, in every process and in every release (RFC 9562, section
// 5.5). The key is the SHA-1 of the namespace and the name, with version and variant. The
// name has these parts for each value, in order:
//
//	1 byte    the type: 'i' for an integer, 't' for a text
//	4 bytes   the length of the rest, most significant byte first
//	the rest  the integer in decimal digits, with - if it is negative; or the text in UTF-8
//
// docs/vectors.json has examples. A key is no secret: a program that knows the namespace
// can try values until it finds the key.
type UUIDv5 struct{ namespace [16]byte }

// NewUUIDv5 returns a source of UUIDs of version 5 within a namespace.
func NewUUIDv5(namespace [16]byte) *UUIDv5 { return &UUIDv5{namespace} }

// ErrNeedsRow is returned when keys are asked for that are made from columns of their rows,
// and the rows are not known.
var ErrNeedsRow = anchor.Last("from-columns", "keysource: the key is made from columns of its row: insert the row without a key, or compute the key with UUIDv5.Key")

// Key returns the key of a row, in RFC order, from the values of its columns: each is an
// int64, a uint64 or a string. It fails without values, and for any other type, or a text
// that is not UTF-8.
func (s *UUIDv5) Key(values ...any) (key [16]byte, err error) {
	if len(values) == 0 {
		return key, ErrNeedsRow
	}
	name := append(make([]byte, 0, 128), s.namespace[:]...)
	for i, v := range values {
		at := len(name)
		name = append(name, 'i', 0, 0, 0, 0)
		switch v := v.(type) {
		case int64:
			name = strconv.AppendInt(name, v, 10)
		case uint64:
			name = strconv.AppendUint(name, v, 10)
		case string:
			if !utf8.ValidString(v) {
				return key, anchor.Lastf("from-columns", "keysource: value %d is no text in UTF-8: give it as one", i+1)
			}
			name[at] = 't'
			name = append(name, v...)
		default:
			return key, anchor.Lastf("from-columns", "keysource: value %d is a %T: give an int64, a uint64 or a string", i+1, v)
		}
		binary.BigEndian.PutUint32(name[at+1:], uint32(len(name)-at-5)) //nolint:gosec // no argument of a statement has 4 GB
	}
	sum := sha1.Sum(name) //nolint:gosec // see the import
	key = [16]byte(sum[:])
	key[6] = key[6]&0x0f | 5<<4
	key[8] = key[8]&0x3f | 0x80
	return key, nil
}

// Value returns the key of a row, as Key does, in the form in which a driver takes it. As for
// [UUIDv4], [dialect.SequentialAtEnd] moves no bytes, since these keys have no order to keep.
func (s *UUIDv5) Value(l dialect.Layout, values ...any) (driver.Value, error) {
	key, err := s.Key(values...)
	if err != nil {
		return nil, err
	}
	return l.Value(sortable(key, l)), nil
}

// Next fails with [ErrNeedsRow]: see Key.
func (s *UUIDv5) Next(context.Context, Request) ([]driver.Value, error) { return nil, ErrNeedsRow }

// Append fails with [ErrNeedsRow]: see Key.
func (s *UUIDv5) Append(_ context.Context, room []driver.Value, _ Request) ([]driver.Value, error) {
	return room, ErrNeedsRow
}

// Traits returns that keys have no order.
func (s *UUIDv5) Traits() Traits { return Traits{} }
