package sqlscript

import (
	"io"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// splitter finds the statements of one script.
type splitter struct {
	window
	d      *dialect.Dialect
	client *client
	most   int // the greatest length of a statement in bytes
	read   bool

	delimiter string // the text that ends a statement: a semicolon, or the delimiter that DELIMITER has set
	whole     bool   // whether the text is between StatementBegin and StatementEnd

	comments  strings.Builder
	startLine int
	end       int      // the offset after the last word or sign of the statement, counted from start
	first     string   // the first word of the statement, in lower case; empty if it begins with a sign
	last      []string // the last two words or signs of the statement, in lower case

	depth  int  // how many brackets are open
	block  bool // whether only the client's own line ends the statement: a batch, or PL/SQL
	body   bool // whether a semicolon inside the body of a routine was seen
	checks int  // how often the end of the body was searched
	copies bool // whether the rows of COPY may follow the statement
	begins bool // whether BEGIN was the last word, in Transact-SQL
}

// mostChecks bounds how often the end of a body is searched, since each search reads the
// whole body.
const mostChecks = 4096

// Tokens that begin near the end of the text that was read may continue after it: a sign by
// a few bytes; a string of PostgreSQL on the next line, after white space and comments.
const (
	signMargin   = 32
	stringMargin = 4096
)

func newSplitter(d *dialect.Dialect, r io.Reader, most int) *splitter {
	return &splitter{
		window: window{r: r, line: 1, lineStart: true, start: -1},
		d:      d, client: clients[d.Family], most: most, delimiter: ";",
	}
}

// next returns the next statement, or io.EOF.
func (s *splitter) next() (Statement, error) {
	if !s.read {
		s.read = true
		if err := s.window.first(); err != nil {
			return Statement{}, err
		}
	}
	s.comments.Reset()
	for {
		if begun, err := s.between(); err != nil {
			return Statement{}, err
		} else if !begun {
			continue
		}
		one, err := s.statement()
		if err != nil {
			return Statement{}, err
		}
		if one.Text != "" {
			return one, nil
		}
	}
}

// token returns the kind and the length of the token at pos. At the end of the script the
// length is 0.
func (s *splitter) token() (scan.Kind, int, error) {
	for {
		if s.start >= 0 && s.pos-s.start > s.most {
			return 0, 0, s.tooLong()
		}
		if s.pos == len(s.text) && s.done {
			return 0, 0, nil
		}
		if s.pos < len(s.text) {
			kind, end := scan.NextToken(s.d, s.text, s.pos)
			if open := s.isOpen(kind, end); open && (s.done || s.text[s.pos] == 0 || end-s.pos > s.most) {
				return 0, 0, s.unclosed()
			} else if !open && (s.done || s.isWhole(kind, end)) {
				return kind, end - s.pos, nil
			}
			if end-s.pos > s.most {
				return 0, 0, s.tooLong()
			}
		}
		if err := s.more(); err != nil {
			return 0, 0, err
		}
	}
}

// isOpen reports whether the token at pos has no end in the text that was read.
func (s *splitter) isOpen(kind scan.Kind, end int) bool {
	return kind == scan.Broken || kind == scan.Executable && !strings.HasSuffix(s.text[s.pos:end], "*/")
}

// isWhole reports whether the token at pos is the same whatever text follows it.
func (s *splitter) isWhole(kind scan.Kind, end int) bool {
	left := len(s.text) - end
	return kind == scan.Space || left >= stringMargin || left >= signMargin && kind != scan.String
}

// between reads one token between statements, and reports whether a statement begins
// with it.
func (s *splitter) between() (begun bool, err error) {
	kind, n, err := s.token()
	switch {
	case err != nil:
		return false, err
	case n == 0:
		return false, io.EOF
	case kind == scan.Space:
		s.consume(n)
		return false, nil
	case kind == scan.Comment:
		s.annotated(s.text[s.pos : s.pos+n])
		s.keep(s.text[s.pos : s.pos+n])
		s.consume(n)
		return false, nil
	case strings.HasPrefix(s.text[s.pos:], s.delimiter):
		s.consume(len(s.delimiter))
		return false, nil
	}
	if isCommand, err := s.command(); isCommand || err != nil {
		return false, err
	}
	return true, nil
}

// mostComments bounds how many bytes of comments are kept.
const mostComments = 64 << 10

// keep stores a comment that precedes the next statement. If the comments get too long,
// only the end is kept.
func (s *splitter) keep(comment string) {
	if s.comments.Len()+len(comment) > mostComments {
		all := s.comments.String() + comment
		s.comments.Reset()
		comment = all[len(all)-mostComments/2:]
	}
	s.comments.WriteString(comment)
	if !strings.HasSuffix(comment, "\n") {
		s.comments.WriteString("\n")
	}
}

// annotated reads a comment by which programs for migrations mark where a statement begins
// or ends. It reports whether the comment ends a statement.
func (s *splitter) annotated(comment string) (ends bool) {
	words := strings.Fields(strings.TrimLeft(comment, "-# "))
	if len(words) < 2 || words[0] != "+goose" && words[0] != "+migrate" {
		return false
	}
	switch {
	case strings.EqualFold(words[1], "StatementBegin"):
		s.whole = true
	case strings.EqualFold(words[1], "StatementEnd"):
		ends, s.whole = s.whole, false
	}
	return ends
}

// statement reads a statement from its first token to its end.
func (s *splitter) statement() (Statement, error) {
	s.start, s.startLine, s.end = s.pos, s.line, 0
	s.first, s.last = "", s.last[:0]
	s.depth, s.block, s.body, s.checks, s.copies, s.begins = 0, false, false, 0, false, false
	one := Statement{Comments: s.comments.String(), Offset: s.base + int64(s.pos), Line: s.line}
	for {
		kind, n, err := s.token()
		if err != nil {
			return one, err
		}
		if n == 0 {
			if err := s.atEnd(); err != nil {
				return one, err
			}
			break
		}
		if kind == scan.Space || kind == scan.Comment {
			if kind == scan.Comment && s.annotated(s.text[s.pos:s.pos+n]) {
				break
			}
			s.consume(n)
			continue
		}
		ended, err := s.ends(kind, n)
		if err != nil {
			return one, err
		}
		if ended {
			break
		}
	}
	one.Text = s.text[s.start : s.start+s.end]
	s.start = -1
	if s.copies && s.isCopy(one.Text) {
		return one, s.skipRows()
	}
	return one, nil
}

// atEnd returns an error if the end of the script is inside a statement: in brackets, or in
// the body of a routine.
func (s *splitter) atEnd() error {
	switch {
	case s.depth > 0 && s.bracketed():
		return s.openBrackets()
	case s.body && !s.block && effects.EndsInBody(s.d, s.text[s.start:s.start+s.end]):
		return s.openBody()
	}
	return nil
}

// ends reads a token of the statement that is neither white space nor a comment. It
// reports whether the statement ends before the token, and consumes the delimiter.
func (s *splitter) ends(kind scan.Kind, n int) (bool, error) {
	if s.lineStart && !s.whole {
		if own, err := s.clientLine(kind, n); own || err != nil {
			return own, err
		}
	}
	piece := s.text[s.pos : s.pos+n]
	switch {
	case s.whole:
	case s.delimiter != ";":
		if at := s.delimiterIn(kind, n); at >= 0 {
			if at > 0 {
				s.consume(at)
				s.end = s.pos - s.start
			}
			s.consume(len(s.delimiter))
			return true, nil
		}
	case piece == ";":
		inside, err := s.inside()
		if err != nil {
			return false, err
		}
		if !inside {
			s.consume(n)
			return true, nil
		}
	case piece == `\` && s.isSend():
		_, err := s.restOfLine()
		return true, err
	}
	s.consume(n)
	s.end = s.pos - s.start
	s.note(kind, piece)
	return false, nil
}

// delimiterIn returns the offset in the token at pos at which the delimiter that DELIMITER
// has set begins, or -1 if it does not begin there. MySQL's client finds it everywhere
// outside of strings, quoted names and comments.
func (s *splitter) delimiterIn(kind scan.Kind, n int) int {
	if !kind.IsOther() && kind != scan.Word {
		return -1
	}
	end := min(s.pos+n+len(s.delimiter)-1, len(s.text))
	return strings.Index(s.text[s.pos:end], s.delimiter)
}

// inside reports whether the semicolon at pos is a part of the statement.
func (s *splitter) inside() (bool, error) {
	if s.block || s.depth > 0 && s.bracketed() {
		return true, nil
	}
	if s.first != "create" && s.first != "alter" || s.body && !s.closes() {
		return s.body, nil
	}
	if s.checks++; s.checks > mostChecks {
		return false, s.openBody()
	}
	s.body = effects.EndsInBody(s.d, s.text[s.start:s.pos+1])
	s.block = s.body && s.d.Grammar.RoutineIsRest
	return s.body, nil
}

// bracketed reports whether a semicolon inside brackets ends no statement, as in psql:
// CREATE RULE has several statements there.
func (s *splitter) bracketed() bool { return s.client.brackets }

// closes reports whether the last words may close the body of a routine: END, or END and
// a name.
func (s *splitter) closes() bool {
	n := len(s.last)
	if n > 0 && s.last[n-1] == "end" {
		return true
	}
	if n < 2 || s.last[n-2] != "end" {
		return false
	}
	switch s.last[n-1] {
	case "if", "case", "loop", "while", "repeat", "for":
		return false
	}
	return true
}

// note notes what a token shows about the statement.
func (s *splitter) note(kind scan.Kind, piece string) {
	switch piece {
	case "(":
		s.depth++
	case ")":
		s.depth = max(s.depth-1, 0)
	}
	word := ""
	if kind == scan.Word {
		word = lower(piece)
		if len(s.last) == 0 {
			s.first = word
		}
	}
	if s.d.Grammar.NoSemicolon {
		s.noteBatch(word)
	}
	if s.d.Grammar.PLSQL && len(s.last) == 0 && (word == "begin" || word == "declare" || piece == "<") {
		s.block = true
	}
	s.copies = s.copies || s.d.Grammar.Copy && s.first == "copy" && word == "stdin"
	if len(s.last) == 2 {
		s.last[0] = s.last[1]
		s.last = s.last[:1]
	}
	s.last = append(s.last, word)
}

// noteBatch notes a word of Transact-SQL, which is empty for a sign. After some words the
// parts of a batch belong together, since they share variables and conditions.
func (s *splitter) noteBatch(word string) {
	if s.begins {
		s.block = s.block || word != "tran" && word != "transaction" && word != "distributed" && word != "dialog" && word != "conversation"
		s.begins = false
	}
	switch word {
	case "begin":
		s.begins = true
	case "declare", "while", "goto", "return":
		s.block = true
	case "if":
		// IF opens no condition in DROP … IF EXISTS, nor in ALTER TABLE … DROP COLUMN IF
		// EXISTS.
		s.block = s.block || s.first != "drop" && s.first != "alter" && s.first != "create"
	}
}

// lower returns a word in lower case. For a word that is longer than all keywords that
// matter it returns "…".
func lower(word string) string {
	if len(word) > 16 {
		return "…"
	}
	return strings.ToLower(word)
}
