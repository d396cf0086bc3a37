package assoc

import (
	"database/sql/driver"

	"github.com/google/uuid"
	"gorm.io/gorm"
)

// Shape is one thing that a program does with models of GORM.
type Shape struct {
	Name  string
	Gap   string   // the dialects on which a numbering without gaps refuses the shape, since the shape may leave a row out
	Fails bool     // whether the shape ends in an error
	Scans bool     // whether the shape scans keys
	Rows  []string // the rows to be stored, if GORM alone fails or stores other rows; otherwise nil
	Run   func(r *ShapeRun) error
}

// ShapeRun is one run of a shape (a small program with GORM), with the structs whose keys
// are to be checked.
type ShapeRun struct {
	*gorm.DB
	Structs []ShapeStruct
}

// ShapeStruct is a struct after its shape (a small program with GORM) has run.
type ShapeStruct struct {
	Table, Name string
	ID          any
	Absent      bool // whether the struct must not be stored
}

// Note adds a struct and its key to the structs that are checked after the run.
func (r *ShapeRun) Note(table, name string, id any, absent bool) {
	r.Structs = append(r.Structs, ShapeStruct{table, name, id, absent})
}

// StandardID behaves as the UUID of the standard library from Go 1.27 on: it can be read
// from text and written as text, and is neither sql.Scanner nor driver.Valuer. Drivers that
// accept no arrays store it only from Go 1.27 on.
type StandardID [16]byte

// String returns the text of the UUID.
func (id StandardID) String() string { return uuid.UUID(id).String() }

// MarshalText returns the text of the UUID.
func (id StandardID) MarshalText() ([]byte, error) { return uuid.UUID(id).MarshalText() }

// UnmarshalText reads the text of a UUID.
func (id *StandardID) UnmarshalText(b []byte) error { return (*uuid.UUID)(id).UnmarshalText(b) }

// BinaryID is a UUID that is stored as 16 bytes.
type BinaryID [16]byte

// String returns the text of the UUID.
func (id BinaryID) String() string { return uuid.UUID(id).String() }

// Value returns the bytes.
func (id BinaryID) Value() (driver.Value, error) { return id[:], nil }

// Scan reads the bytes.
func (id *BinaryID) Scan(v any) error { return (*uuid.UUID)(id).Scan(v) }
