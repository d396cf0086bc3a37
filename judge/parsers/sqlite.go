package parsers

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // registers SQLite itself, translated into Go
)

// SQLite prepares statements on a database in memory without any table.
type SQLite struct{ db *sql.DB }

// OpenSQLite opens a database in memory.
func OpenSQLite() (*SQLite, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &SQLite{db}, nil
}

// Close closes the database.
func (s *SQLite) Close() error { return s.db.Close() }

// syntaxErrors are parts of SQLite's messages about text that its grammar does not accept:
// src/tokenize.c, and what src/parse.y calls while it reads. Every other error, of which
// "no such table" is the most frequent, comes from the meaning of the text.
var syntaxErrors = []string{
	": syntax error", "incomplete input", "unrecognized token", "parser stack overflow",
	"a JOIN clause is required before", "unknown join type", "clause should come after", "duplicate WITH table name",
	"variable number must be", "too many SQL variables", "unsupported use of NULLS", "too many arguments on function",
	"ORDER BY may not be used with non-aggregate", "too many terms in compound SELECT",
}

// isSyntax reports whether an error has one of syntaxErrors in it.
func isSyntax(err error) bool {
	return err != nil && slices.ContainsFunc(syntaxErrors, func(s string) bool { return strings.Contains(err.Error(), s) })
}

// stop is an invalid token for SQLite. After a statement it shows whether SQLite has read
// the statement to its end.
const stop = "\n@"

// Accepts returns SQLite's error if its grammar does not accept one of the statements. Each
// string holds one statement without a semicolon at its end: SQLite prepares only the first
// statement of a text.
//
// Some errors come before the text was read to its end, such as an error about two
// definitions of one name in WITH. Then it is not known whether the grammar accepts the
// rest, and Accepts returns an [EarlyError]. Accepts recognizes that by an invalid token
// that it appends to the text: SQLite reports the token only if it reads the text to its
// end.
func (s *SQLite) Accepts(statements []string) error {
	for _, query := range statements {
		if strings.IndexByte(query, 0) >= 0 {
			return fmt.Errorf("sqlite: a NUL ends the text")
		}
		err := s.prepare(query)
		switch {
		case err == nil:
		case isSyntax(err):
			return err
		case !isSyntax(s.prepare(query + stop)):
			return &EarlyError{err}
		}
	}
	return nil
}

// EarlyError is an error that SQLite gives before it has read all of a text.
type EarlyError struct{ Err error }

func (e *EarlyError) Error() string { return e.Err.Error() }

func (e *EarlyError) Unwrap() error { return e.Err }

// prepare prepares one statement.
func (s *SQLite) prepare(query string) error {
	st, err := s.db.PrepareContext(context.Background(), query)
	if err != nil {
		return err
	}
	defer st.Close()
	return nil
}
