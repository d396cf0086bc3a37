package keys

import (
	"io"
	"log/slog"
	"time"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Options is what a database is made of: the public Options, which describe each field,
// and NewError.
type Options struct {
	Policy    *policy.Config
	Logger    *slog.Logger
	Now       func() time.Time
	Rand      io.Reader
	Reservers func(state string) keysource.Reserver
	NewError  errorMaker
}

// errorMaker makes the error that the application gets: of a table by the name that
// the policy matched and of its key column, "" where none is concerned, at an offset
// in the query, -1 where there is none. An error that was made so comes back as it is.
type errorMaker func(table, column string, offset int, err error) error
