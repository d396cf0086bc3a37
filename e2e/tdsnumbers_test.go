package e2e_test

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// tdsNumbers is as much of SQL Server as a numbering needs, behind the protocol of
// tds_test.go: a table t (id, a) and the row of its numbering, with transactions,
// savepoints, IMPLICIT_TRANSACTIONS and the reset of a session. Each connection
// undoes what it has done itself.
//
// What it does at an error, and what opens a transaction, is from the Transact-SQL
// reference ("SET IMPLICIT_TRANSACTIONS", "SET XACT_ABORT", "@@TRANCOUNT", "SAVE
// TRANSACTION"); it was not compared with a server.
type tdsNumbers struct {
	// fails gives the error that a statement ends in; nil is none.
	fails func(text string) *tdsError

	// texts are the application's own statements: what each does.
	texts map[string]func(*tdsNumbersSession)

	mu     sync.Mutex
	next   int64 // 0: the row of the numbering is not there
	stored []int64
	log    []string // what belongs to transactions, and what may draw or insert

	// outside counts the numbers that were drawn, and the rows that were inserted,
	// where no transaction was open.
	outside int
}

// tdsError is an error of the server, and what it does to the transaction.
type tdsError struct {
	number int
	ends   bool // the transaction is rolled back
}

// tdsNumbersSession is a connection.
type tdsNumbersSession struct {
	*tdsNumbers
	open     int // @@TRANCOUNT
	implicit bool
	database string
	done     []tdsChange // since the transaction began
	points   map[string]int
	tokens   []byte // about transactions, for the answer
}

// tdsChange is what one statement has done.
type tdsChange struct {
	numbers int64 // by which the row was moved
	row     int64 // that was stored, or 0
}

func (n *tdsNumbers) connect() tdsSession { return &tdsNumbersSession{tdsNumbers: n, database: "home"} }

// take returns what was noted since it was called last.
func (n *tdsNumbers) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log
	n.log = nil
	return log
}

// state returns the next number, the ids that are stored, and how often something
// was done outside of transactions.
func (n *tdsNumbers) state() (next int64, stored []int64, outside int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.next, slices.Clone(n.stored), n.outside
}

func (s *tdsNumbersSession) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "reset")
	s.rollback()
	s.implicit, s.database = false, "home"
}

// begin is BEGIN TRANSACTION, which nests by counting.
func (s *tdsNumbersSession) begin() {
	if s.implicit && s.open == 0 {
		s.open++ // one begins by itself ahead of it
	}
	if s.open++; s.open == 1 || s.implicit {
		s.done, s.points = nil, map[string]int{}
		s.tokens = append(s.tokens, tdsTransaction(8)...)
	}
}

// starts begins a transaction ahead of a statement where that happens by itself.
func (s *tdsNumbersSession) starts() {
	if s.implicit && s.open == 0 {
		s.begin()
		s.open = 1
	}
	if s.open == 0 {
		s.outside++
	}
}

// did notes a change for the transaction, where one is open.
func (s *tdsNumbersSession) did(c tdsChange) {
	if s.open > 0 {
		s.done = append(s.done, c)
	}
}

func (s *tdsNumbersSession) commit() bool {
	if s.open == 0 {
		return false
	}
	if s.open--; s.open == 0 {
		s.done = nil
		s.tokens = append(s.tokens, tdsTransaction(9)...)
	}
	return true
}

func (s *tdsNumbersSession) rollback() {
	s.backTo(0)
	if s.open > 0 {
		s.tokens = append(s.tokens, tdsTransaction(10)...)
	}
	s.open = 0
}

// backTo undoes all but the first changes of the transaction.
func (s *tdsNumbersSession) backTo(n int) {
	for _, c := range slices.Backward(s.done[n:]) {
		s.next -= c.numbers
		if i := slices.Index(s.stored, c.row); c.row != 0 && i >= 0 {
			s.stored = slices.Delete(s.stored, i, i+1)
		}
	}
	s.done = s.done[:n]
}

func (s *tdsNumbersSession) transaction(kind uint16) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := map[uint16]string{5: "TM begin", 7: "TM commit", 8: "TM rollback"}[kind]
	s.log = append(s.log, name)
	if e := s.failure(name); e != nil {
		return e
	}
	switch kind {
	case 5:
		s.begin()
	case 7:
		if !s.commit() {
			return s.fail(tdsError{3902, false})
		}
	case 8:
		if s.open == 0 {
			return s.fail(tdsError{3903, false})
		}
		s.rollback()
	}
	return s.end(nil, 0)
}

// failure returns the answer to a statement that ends in an error; nil for others.
func (s *tdsNumbersSession) failure(text string) []byte {
	if s.fails == nil {
		return nil
	}
	e := s.fails(text)
	if e == nil {
		return nil
	}
	return s.fail(*e)
}

// fail is the answer of an error.
func (s *tdsNumbersSession) fail(e tdsError) []byte {
	if e.ends {
		s.rollback()
	}
	message := toUCS2("Fehler")
	b := binary.LittleEndian.AppendUint32(nil, uint32(e.number))
	b = append(b, 1, 16)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(message)/2))
	b = append(append(b, message...), 0, 0, 1, 0, 0, 0)
	token := append(binary.LittleEndian.AppendUint16([]byte{0xaa}, uint16(len(b))), b...)
	return append(s.end(token, 0)[:len(token)+len(s.tokens)], append([]byte{0xfd, 0x02, 0, 0, 0}, make([]byte, 8)...)...)
}

// end ends an answer.
func (s *tdsNumbersSession) end(tokens []byte, rows uint64) []byte {
	b := slices.Concat(tokens, s.tokens, tdsDone(rows))
	s.tokens = nil
	return b
}

// tdsTransaction is the token that tells of the beginning (8), the commit (9) or the
// rollback (10) of a transaction.
func tdsTransaction(kind byte) []byte {
	id := []byte{8, 1, 2, 3, 4, 5, 6, 7, 8}
	b := append([]byte{kind}, id...)
	if b = append(b, 0); kind != 8 {
		b = append([]byte{kind, 0}, id...)
	}
	return append(binary.LittleEndian.AppendUint16([]byte{0xe3}, uint16(len(b))), b...)
}

// rows is an answer of rows, of texts and of integers.
func (s *tdsNumbersSession) rows(rows ...[]any) []byte {
	columns := make([]tdsColumn, len(rows[0]))
	for i, v := range rows[0] {
		columns[i] = tdsColumnOf("", "bigint")
		if _, is := v.(string); is {
			columns[i] = tdsColumnOf("", "nvarchar(40)")
		}
	}
	b := tdsMetadata(columns)
	for _, row := range rows {
		b = append(b, 0xd1)
		for _, v := range row {
			switch v := v.(type) {
			case nil:
				b = append(b, 0)
			case int64:
				b = binary.LittleEndian.AppendUint64(append(b, 8), uint64(v))
			case int:
				b = binary.LittleEndian.AppendUint64(append(b, 8), uint64(v))
			case string:
				text := toUCS2(v)
				b = append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
			default:
				panic(fmt.Sprintf("a %T in an answer", v))
			}
		}
	}
	return s.end(b, uint64(len(rows)))
}

// catalog answers what keyfill asks of the catalog; nil for anything else.
func (s *tdsNumbersSession) catalog(text string) []byte {
	if strings.HasPrefix(strings.ToLower(text), "select * from ") {
		return s.end(tdsMetadata([]tdsColumn{tdsColumnOf("id", "bigint"), tdsColumnOf("a", "int")}), 0)
	}
	for _, c := range []struct {
		part string
		rows [][]any
	}{
		{"JOIN sys.schemas", [][]any{{1, "dbo", "t", 0, 0}}},
		{"FROM sys.columns c", [][]any{
			{"id", "bigint", 8, 19, 0, 0, 0, "", ""},
			{"a", "int", 4, 10, 0, 0, 0, "", ""},
		}},
		{"FROM sys.indexes", [][]any{{"id", "pk", 1, 1}}},
		{"DB_NAME()", [][]any{{s.database + "\ndbo"}}},
		{"OBJECT_SCHEMA_NAME", [][]any{{"dbo"}}},
		{"SELECT MIN(name)", [][]any{{nil}}},
	} {
		if strings.Contains(text, c.part) {
			return s.rows(c.rows...)
		}
	}
	return nil
}

var (
	tdsSavepoint = regexp.MustCompile(`^(SAVE|ROLLBACK) TRANSACTION (\w+)$`)
	tdsInsert    = regexp.MustCompile(`^INSERT INTO \S+ \(a, \[id\]\) VALUES \((?:@p1|\d+), (@p\d|\d+)\)$`)
)

const tdsProof = "IF @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2\n"

func (s *tdsNumbersSession) statement(call tdsCall) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := call.batch + call.query
	if answer := s.catalog(text); answer != nil {
		return answer
	}
	if answer := s.numbering(text, call.params); answer != nil {
		return answer
	}
	s.log = append(s.log, text)
	if e := s.failure(text); e != nil {
		return e
	}
	if do := s.texts[text]; do != nil {
		do(s)
		return s.end(nil, 0)
	}
	if m := tdsInsert.FindStringSubmatch(text); m != nil {
		s.starts()
		id, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			id = call.params[len(call.params)-1].value.(int64)
		}
		s.stored = append(s.stored, id)
		s.did(tdsChange{row: id})
		return s.end(nil, 1)
	}
	m := tdsSavepoint.FindStringSubmatch(text)
	switch {
	case m == nil:
		return s.other(text)
	case s.open == 0:
		return s.fail(tdsError{map[string]int{"SAVE": 628, "ROLLBACK": 3903}[m[1]], false})
	case m[1] == "SAVE":
		s.points[m[2]] = len(s.done)
		return s.end(nil, 0)
	}
	n, found := s.points[m[2]]
	if !found {
		return s.fail(tdsError{6401, false})
	}
	s.backTo(n)
	return s.end(nil, 0)
}

// other answers the statements of transactions, and all that is left.
func (s *tdsNumbersSession) other(text string) []byte {
	switch text {
	case "BEGIN TRAN":
		s.begin()
	case "COMMIT":
		if !s.commit() {
			return s.fail(tdsError{3902, false})
		}
	case "ROLLBACK":
		if s.open == 0 {
			return s.fail(tdsError{3903, false})
		}
		s.rollback()
	case "USE otherdb":
		s.database = "otherdb"
	case "SET IMPLICIT_TRANSACTIONS ON":
		s.implicit = true
	case "SELECT CASE WHEN @@TRANCOUNT > 0 THEN 1 WHEN @@OPTIONS & 2 = 2 THEN 2 ELSE 0 END":
		state := min(s.open, 1)
		if s.open == 0 && s.implicit {
			state = 2
		}
		return s.rows([]any{state})
	}
	return s.end(nil, 0)
}

// numbering answers what is about the numbers; nil for anything else.
func (s *tdsNumbersSession) numbering(text string, params []tdsParam) []byte {
	proven, guarded := strings.CutPrefix(text, tdsProof)
	first, _, _ := strings.Cut(proven, "\n")
	switch {
	case strings.HasPrefix(text, "MERGE INTO keyfill_sequences"):
		s.next = max(s.next, params[1].value.(int64))
		return s.end(nil, 1)
	case strings.HasPrefix(text, "SELECT next_value, incarnation"):
		if s.next == 0 {
			return s.end(nil, 0)
		}
		return s.rows([]any{s.next, "one", "server", "dbo.t", "id", ""})
	case strings.HasPrefix(proven, "SELECT MAX([id])"):
		if strings.Contains(proven, "UPDLOCK") {
			s.log = append(s.log, text)
			if e := s.failure(text); e != nil {
				return e
			}
			if guarded && s.open == 0 && !s.implicit {
				return s.end(nil, 0)
			}
			s.starts()
		}
		if len(s.stored) == 0 {
			return s.rows([]any{nil})
		}
		return s.rows([]any{slices.Max(s.stored)})
	case strings.HasPrefix(proven, "UPDATE keyfill_sequences"):
		s.log = append(s.log, map[bool]string{true: "IF open: "}[guarded]+first)
		if e := s.failure(first); e != nil {
			return e
		}
		if guarded && s.open == 0 && !s.implicit {
			return s.end(nil, 0)
		}
		s.starts()
		n := params[0].value.(int64)
		s.next += n
		s.did(tdsChange{numbers: n})
		return s.rows([]any{s.next, "one", "server"})
	}
	return nil
}
