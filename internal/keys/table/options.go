package table

import (
	"io"
	"log/slog"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Options has the fields of the public type Options, where they are described, and
// NewError.
type Options struct {
	Policy    *policy.Config
	Logger    *slog.Logger
	Now       func() time.Time
	Rand      io.Reader
	Reservers func(state string) keysource.Reserver
	NewError  errorMaker
}

// errorMaker makes the error that the application gets. table is the name that the
// policy matched; column is the key column, empty if there is none; offset is a byte
// offset in the query, -1 if there is none. An error that an errorMaker has made before
// is returned unchanged.
type errorMaker func(table, column string, offset int, err error) error
