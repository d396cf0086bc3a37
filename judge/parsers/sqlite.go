package parsers

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // SQLite itself, in Go
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

// syntaxErrors are in SQLite's messages for what its grammar does not take:
// src/parse.y and src/tokenize.c. Every other error, of which "no such table"
// is the most frequent, comes from what the text means; but two definitions of one
// name in WITH or of one column, a database that is not there and a number that no
// placeholder has are found before the rest of the text is read.
var syntaxErrors = []string{
	": syntax error", "incomplete input", "unrecognized token", "duplicate WITH table name", "duplicate column name",
	"unknown database", "variable number must be",
}

// Accepts returns SQLite's error when one of the statements is not of its
// grammar. Each string holds one statement: SQLite prepares the first of a text
// and leaves the others.
func (s *SQLite) Accepts(statements []string) error {
	for _, query := range statements {
		if strings.IndexByte(query, 0) >= 0 {
			return fmt.Errorf("sqlite: a NUL ends the text")
		}
		st, err := s.db.PrepareContext(context.Background(), query)
		if err == nil {
			if err := st.Close(); err != nil {
				return err
			}
			continue
		}
		for _, syntax := range syntaxErrors {
			if strings.Contains(err.Error(), syntax) {
				return err
			}
		}
	}
	return nil
}
