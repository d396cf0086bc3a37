package faketds

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Numbers imitates the part of SQL Server that a numbering needs, through the protocol of
// server.go: a table t (id, a) and the row of its numbering, with transactions, savepoints,
// IMPLICIT_TRANSACTIONS and the reset of a session. Each connection undoes only its own
// changes.
//
// How it behaves after an error, and which statements open a transaction, follows the
// Transact-SQL reference ("SET IMPLICIT_TRANSACTIONS", "SET XACT_ABORT", "@@TRANCOUNT",
// "SAVE TRANSACTION"); it was not compared with a real server.
type Numbers struct {
	// Fails returns the error that a statement ends in; nil if there is none.
	Fails func(text string) *Error

	// Texts are the application's own statements, with the effect of each.
	Texts map[string]func(*NumbersSession)

	// Table is the name of the numbered table in the row of the numbering; empty means
	// dbo.t.
	Table string

	// Counts is the answer to a statement that counts the rows of a query.
	Counts int

	mu     sync.Mutex
	Next   int64 // the next number; 0 if the row of the numbering does not exist
	stored []int64
	log    []string // statements that belong to transactions, and that may draw or insert

	// outside counts the numbers that were drawn, and the rows that were inserted, while no
	// transaction was open.
	outside int
}

// Error is an error of the server, and what it does to the transaction.
type Error struct {
	Number int
	Ends   bool // whether the error rolls the transaction back
}

// NumbersSession is a connection.
type NumbersSession struct {
	*Numbers
	open     int // @@TRANCOUNT
	implicit bool
	database string
	done     []tdsChange // the changes since the transaction began
	points   map[string]int
	Tokens   []byte // tokens about transactions, which are sent with the answer

	// Own is the type of the id in the session's own table #mu; empty if it has none.
	Own string
}

// tdsChange is the effect of one statement.
type tdsChange struct {
	numbers int64 // by how much the row of the numbering was raised
	row     int64 // the id of the row that was stored, or 0
}

// Connect begins a session of a new connection, whose database is home.
func (n *Numbers) Connect() Session { return &NumbersSession{Numbers: n, database: "home"} }

// Take returns the statements that were noted since the last call of Take.
func (n *Numbers) Take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log
	n.log = nil
	return log
}

// State returns the next number, the ids that are stored, and how many numbers were drawn
// and rows inserted outside of transactions.
func (n *Numbers) State() (next int64, stored []int64, outside int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.Next, slices.Clone(n.stored), n.outside
}

func (s *NumbersSession) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "reset")
	s.Rollback()
	s.implicit, s.database, s.Own = false, "home", ""
}

// Begin is BEGIN TRANSACTION, which nests by counting.
func (s *NumbersSession) Begin() {
	if s.implicit && s.open == 0 {
		s.open++ // IMPLICIT_TRANSACTIONS begins a transaction before BEGIN TRANSACTION too
	}
	if s.open++; s.open == 1 || s.implicit {
		s.done, s.points = nil, map[string]int{}
		s.Tokens = append(s.Tokens, tdsTransaction(8)...)
	}
}

// starts begins a transaction before a statement, if the session does so implicitly.
func (s *NumbersSession) starts() {
	if s.implicit && s.open == 0 {
		s.Begin()
		s.open = 1
	}
	if s.open == 0 {
		s.outside++
	}
}

// did notes a change for the transaction, if one is open.
func (s *NumbersSession) did(c tdsChange) {
	if s.open > 0 {
		s.done = append(s.done, c)
	}
}

// Commit ends the innermost transaction, and reports whether one was open.
func (s *NumbersSession) Commit() bool {
	if s.open == 0 {
		return false
	}
	if s.open--; s.open == 0 {
		s.done = nil
		s.Tokens = append(s.Tokens, tdsTransaction(9)...)
	}
	return true
}

// Rollback ends all transactions and undoes what they have done.
func (s *NumbersSession) Rollback() {
	s.backTo(0)
	if s.open > 0 {
		s.Tokens = append(s.Tokens, tdsTransaction(10)...)
	}
	s.open = 0
}

// backTo undoes all changes of the transaction except the first n.
func (s *NumbersSession) backTo(n int) {
	for _, c := range slices.Backward(s.done[n:]) {
		s.Next -= c.numbers
		if i := slices.Index(s.stored, c.row); c.row != 0 && i >= 0 {
			s.stored = slices.Delete(s.stored, i, i+1)
		}
	}
	s.done = s.done[:n]
}

func (s *NumbersSession) transaction(kind uint16) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := map[uint16]string{5: "TM begin", 7: "TM commit", 8: "TM rollback"}[kind]
	s.log = append(s.log, name)
	if e := s.failure(name); e != nil {
		return e
	}
	switch kind {
	case 5:
		s.Begin()
	case 7:
		if !s.Commit() {
			return s.fail(Error{3902, false})
		}
	case 8:
		if s.open == 0 {
			return s.fail(Error{3903, false})
		}
		s.Rollback()
	}
	return s.end(nil, 0)
}

// failure returns the answer to a statement that ends in an error; nil for other
// statements.
func (s *NumbersSession) failure(text string) []byte {
	if s.Fails == nil {
		return nil
	}
	e := s.Fails(text)
	if e == nil {
		return nil
	}
	return s.fail(*e)
}

// fail returns the answer for an error, which may end the transaction.
func (s *NumbersSession) fail(e Error) []byte {
	if e.Ends {
		s.Rollback()
	}
	message := toUCS2("Fehler")
	b := binary.LittleEndian.AppendUint32(nil, uint32(e.Number))
	b = append(b, 1, 16)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(message)/2))
	b = append(append(b, message...), 0, 0, 1, 0, 0, 0)
	token := append(binary.LittleEndian.AppendUint16([]byte{0xaa}, uint16(len(b))), b...)
	return append(s.end(token, 0)[:len(token)+len(s.Tokens)], append([]byte{0xfd, 0x02, 0, 0, 0}, make([]byte, 8)...)...)
}

// end ends an answer.
func (s *NumbersSession) end(tokens []byte, rows uint64) []byte {
	b := slices.Concat(tokens, s.Tokens, tdsDone(rows))
	s.Tokens = nil
	return b
}

// tdsTransaction returns the token that reports the beginning (8), the commit (9) or the
// rollback (10) of a transaction.
func tdsTransaction(kind byte) []byte {
	id := []byte{8, 1, 2, 3, 4, 5, 6, 7, 8}
	b := append([]byte{kind}, id...)
	if b = append(b, 0); kind != 8 {
		b = append([]byte{kind, 0}, id...)
	}
	return append(binary.LittleEndian.AppendUint16([]byte{0xe3}, uint16(len(b))), b...)
}

// rows returns an answer that consists of rows of texts and integers.
func (s *NumbersSession) rows(rows ...[]any) []byte {
	columns := make([]Column, len(rows[0]))
	for i, v := range rows[0] {
		columns[i] = ColumnOf("", "bigint")
		if _, is := v.(string); is {
			columns[i] = ColumnOf("", "nvarchar(40)")
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
func (s *NumbersSession) catalog(text string) []byte {
	if strings.HasPrefix(strings.ToLower(text), "select * from ") {
		return s.end(tdsMetadata([]Column{ColumnOf("id", "bigint"), ColumnOf("a", "int")}), 0)
	}
	if strings.Contains(text, "FROM tempdb.sys.") {
		return s.tempdb(text)
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

// tempdb answers what keyfill asks of the catalog of temporary tables, and notes the
// question in the log.
func (s *NumbersSession) tempdb(text string) []byte {
	s.log = append(s.log, text)
	length := map[string]int{"bigint": 8, "uniqueidentifier": 16}[s.Own]
	switch {
	case s.Own == "":
	case strings.Contains(text, "JOIN tempdb.sys.schemas"):
		return s.rows([]any{1, "dbo", "#mu_____1A", 0, 0})
	case strings.Contains(text, "FROM tempdb.sys.columns c"):
		return s.rows([]any{"id", s.Own, length, 0, 0, 0, 0, "", ""}, []any{"a", "int", 4, 10, 0, 0, 0, "", ""})
	default:
		return s.rows([]any{"id", "pk", 1, 1})
	}
	return s.end(nil, 0)
}

var (
	tdsSavepoint = regexp.MustCompile(`^(SAVE|ROLLBACK) TRANSACTION (\w+)$`)
	tdsInsert    = regexp.MustCompile(`^INSERT INTO \S+ \(a, \[id\]\) VALUES \((?:@p1|\d+), (@p\d|\d+)\)$`)
)

// Proof is the condition that is sent before a statement which must run in a transaction.
const Proof = "IF @@TRANCOUNT > 0 OR @@OPTIONS & 2 = 2\n"

func (s *NumbersSession) statement(call Call) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := call.Batch + call.Query
	if answer := s.catalog(text); answer != nil {
		return answer
	}
	if answer := s.numbering(text, call.Params); answer != nil {
		return answer
	}
	s.log = append(s.log, text)
	if e := s.failure(text); e != nil {
		return e
	}
	if strings.Contains(text, "SELECT COUNT(*)") {
		return s.rows([]any{s.Counts})
	}
	if do := s.Texts[text]; do != nil {
		do(s)
		return s.end(nil, 0)
	}
	if m := tdsInsert.FindStringSubmatch(text); m != nil {
		s.starts()
		id, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			id = call.Params[len(call.Params)-1].Value.(int64)
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
		return s.fail(Error{map[string]int{"SAVE": 628, "ROLLBACK": 3903}[m[1]], false})
	case m[1] == "SAVE":
		s.points[m[2]] = len(s.done)
		return s.end(nil, 0)
	}
	n, found := s.points[m[2]]
	if !found {
		return s.fail(Error{6401, false})
	}
	s.backTo(n)
	return s.end(nil, 0)
}

// other answers the statements of transactions, and all other statements.
func (s *NumbersSession) other(text string) []byte {
	switch text {
	case "BEGIN TRAN":
		s.Begin()
	case "COMMIT":
		if !s.Commit() {
			return s.fail(Error{3902, false})
		}
	case "ROLLBACK":
		if s.open == 0 {
			return s.fail(Error{3903, false})
		}
		s.Rollback()
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

// numbering answers the statements about the numbers; it returns nil for any other
// statement.
func (s *NumbersSession) numbering(text string, params []Param) []byte {
	proven, guarded := strings.CutPrefix(text, Proof)
	first, _, _ := strings.Cut(proven, "\n")
	switch {
	case strings.HasPrefix(text, "MERGE INTO keyfill_sequences"):
		s.Next = max(s.Next, params[1].Value.(int64))
		return s.end(nil, 1)
	case strings.HasPrefix(text, "SELECT next_value, incarnation"):
		if s.Next == 0 {
			return s.end(nil, 0)
		}
		return s.rows([]any{s.Next, "one", "server", cmp.Or(s.Table, "dbo.t"), "id", ""})
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
		n := params[0].Value.(int64)
		s.Next += n
		s.did(tdsChange{numbers: n})
		return s.rows([]any{s.Next, "one", "server"})
	}
	return nil
}
