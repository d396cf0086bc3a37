package publicid

import (
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/typeid"
	"github.com/keyfill/keyfill/keysource"
)

// Type names a type of ids. A program declares a type for each kind of row, mostly an empty
// struct:
//
//	type Customer struct{}
//
//	func (Customer) Prefix() string { return "cus" }
//
// Its methods are called on its zero value. They must always return the same.
type Type interface {
	// Prefix returns what stands before the underscore: letters from a to z, 63 at most,
	// with underscores in between only. It may be empty; the text of an id is then the 26
	// characters alone.
	Prefix() string
}

// Stored is a [Type] whose ids are stored without their prefix: in a column of type uuid,
// uniqueidentifier or CHAR(36), or of 16 bytes. The ids of a Type that is not Stored are
// stored as their text, with the prefix.
type Stored interface {
	Type

	// Layout returns the layout of the column, as the policy says it for the source of
	// these ids.
	Layout() dialect.Layout
}

// ID is the id of a row: a UUID with the type T of what it identifies. IDs of different
// types are different types, which the compiler does not mix up. They can be compared by ==
// and used as keys of maps. The zero ID is the one of the nil UUID, and counts as no id.
//
// Its text is a TypeID, such as cus_01h455vb4pex5vsknk084sn02q. It is the same in JSON, in
// URLs, and in a column of text.
//
// # In a column
//
// What is sent to a column, and what is read from one, depends on the method Layout of T:
//
//	no method                  the text: prefix, underscore, 26 characters
//	dialect.SequentialAsString the text of the UUID, 36 characters
//	dialect.SequentialAsBinary 16 bytes
//	dialect.Swapped            16 bytes, as UUID_TO_BIN(uuid, 1) of MySQL makes them
//	dialect.SequentialAtEnd    36 characters, which SQL Server sorts by time
//
// NULL is no ID: use sql.Null[ID[T]] for a column that may be NULL.
type ID[T Type] struct {
	of  [0]*T //nolint:unused // without it, an explicit conversion to the ID of another type would compile
	key [16]byte
}

// FromUUID returns the id of a UUID, in RFC order. The id of a row that keyfill has filled is
// what keyfill.Last[ID[T]] returns.
func FromUUID[T Type](u uuid.UUID) ID[T] { return ID[T]{key: u} }

// Parse returns the id whose text is text: lower case, with the prefix of T. The error wraps
// [ErrSyntax] for a text that is not a TypeID, [ErrType] for an id of another type, and
// [ErrPrefix] if T has a prefix that cannot be used. It does not repeat the text.
func Parse[T Type](text string) (ID[T], error) {
	found, key, err := typeid.Parse(text)
	if err != nil {
		return ID[T]{}, anchor.Endf("%w: %w", ErrSyntax, err)
	}
	prefix, err := prefixOf[T]()
	switch {
	case err != nil:
		return ID[T]{}, err
	case found == prefix:
		return ID[T]{key: key}, nil
	case prefix == "":
		return ID[T]{}, anchor.Endf("%w: use an id without a prefix", ErrType)
	}
	return ID[T]{}, anchor.Endf("%w: use an id that begins with %s_", ErrType, prefix)
}

// Bounds returns the ids between which the ids of a time range are: those made from the
// time from on and before to, which a column compares by
//
//	id >= low AND id < high
//
// if their UUIDs are of version 7. It is [keysource.UUIDv7Bounds] for ids, with its errors.
func Bounds[T Type](from, to time.Time) (low, high ID[T], err error) {
	if layout, _ := layoutOf[T](); layout == dialect.Swapped {
		_, _, err := keysource.UUIDv7Bounds(from, to, layout)
		return low, high, err
	}
	first, last, err := keysource.UUIDv7Bounds(from, to, dialect.SequentialAsBinary)
	if err != nil {
		return low, high, err
	}
	return ID[T]{key: [16]byte(first.([]byte))}, ID[T]{key: [16]byte(last.([]byte))}, nil
}

// UUID returns the UUID of the id, in RFC order.
func (id ID[T]) UUID() uuid.UUID { return id.key }

// IsZero reports whether the id is the zero ID, which counts as no id.
func (id ID[T]) IsZero() bool { return id == ID[T]{} }

// String returns the text of the id.
func (id ID[T]) String() string {
	var t T
	var room [typeid.MaxSize]byte
	return string(typeid.Append(room[:0], t.Prefix(), id.key))
}

// AppendText appends the text of the id to b (encoding.TextAppender). Its error wraps
// [ErrPrefix] if T has a prefix that cannot be used.
func (id ID[T]) AppendText(b []byte) ([]byte, error) {
	prefix, err := prefixOf[T]()
	if err != nil {
		return b, err
	}
	return typeid.Append(b, prefix, id.key), nil
}

// MarshalText returns the text of the id (encoding.TextMarshaler), which is also its value
// in JSON. Its error is as for AppendText.
func (id ID[T]) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText sets the id to the one whose text is text (encoding.TextUnmarshaler), which
// is also its value in JSON. If it fails, with the errors of [Parse], it leaves the id as it
// is.
func (id *ID[T]) UnmarshalText(text []byte) error {
	read, err := Parse[T](string(text))
	if err != nil {
		return err
	}
	*id = read
	return nil
}

// Value returns what is sent to a column (driver.Valuer): a string, or 16 bytes for
// [dialect.SequentialAsBinary] and [dialect.Swapped]. Its error wraps [ErrPrefix] if T has a prefix that cannot be
// used.
func (id ID[T]) Value() (driver.Value, error) {
	if layout, ok := layoutOf[T](); ok {
		return layout.Value(id.key), nil
	}
	text, err := id.AppendText(nil)
	if err != nil {
		return nil, err
	}
	return string(text), nil
}

// Scan sets the id to a value that was read from a column (sql.Scanner): a string or a
// []byte with the text of the id, or if T has a method Layout, with the text or the 16 bytes
// of the UUID. The bytes of a uniqueidentifier are in the order in which SQL Server stores
// them. If Scan fails, it leaves the id as it is. The error wraps
// [ErrSyntax] for NULL and for a value in another form; it is as for [Parse] for a text
// with a prefix.
func (id *ID[T]) Scan(value any) error {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case []byte:
		text = string(v)
	case nil:
		return anchor.Endf("%w: it is NULL: use a sql.Null of the id's type", ErrSyntax)
	default:
		return anchor.Endf("%w: it is a %T: use a column of text, uuid or 16 bytes", ErrSyntax, value)
	}
	read, err := scan[T](text)
	if err != nil {
		return err
	}
	*id = read
	return nil
}

const (
	uuidSize  = 36 // characters of the text of a UUID
	bytesSize = 16 // of a UUID
)

// scan returns the id that a column holds as text or bytes.
func scan[T Type](text string) (ID[T], error) {
	layout, stored := layoutOf[T]()
	switch {
	case !stored:
		read, err := Parse[T](strings.TrimRight(text, " ")) // a CHAR column that is longer ends in spaces
		if errors.Is(err, ErrSyntax) && (len(text) == bytesSize || uuid.Validate(text) == nil) {
			return read, anchor.Endf("%w: the column holds a UUID: give the type %T a method Layout", ErrSyntax, *new(T))
		}
		return read, err
	case len(text) == bytesSize:
		key := [16]byte([]byte(text))
		switch layout {
		case dialect.SequentialAtEnd:
			key = dialect.FromAtEnd(dialect.MixedEndian(key))
		case dialect.Swapped:
			key = dialect.Unswap(key)
		}
		return ID[T]{key: key}, nil
	case len(text) == uuidSize:
		u, err := uuid.Parse(text)
		if err != nil {
			break
		}
		if layout == dialect.SequentialAtEnd {
			u = dialect.FromAtEnd(u)
		}
		return ID[T]{key: u}, nil
	}
	return ID[T]{}, anchor.Endf("%w: it is no UUID, which the method Layout of the type %T promises: make both agree", ErrSyntax, *new(T))
}

// prefixOf returns the prefix of a type.
func prefixOf[T Type]() (string, error) {
	var t T
	prefix := t.Prefix()
	if err := typeid.CheckPrefix(prefix); err != nil {
		return "", anchor.Endf("%w: %T: %w", ErrPrefix, t, err)
	}
	return prefix, nil
}

// layoutOf returns the layout in which the ids of a type are stored. It returns false if
// they are stored as their text.
func layoutOf[T Type]() (dialect.Layout, bool) {
	var t T
	if s, ok := any(t).(Stored); ok {
		return s.Layout(), true
	}
	return "", false
}
