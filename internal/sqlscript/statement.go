// Package sqlscript splits a file of SQL into its statements, as the engine's client that
// reads such files would: psql, mysql, sqlcmd, SQL*Plus, the shell of SQLite, and programs
// for migrations.
//
//	for statement, err := range sqlscript.Statements(dialect.MySQL(), file) { … }
//
// Package rewrite finds where a token begins and ends. A statement ends before its
// semicolon, and
//
//   - on MySQL and MariaDB at the text that DELIMITER sets, and at \g and \G;
//   - on PostgreSQL at \g and similar commands, and at no semicolon inside brackets;
//   - on SQL Server at a line GO. A batch with DECLARE, a block, a condition, a loop, or
//     the definition of a routine is one statement from there on, since its parts cannot
//     be executed alone;
//   - on Oracle at a line with nothing but a slash; only such a line ends a block of PL/SQL
//     and the definition of a routine;
//   - between -- +goose StatementBegin and -- +goose StatementEnd, which sql-migrate
//     writes with +migrate, at nothing else.
//
// The body of a routine or trigger belongs to its statement. Commands of the clients are
// skipped: \connect, .mode, SET DEFINE OFF, PROMPT, :setvar, source. So are the rows after
// COPY … FROM stdin. Comments that the engine runs, as in the files of mysqldump, are
// statements.
//
// # Caveats
//
// The session is assumed to have the settings of its dialect: a backslash in a string of
// MySQL is an escape. A body of MySQL that is not BEGIN … END, but IF or a loop, ends at
// its first semicolon if there is no DELIMITER, and so does BEGIN NOT ATOMIC of MariaDB. A
// command of psql in the middle of a statement is read as a part of the statement.
package sqlscript

import (
	"io"
	"iter"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
)

// Statement is one statement of a script.
type Statement struct {
	// Text is the statement from its first word to its last, with the comments between them,
	// byte for byte.
	Text string
	// Comments are the comments between the previous statement and this one, each with the
	// line end that it has. If they are longer than 64 KiB, only the end is kept.
	Comments string
	Offset   int64 // the offset of the first byte of Text in the script, from 0
	Line     int   // the line of the first byte of Text, from 1
}

// maxStatement is the greatest length of a statement in bytes. The clients send no longer
// statements: the server's max_allowed_packet of MySQL is 64 MiB by default.
const maxStatement = 64 << 20

// Statements returns the statements of a script, in order. It reads as much of the script
// as it needs, and keeps only the current statement in memory. An error ends the sequence:
// an error of the reader, or one about a text that cannot be split, which names the line. A
// statement may hold a little more of the script in memory than its own text; a caller that
// keeps many statements clones them.
func Statements(d *dialect.Dialect, r io.Reader) iter.Seq2[Statement, error] {
	return statements(d, r, maxStatement)
}

func statements(d *dialect.Dialect, r io.Reader, most int) iter.Seq2[Statement, error] {
	return func(yield func(Statement, error) bool) {
		s := newSplitter(d, r, most)
		for {
			one, err := s.next()
			if err == io.EOF || !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// unclosed returns the error about the token at pos, which has no end.
func (s *splitter) unclosed() error {
	what := "string"
	switch s.text[s.pos] {
	case 0:
		return anchor.Errorf("command", "line %d: a NUL byte stands outside of strings: take it out, or convert the file to UTF-8", s.line)
	case '/':
		what = "comment"
	case '"', '`', '[':
		what = "quoted name"
	}
	return anchor.Errorf("command", "line %d: the %s that begins here has no end: close it, or name the dialect in which the text is written", s.line, what)
}

func (s *splitter) tooLong() error {
	line := s.startLine
	if s.start < 0 {
		line = s.line
	}
	return anchor.Errorf("command", "line %d: what begins here is longer than %d bytes: write shorter statements, or the end of its last string", line, s.most)
}

func (s *splitter) openBrackets() error {
	return anchor.Errorf("command", "line %d: a bracket of the statement that begins here has no end: write it", s.startLine)
}

func (s *splitter) openBody() error {
	return anchor.Errorf("command", "line %d: the body of the routine or trigger that begins here has no end: close it by END;, or write DELIMITER lines around it", s.startLine)
}
