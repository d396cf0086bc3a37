package store

//row:changes | what an error of a store's server means | `internal/store/refusal.go`

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/store/engine"
	"github.com/keyfill/keyfill/keysource"
)

// Refused is the error of a statement that the engine has refused, with what the
// refusal means.
type Refused struct {
	Meaning error // such as ErrTables or ErrColumn
	Err     error // the error of the driver
}

// Refuse returns an error of the engine as a [*Refused] if it is final (trying again
// would not help), and any other error as it is. meaning is what the refusal means,
// unless the class of the error says more.
func (s *Store) Refuse(meaning, err error) error {
	class := sqlcode.ClassOf(s.Dialect, err)
	var connecting *sqlcode.ConnectError
	switch {
	case !class.Final():
		return err
	case class == dialect.ErrorNoRight && errors.As(err, &connecting):
		meaning = ErrNoConnect
	case class == dialect.ErrorReadOnly:
		meaning = ErrReadOnly
	case class == dialect.ErrorLogin:
		meaning = ErrLogin
	case class == dialect.ErrorNoDatabase:
		meaning = ErrNoDatabase
	case class == dialect.ErrorNoRight && meaning == ErrTables:
		meaning = ErrRights
	case class == dialect.ErrorRefused && meaning == ErrTables:
		meaning = ErrAltered
	}
	return &Refused{meaning, err}
}

// Refusal returns the meaning of err if a store's server refuses connections until its
// configuration changes; nil for other errors.
func Refusal(d *dialect.Dialect, err error) error {
	var refused *Refused
	if errors.As((&Store{Dialect: d}).Refuse(nil, err), &refused) {
		return refused.Meaning
	}
	return nil
}

func (f *Refused) Error() string { return anchor.Plain(f.Meaning.Error()) + ": " + f.Err.Error() }

func (f *Refused) Unwrap() []error {
	return []error{f.Meaning, keysource.ErrStoreState, keysource.ErrStoreRefused, f.Err}
}

// Judge returns the error of a query as a refusal if the engine's code means that it is
// final. Without such a code, the error is a refusal if the server answers another
// query at once and refuses this one again. Judge sends no query inside a transaction
// that the error may have aborted.
func (s *Store) Judge(ctx context.Context, meaning, err error, query string, args []any) error {
	if s.Inside && !s.Engine.ErrorsKeepTransaction || ctx.Err() != nil {
		return err
	}
	switch class := sqlcode.ClassOf(s.Dialect, err); {
	case class.Final():
		if meaning == ErrTables {
			if hidden := s.HiddenTables(ctx, err); hidden != nil {
				return hidden
			}
		}
		return s.Refuse(meaning, err)
	case class != dialect.ErrorOther, IsBroken(err), s.Server.ask(ctx, noServer) != nil:
		return err
	}
	// The error may be about a broken connection, which drivers report in many ways. Then
	// the same query succeeds on the next connection.
	if _, again := s.Conn.Query(ctx, query, args); again == nil || IsBroken(again) || IsRolledBack(s.Dialect, again) || ctx.Err() != nil {
		return err
	}
	return &Refused{meaning, err}
}

// IsBroken reports whether err is certainly about a connection. The text "invalid
// connection" is go-sql-driver/mysql's ErrInvalidConn, which has no code.
func IsBroken(err error) bool {
	var network net.Error
	var connecting *sqlcode.ConnectError
	if code, ok := sqlcode.Of(err); ok {
		return code.Lost
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &connecting) || errors.As(err, &network) ||
		err != nil && strings.Contains(err.Error(), "invalid connection")
}

// errBroke is what a log may show of the error of a broken connection.
var errBroke = anchor.New("store-down", "the connection broke")

// Failed returns the error of a statement about the row called name.
//
// On a connection of the application the driver's error is returned as it is, unless
// its meaning is known: for example, the application's INSERT alone would not show that
// a right is missing, that the file of SQLite takes no change, or that the transaction
// is read-only. An error of the store's own connection gets a context, and is never a
// driver.ErrBadConn, which would make database/sql throw away the application's
// connection; it is a refusal if the engine reports it as final.
func (s *Store) Failed(name string, err error) error { return s.FailedAs(ErrTables, name, err) }

// FailedAs returns the error that Failed returns, with the given meaning if it is a
// refusal. An error that already names the row stays as it is.
func (s *Store) FailedAs(meaning error, name string, err error) error {
	var known *named
	if errors.As(err, &known) && known.name == name {
		return err
	}
	var refused *Refused
	if !errors.As(err, &refused) {
		class := sqlcode.ClassOf(s.Dialect, err)
		if !s.Pooled && class != dialect.ErrorNoRight && (class != dialect.ErrorReadOnly || !s.Dialect.OneWriter) {
			return err
		}
		err = s.Refuse(meaning, err)
	}
	if errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("using %q: %w: %v", name, errBroke, err)
	}
	return &named{name, fmt.Errorf("using %q: %w", name, err)}
}

// named is an error whose text names the row, or the column, that was used.
type named struct {
	name string
	error
}

func (e *named) Unwrap() error { return e.error }

// RefuseGone returns the error of a statement about a stored counter as a refusal if it
// says that the table does not exist, and any other error as it is.
func (s *Store) RefuseGone(meaning, err error) error {
	var refused *Refused
	if errors.As(err, &refused) || sqlcode.ClassOf(s.Dialect, err) != dialect.ErrorNoObject {
		return err
	}
	return s.Refuse(meaning, err)
}

// ToldGone returns the error of a statement about keyfill_sequences, on a connection of
// the application, as a refusal if the table does not exist, and any other error as it
// is. If the engine has no code for a missing table, the table is read once more to
// find out.
func (s *Store) ToldGone(ctx context.Context, name string, err error) error {
	var refused *Refused
	switch {
	case err == nil || errors.As(err, &refused):
		return err
	case s.Dialect.Errors.Generic != 0:
		return s.Failed(name, s.Judge(ctx, ErrTables, err, ProbeText(engine.SequencesTable), nil))
	case sqlcode.ClassOf(s.Dialect, err) == dialect.ErrorNoObject:
		return s.Failed(name, s.Refuse(ErrTables, err))
	}
	return err
}

// unknownVariable is the error code ER_UNKNOWN_SYSTEM_VARIABLE: MySQL 9 may have no
// @@binlog_format.
const unknownVariable = 1193

// IsUnknownVariable reports whether MySQL or MariaDB has refused a statement because it
// does not know a variable.
func IsUnknownVariable(err error) bool {
	code, ok := sqlcode.Of(err)
	return ok && code.Number == unknownVariable
}

// IsMissing reports whether the error of a query about a table means that the table
// does not exist.
func (s *Store) IsMissing(err error) bool {
	if IsBroken(err) {
		return false
	}
	err = s.Refuse(ErrTables, err)
	return !errors.Is(err, ErrRights) && !errors.Is(err, ErrReadOnly) && !errors.Is(err, ErrLogin)
}
