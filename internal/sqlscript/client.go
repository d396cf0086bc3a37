package sqlscript

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// mostDelimiter is the greatest length in bytes of the delimiter that DELIMITER sets:
// DELIMITER_NAME in client/mysql.cc of MySQL.
const mostDelimiter = 16

// client describes the program that reads the SQL files of an engine: its commands, which
// are not SQL.
type client struct {
	// command consumes a command at pos, where a statement could begin, and reports whether
	// there is one. Its arguments are the word and the byte at pos.
	command func(s *splitter, word string, c byte) (bool, error)

	// end is a line that ends a statement as a delimiter does, in lower case; empty if the
	// client has no such line. isWord is true if the line is a word.
	end    string
	isWord bool

	sends    []string // the commands that send a statement, without their backslash
	brackets bool     // whether a semicolon inside brackets ends no statement
}

// clients has the client of each family: mysql, psql, the shell of SQLite, sqlcmd and
// SQL*Plus.
var clients = map[dialect.Family]*client{
	dialect.FamilyMySQL:      {command: mysqlCommand, sends: []string{"g", "G"}},
	dialect.FamilyPostgreSQL: {command: psqlCommand, sends: []string{"g", "crosstabview", "watch"}, brackets: true},
	dialect.FamilySQLite:     {command: sqliteCommand},
	dialect.FamilySQLServer:  {command: sqlcmdCommand, end: "go", isWord: true},
	dialect.FamilyOracle:     {command: plusCommand, end: "/"},
}

// command consumes a command of the client at pos, where a statement could begin, and
// reports whether there is one.
func (s *splitter) command() (bool, error) {
	return s.client.command(s, lower(s.wordAt()), s.text[s.pos])
}

// mysqlCommand consumes a command of MySQL's client. USE is a command and a statement,
// which needs no delimiter: it is skipped if no delimiter ends it.
func mysqlCommand(s *splitter, word string, c byte) (bool, error) {
	switch {
	case word == "delimiter":
		return true, s.setDelimiter()
	case c == '\\', word == "source":
		return s.skipLine()
	case word == "use" && s.lineStart:
		return s.use()
	}
	return false, nil
}

func psqlCommand(s *splitter, _ string, c byte) (bool, error) {
	if c == '\\' {
		return true, s.metaCommand()
	}
	return false, nil
}

func sqliteCommand(s *splitter, _ string, c byte) (bool, error) {
	if c == '.' && s.lineStart {
		return s.skipLine()
	}
	return false, nil
}

func sqlcmdCommand(s *splitter, word string, c byte) (bool, error) {
	if s.lineStart && (c == ':' || c == '!') {
		return s.skipLine()
	}
	if s.lineStart && word == s.client.end {
		return s.clientLine(scan.Word, len(word))
	}
	return false, nil
}

func plusCommand(s *splitter, word string, c byte) (bool, error) {
	if s.lineStart && c == '/' {
		return s.clientLine(scan.Punct, 1)
	}
	if s.lineStart && (c == '@' || c == '!' || s.isPlusCommand(word)) {
		return s.skipLine()
	}
	return false, nil
}

// wordAt returns the beginning of the word at pos; empty if there is no word.
func (s *splitter) wordAt() string {
	n := 0
	for s.pos+n < len(s.text) && n <= mostDelimiter && (s.text[s.pos+n]|0x20 >= 'a' && s.text[s.pos+n]|0x20 <= 'z' || s.text[s.pos+n] == '_') {
		n++
	}
	return s.text[s.pos : s.pos+n]
}

func (s *splitter) skipLine() (bool, error) {
	_, err := s.restOfLine()
	return true, err
}

// setDelimiter reads DELIMITER and the new delimiter after it: MySQL 8.4 Reference Manual,
// section 6.5.1.2.
func (s *splitter) setDelimiter() error {
	line := s.line
	text, err := s.restOfLine()
	if err != nil {
		return err
	}
	words := strings.Fields(text)
	if len(words) < 2 || len(words[1]) > mostDelimiter || strings.Contains(words[1], `\`) {
		return anchor.Errorf("command", "line %d: DELIMITER names no delimiter: write one of 16 bytes at most, without a backslash, after it", line)
	}
	s.delimiter = words[1]
	return nil
}

// use skips the line of a USE if no delimiter ends it, and reports whether it has skipped
// the line.
func (s *splitter) use() (bool, error) {
	if err := s.ensure(leastRead); err != nil {
		return false, err
	}
	line, _, _ := strings.Cut(s.text[s.pos:], "\n")
	if strings.Contains(line, s.delimiter) {
		return false, nil
	}
	return s.skipLine()
}

// metaCommand reads a command of psql. After \copy it also skips the rows that follow.
func (s *splitter) metaCommand() error {
	line, err := s.restOfLine()
	if err != nil {
		return err
	}
	line = strings.ToLower(line)
	if strings.HasPrefix(line, `\copy`) && strings.Contains(line, "from") && (strings.Contains(line, " stdin") || strings.Contains(line, " pstdin")) {
		return s.skipRows()
	}
	return nil
}

// plusCommands are the commands of SQL*Plus that are no SQL: SQL*Plus User's Guide and
// Reference 23ai, chapter 12.
const plusCommands = ` prompt spool whenever rem remark exit quit connect conn define undefine show exec execute host
 pause accept clear variable var print timing ttitle btitle break compute column start store save describe desc `

// isPlusCommand reports whether a line that begins with a word is a command of SQL*Plus.
// SET TRANSACTION, SET ROLE and SET CONSTRAINT are statements.
func (s *splitter) isPlusCommand(word string) bool {
	if word == "" {
		return false
	}
	if word != "set" {
		return strings.Contains(plusCommands, " "+word+" ")
	}
	rest := strings.Fields(s.text[s.pos:min(len(s.text), s.pos+signMargin)])
	if len(rest) < 2 {
		return true
	}
	next := strings.ToLower(rest[1])
	return next != "transaction" && next != "role" && !strings.HasPrefix(next, "constraint")
}

// clientLine reads a line that has only the client's end of a statement: GO for sqlcmd, a
// slash for SQL*Plus. The first token of the line is at pos, and has n bytes. clientLine
// reports whether the line is such a line.
func (s *splitter) clientLine(kind scan.Kind, n int) (bool, error) {
	end := s.client.end
	if end == "" || !strings.EqualFold(s.text[s.pos:s.pos+n], end) || s.client.isWord && kind != scan.Word {
		return false, nil
	}
	if alone, err := s.isLine(n); !alone || err != nil {
		return false, err
	}
	return s.skipLine()
}

// isSend reports whether the backslash at pos begins a command that sends the statement: \g
// and \G of MySQL's client, \g, \gx, \gset, \gexec, \gdesc, \crosstabview and \watch of
// psql.
func (s *splitter) isSend() bool {
	word := s.text[s.pos+1 : min(len(s.text), s.pos+signMargin)]
	return slices.ContainsFunc(s.client.sends, func(sign string) bool { return strings.HasPrefix(word, sign) })
}

// isCopy reports whether a COPY has FROM STDIN, outside of brackets.
func (s *splitter) isCopy(text string) bool {
	depth, from := 0, false
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(s.d, text, at)
		switch piece := text[at:end]; {
		case piece == "(":
			depth++
		case piece == ")":
			depth--
		case kind != scan.Space && kind != scan.Comment && depth == 0:
			if from && strings.EqualFold(piece, "stdin") {
				return true
			}
			from = strings.EqualFold(piece, "from")
		}
		at = end
	}
	return false
}

// skipRows skips the rows that follow a COPY in a script, and the line \. that ends them.
func (s *splitter) skipRows() error {
	if !s.lineStart {
		if _, err := s.restOfLine(); err != nil {
			return err
		}
	}
	for !s.done || s.pos < len(s.text) {
		line, err := s.restOfLine()
		if err != nil {
			return err
		}
		if line == `\.` {
			return nil
		}
	}
	return nil
}
