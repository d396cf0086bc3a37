package rewrite

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// control knows the effect that the first words of an engine's statements have
// on the transaction. A word that is not named may do anything: statements that
// commit on the side are many, and each version has new ones.
type control struct {
	words map[string]effect
	// anywhere are the verbs that count wherever they stand.
	anywhere uint64
	// writes says that INSERT, UPDATE and DELETE are harmless.
	writes bool
}

// effect says how a statement changes the transaction, by its first word.
type effect uint8

const (
	effectUnknown  effect = iota // it may begin, end or leave one
	effectNone                   // nothing
	effectOr                     // nothing, unless it has OR ROLLBACK
	effectDefine                 // nothing; its text may hold the body of a routine
	effectRun                    // nothing; it runs statements that are not in the text
	effectCommits                // DDL that commits on the side, unless it is of the session alone
	effectBegin                  // BEGIN, which may open a block
	effectStart                  // START TRANSACTION, or START of something else
	effectEnd                    // COMMIT and its like
	effectRollback               // ROLLBACK, also to a savepoint
	effectSave                   // SAVEPOINT that begins a transaction outside of one
	effectRelease                // RELEASE, which ends the one that SAVEPOINT has begun
	effectPrepare                // PREPARE, also TRANSACTION
	effectSet                    // SET, which may change when transactions begin
	effectLoad                   // LOAD DATA and XML, which do nothing, or LOAD INDEX
	effectBlock                  // a block of statements, whose end is not looked for
)

// harmless reports whether a statement changes no transaction but where a verb
// says so that is searched for anywhere.
func (e effect) harmless() bool {
	return e == effectNone || e == effectOr || e == effectDefine || e == effectRun
}

// newControl returns the effects of the words in the lists.
func newControl(anywhere uint64, lists map[effect]string) *control {
	c := &control{words: map[string]effect{}, anywhere: anywhere}
	for e, list := range lists {
		for _, w := range strings.Fields(list) {
			c.words[w] = e
		}
	}
	c.writes = c.words["insert"].harmless() && c.words["update"].harmless() && c.words["delete"].harmless()
	return c
}

// of returns the effect of a statement that begins with the word.
func (c *control) of(word string) effect {
	var lower [maxControlWord]byte
	if len(word) > len(lower) {
		return effectUnknown
	}
	for i := range len(word) {
		lower[i] = word[i]
		if 'A' <= word[i] && word[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	return c.words[string(lower[:len(word)])]
}

// maxControlWord is the length in bytes of the longest word that has an effect.
const maxControlWord = 16

// suspects reports whether a statement that begins with the text may change
// the transaction. What [TransactionOf] does not call unchanged is suspect.
func (c *control) suspects(d *dialect.Dialect, text string) bool {
	if text == "" || text[0] == ';' || text[0] == '(' {
		return false
	}
	n := 0
	for n < len(text) && classes[text[n]]&(classLetter|classDigit) != 0 {
		n++
	}
	if n < len(text) && strings.IndexByte(d.Lexis.IdentPart, text[n]) >= 0 {
		return true
	}
	// Most texts begin so, and no engine has a SELECT that does anything.
	word := text[:n]
	if equalWord(word, "select") || c.writes && (equalWord(word, "update") || equalWord(word, "insert") || equalWord(word, "delete")) {
		return false
	}
	return !c.of(word).harmless()
}

// suspectsBehind is suspects for the statements behind the semicolons of a
// text. A semicolon may stand in a string or comment, so what follows is not
// scanned: a comment there is suspect too.
func (c *control) suspectsBehind(d *dialect.Dialect, text string) bool {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], ';')
		if n < 0 {
			return false
		}
		for at += n + 1; at < len(text) && isSpace(text[at]); at++ {
		}
		if c.suspects(d, text[at:]) {
			return true
		}
	}
}

// controlOf returns the words of a dialect; none has an effect that is known
// where the engine is not.
func controlOf(d *dialect.Dialect) *control {
	// The words of transactions are no business of the INSERT grammar that
	// package dialect describes; they stand here, beside their only user.
	switch d.Family {
	case dialect.FamilyMySQL:
		return mysqlControl
	case dialect.FamilyPostgreSQL:
		return postgresControl
	case dialect.FamilySQLite:
		return sqliteControl
	case dialect.FamilySQLServer:
		return sqlserverControl
	case dialect.FamilyOracle:
		return oracleControl
	}
	return unknownControl
}

var unknownControl = newControl(0, nil)

// MySQL 8.4 Reference Manual, section 15.3, with the statements that commit on
// the side in 15.3.3; MariaDB Knowledge Base, "SQL statements That Cause an
// Implicit Commit". Functions cannot commit, so SELECT and DO cannot.
var mysqlControl = newControl(0, map[effect]string{
	effectNone: `select insert update delete replace with values table show explain describe desc use do
		handler kill help get signal resignal checksum savepoint release deallocate`,
	effectCommits:  "create alter drop truncate rename grant revoke analyze optimize repair check",
	effectBegin:    "begin",
	effectStart:    "start",
	effectEnd:      "commit",
	effectRollback: "rollback",
	effectPrepare:  "prepare",
	effectSet:      "set",
	effectLoad:     "load",
	effectBlock:    "declare if case loop while repeat for",
})

// PostgreSQL 18, part VI, "SQL Commands". DDL is part of the transaction. What CALL
// and DO run may commit only where no transaction block is open, and begins another
// then, which ends with it: "Transaction Management" of PL/pgSQL.
var postgresControl = newControl(0, map[effect]string{
	effectNone: `select insert update delete merge with values table show explain set reset copy truncate
		grant revoke analyze analyse vacuum cluster reindex refresh declare fetch move close listen notify
		unlisten lock savepoint release deallocate discard security reassign checkpoint load import`,
	effectDefine:   "create alter drop comment",
	effectRun:      "call do execute",
	effectBegin:    "begin",
	effectStart:    "start",
	effectEnd:      "commit end abort",
	effectRollback: "rollback",
	effectPrepare:  "prepare",
})

// https://www.sqlite.org/lang_transaction.html, lang_savepoint.html and
// lang_conflict.html: ROLLBACK as a conflict's resolution ends the transaction.
var sqliteControl = newControl(setOf("rollback"), map[effect]string{
	effectNone:     "select delete values explain pragma drop alter analyze attach detach reindex vacuum",
	effectOr:       "insert replace update with",
	effectDefine:   "create",
	effectBegin:    "begin",
	effectEnd:      "commit end",
	effectRollback: "rollback",
	effectSave:     "savepoint",
	effectRelease:  "release",
})

// Transact-SQL reference, "Transactions" and "SET IMPLICIT_TRANSACTIONS". The
// words matter only at the start of a batch, where a procedure's name alone
// runs it; what begins and ends transactions is searched for anywhere.
var sqlserverControl = newControl(setOf(verbs[insertVerbs:len(verbs)-namesVerbs-temporaryVerbs]...), map[effect]string{
	effectNone: `select insert update delete merge with drop set declare if while print use truncate grant revoke
		deny raiserror throw waitfor backup restore dbcc kill open fetch close deallocate bulk insertbulk
		checkpoint goto return save disable enable add revert receive send readtext writetext updatetext`,
	effectDefine:   "create alter",
	effectBegin:    "begin",
	effectEnd:      "commit",
	effectRollback: "rollback",
})

// Oracle Database SQL Language Reference 23ai, "COMMIT", which lists what
// commits on the side, "ALTER SESSION" and "SET TRANSACTION".
var oracleControl = newControl(0, map[effect]string{
	effectNone:     "select insert update delete merge with explain lock savepoint",
	effectCommits:  "create alter drop truncate rename grant revoke analyze audit noaudit comment associate disassociate flashback purge",
	effectEnd:      "commit",
	effectRollback: "rollback",
	effectSet:      "set",
	effectBlock:    "begin declare",
})
