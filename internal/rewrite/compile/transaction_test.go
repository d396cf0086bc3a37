package compile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// The dialects that some cases hold in.
const (
	every = "mysql mariadb postgres sqlite sqlserver oracle"
	my    = "mysql mariadb"
)

// transactions are texts and what they do.
var transactions = []struct {
	query    string
	dialects string
	want     effects.Transaction
}{
	{"", every, effects.TxUnchanged},
	{" ;; ", every, effects.TxUnchanged},
	{"-- COMMIT", every, effects.TxUnchanged},
	{"/* COMMIT */ SELECT 1", every, effects.TxUnchanged},
	{"-- name: Get :one\nSELECT 'COMMIT; ROLLBACK'", every, effects.TxUnchanged},
	{"SELECT 1; SELECT 2", every, effects.TxUnchanged},
	{"(SELECT 1)", every, effects.TxUnchanged},
	{"WITH a AS (SELECT 1) SELECT * FROM a", every, effects.TxUnchanged},
	{"INSERT INTO orders (a) VALUES (1)", every, effects.TxUnchanged},
	{"UPDATE orders SET a = 1", every, effects.TxUnchanged},
	{"SELECT \"commit\" FROM rollback_log", every, effects.TxUnchanged},
	{"SELECT `commit`; SELECT `rollback`", my + " sqlite", effects.TxUnchanged},
	{"SELECT [commit], [rollback] FROM [exec]", "sqlserver", effects.TxUnchanged},
	{"SELECT 1 FROM t WHERE a = $$;COMMIT$$", "postgres", effects.TxUnchanged},

	{"BEGIN", my + " postgres sqlite", effects.TxBegins},
	{"begin;", my + " postgres sqlite", effects.TxBegins},
	{"/* x */ Begin -- y", my + " postgres sqlite", effects.TxBegins},
	{"BEGIN WORK", my + " postgres", effects.TxBegins},
	{"BEGIN TRANSACTION", "postgres sqlite sqlserver", effects.TxBegins},
	{"BEGIN ISOLATION LEVEL SERIALIZABLE, NOT DEFERRABLE", "postgres", effects.TxBegins},
	{"BEGIN DEFERRED TRANSACTION", "sqlite", effects.TxBegins},
	{"BEGIN IMMEDIATE", "sqlite", effects.TxBegins},
	{"BEGIN EXCLUSIVE", "sqlite", effects.TxBegins},
	{"START TRANSACTION", my + " postgres", effects.TxBegins},
	{"start transaction with consistent snapshot, read only", my, effects.TxBegins},
	{"INSERT INTO t (a) VALUES (1); BEGIN; INSERT INTO t (a) VALUES (2)", my + " postgres sqlite", effects.TxBegins},
	{"START REPLICA", my, effects.TxUnknown},

	{"COMMIT", "mysql mariadb postgres sqlite oracle", effects.TxEnds},
	{"\tcommit work", my + " postgres oracle", effects.TxEnds},
	{"COMMIT AND NO CHAIN", my + " postgres", effects.TxEnds},
	{"COMMIT AND CHAIN", my + " postgres", effects.TxBegins},
	{"COMMIT WORK AND CHAIN NO RELEASE", my, effects.TxBegins},
	{"ROLLBACK AND CHAIN", my + " postgres", effects.TxBegins},
	{"ROLLBACK", every, effects.TxEnds},
	{"ROLLBACK WORK", every, effects.TxEnds},
	{"END", "postgres sqlite", effects.TxEnds},
	{"END TRANSACTION", "postgres sqlite", effects.TxEnds},
	{"END", my + " oracle", effects.TxUnknown},
	{"ABORT", "postgres", effects.TxEnds},
	{"ABORT", "sqlite " + my, effects.TxUnknown},
	{"COMMIT WRITE BATCH NOWAIT", "oracle", effects.TxEnds},
	{"COMMIT FORCE '22.57.53'", "oracle", effects.TxUnknown},
	{"COMMIT PREPARED 'x'", "postgres", effects.TxUnchanged},
	{"ROLLBACK PREPARED 'x'", "postgres", effects.TxUnchanged},
	{"SELECT ';COMMIT'; COMMIT", "mysql mariadb postgres sqlite oracle", effects.TxEnds},
	{"SELECT 1;/* x */COMMIT", "mysql mariadb postgres sqlite oracle", effects.TxEnds},
	{"BEGIN; UPDATE t SET a = 1; COMMIT", my + " postgres sqlite", effects.TxEnds},
	{"COMMIT; BEGIN", my + " postgres sqlite", effects.TxBegins},

	{"SAVEPOINT a", "mysql mariadb postgres oracle", effects.TxUnchanged},
	{"SAVEPOINT a", "sqlite", effects.TxSaves},
	{"SAVEPOINT a; SAVEPOINT b", "sqlite", effects.TxSaves},
	{"BEGIN; SAVEPOINT a; RELEASE a", "sqlite", effects.TxBegins},
	{"SAVEPOINT a; RELEASE a", "sqlite", effects.TxUnknown},
	{"RELEASE a; SAVEPOINT a", "sqlite", effects.TxUnknown},
	{"COMMIT; SAVEPOINT a", "sqlite", effects.TxUnknown},
	{"RELEASE a; COMMIT", "sqlite", effects.TxEnds},
	{"ROLLBACK TO a", "mysql mariadb postgres sqlite oracle", effects.TxUnchanged},
	{"ROLLBACK TO chain", "mysql mariadb postgres sqlite oracle", effects.TxUnchanged},
	{"ROLLBACK WORK TO SAVEPOINT a", my + " postgres oracle", effects.TxUnchanged},
	{"ROLLBACK TRANSACTION TO SAVEPOINT a", "postgres sqlite", effects.TxUnchanged},
	{"RELEASE SAVEPOINT a", my + " postgres", effects.TxUnchanged},
	{"RELEASE a", "sqlite", effects.TxReleases},

	{"SET NAMES utf8mb4", my, effects.TxUnchanged},
	{"SET @a = 1, SESSION sql_mode = ''", my, effects.TxUnchanged},
	{"SET @old = @@autocommit", my, effects.TxUnchanged},
	{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", my + " postgres sqlserver", effects.TxUnchanged},
	{"SET TRANSACTION READ ONLY", "oracle", effects.TxUnknown},
	{"SET ROLE x", "oracle", effects.TxUnchanged},
	{"SET autocommit = 0", my, effects.TxUnknown},
	{"set @a = 1, AUTOCOMMIT=1", my, effects.TxUnknown},
	{"SET @@autocommit := 0", my, effects.TxUnknown},
	{"SET @@session.autocommit=0", my, effects.TxUnknown},
	{"SET @@session.`autocommit`=0", my, effects.TxUnknown},
	{"SET `autocommit`=0", my, effects.TxUnknown},
	{"SET SESSION autocommit = ON", my, effects.TxUnknown},
	{"SET autocommit = 0; COMMIT", my, effects.TxUnknown},
	{"SET completion_type = 'CHAIN'", my, effects.TxUnknown},
	{"SET PASSWORD = 'x'", my, effects.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR COMMIT", "mariadb", effects.TxEnds},
	{"SET STATEMENT max_statement_time = 1, lock_wait_timeout := 5 FOR INSERT INTO t (a) VALUES (1)", "mariadb", effects.TxUnchanged},
	{"SET STATEMENT max_statement_time = 1 FOR BEGIN", "mariadb", effects.TxBegins},
	{"SET STATEMENT max_statement_time = 1 FOR SET autocommit = 0", "mariadb", effects.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR CALL p()", "mariadb", effects.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR /*! COMMIT */", "mariadb", effects.TxUnknown},
	{"SET STATEMENT completion_type = 1 FOR SELECT 1", "mariadb", effects.TxUnknown},
	{"SET STATEMENT max_statement_time = f() FOR SELECT 1", "mariadb", effects.TxUnknown},
	{"SET IMPLICIT_TRANSACTIONS ON", "sqlserver", effects.TxUnknown},
	{"SET ANSI_DEFAULTS ON; ROLLBACK", "sqlserver", effects.TxUnknown},

	{"XA START 'x'", my, effects.TxUnknown},
	{"PREPARE TRANSACTION 'x'", "postgres", effects.TxUnknown},
	{"PREPARE a AS SELECT 1", "postgres", effects.TxUnchanged},
	{"PREPARE a FROM 'COMMIT'", my, effects.TxUnchanged},
	{"EXECUTE a", my + " sqlserver", effects.TxUnknown},
	{"EXECUTE a", "postgres", effects.TxUnchanged},
	{"CALL p()", my + " oracle", effects.TxUnknown},
	{"CALL p()", "postgres", effects.TxUnchanged},
	{"CALL p(); COMMIT", my + " postgres oracle", effects.TxEnds},
	{"COMMIT; CALL p()", my + " oracle", effects.TxUnknown},
	{"COMMIT; CALL p()", "postgres", effects.TxEnds},
	{"DO $$BEGIN COMMIT; END$$", "postgres", effects.TxUnchanged},
	{"DO RELEASE_LOCK('x')", my, effects.TxUnchanged},
	{"LOCK TABLES t WRITE", my, effects.TxUnknown},
	{"UNLOCK TABLES", my, effects.TxUnknown},
	{"LOCK TABLE t", "postgres", effects.TxUnchanged},
	{"LOAD DATA INFILE 'x' INTO TABLE t", my, effects.TxUnchanged},
	{"LOAD INDEX INTO CACHE t", my, effects.TxUnknown},
	{"FLUSH TABLES", my, effects.TxUnknown},
	{"NOTKNOWN", every, effects.TxUnknown},
	{"SELECT 'unterminated", every, effects.TxUnknown},

	{"CREATE TABLE t (a int)", my + " oracle", effects.TxCommits},
	{"CREATE TABLE t (a int)", "postgres sqlite sqlserver", effects.TxUnchanged},
	{"CREATE TEMPORARY TABLE t (a int)", my + " postgres sqlite", effects.TxUnchanged},
	{"CREATE OR REPLACE TEMPORARY TABLE t (a int)", "mariadb", effects.TxUnchanged},
	{"DROP TEMPORARY TABLE t", my, effects.TxUnchanged},
	{"CREATE TABLE t (a int); BEGIN", my, effects.TxBegins},
	{"CREATE TABLE t (a int); COMMIT", my, effects.TxEnds},
	{"BEGIN; CREATE TABLE t (a int)", my, effects.TxCommits},
	{"DROP PREPARE a", my, effects.TxCommits}, // which the engine is asked for
	{"SET DEFAULT ROLE r", my, effects.TxCommits},
	{"ANALYZE TABLE t", my, effects.TxCommits},
	{"TRUNCATE TABLE t", my + " oracle", effects.TxCommits},
	{"ALTER TABLE t ADD b int", my + " oracle", effects.TxCommits},
	{"ALTER SESSION SET NLS_TERRITORY = 'x'", "oracle", effects.TxUnchanged},
	{"DROP PROCEDURE p; ROLLBACK", my + " postgres sqlserver oracle", effects.TxEnds},
	{"CREATE PROCEDURE p() BEGIN COMMIT; END", my, effects.TxCommits},
	{"CREATE PROCEDURE p AS COMMIT", "sqlserver", effects.TxUnchanged},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END", "postgres", effects.TxUnchanged},
	{"CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET a = 1; END", "sqlite", effects.TxUnchanged},
	{"CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET a = 1; END; COMMIT", "sqlite", effects.TxEnds},

	{"CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW WHEN (OLD.begin <> NEW.begin) EXECUTE FUNCTION f(); BEGIN", "postgres", effects.TxBegins},
	{"CREATE FUNCTION f() RETURNS int RETURN (SELECT 1 AS begin); COMMIT", "postgres", effects.TxEnds},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT a end FROM t; END; BEGIN", "postgres", effects.TxBegins},
	{"CREATE RULE r AS ON UPDATE TO t DO ALSO SELECT NEW.begin atomic; COMMIT", "postgres", effects.TxEnds},
	{"CREATE TRIGGER a AFTER UPDATE OF begin ON t BEGIN SELECT end FROM t; END; BEGIN", "sqlite", effects.TxBegins},
	{"CREATE TRIGGER begin DELETE ON begin WHEN begin BEGIN SELECT 1 AS begin; END; BEGIN", "sqlite", effects.TxBegins},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2", "postgres", effects.TxUnchanged},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; COMMIT", "postgres", effects.TxUnknown},
	{"CREATE TRIGGER a AFTER UPDATE ON t BEGIN SELECT 1; BEGIN", "sqlite", effects.TxUnknown},
	{"CREATE RULE r AS ON UPDATE TO t DO ALSO (SELECT 1; COMMIT", "postgres", effects.TxUnknown},

	{"INSERT OR ROLLBACK INTO t (a) VALUES (1)", "sqlite", effects.TxUnchanged},
	{"WITH a AS (SELECT 1) INSERT OR ROLLBACK INTO t SELECT * FROM a", "sqlite", effects.TxUnchanged},
	{"UPDATE OR ROLLBACK t SET a = 1", "sqlite", effects.TxUnchanged},
	{"INSERT OR IGNORE INTO t (a) VALUES ('or rollback')", "sqlite", effects.TxUnchanged},

	{"BEGIN NOT ATOMIC COMMIT; END", "mariadb", effects.TxUnknown},
	{"IF 1 THEN COMMIT; END IF", "mariadb", effects.TxUnknown},
	{"BEGIN work; END;", "oracle", effects.TxUnknown},
	{"DECLARE a int; BEGIN COMMIT; END;", "oracle", effects.TxUnknown},
	{"<<a>> BEGIN COMMIT; END;", "oracle", effects.TxUnknown},
	{"WITH FUNCTION f RETURN int IS BEGIN RETURN 1; END; SELECT f FROM dual", "oracle", effects.TxUnknown},

	{"/*!40101 SET NAMES utf8 */", my, effects.TxUnchanged},
	{"/*!40101 SET NAMES utf8 */;", my, effects.TxUnchanged},
	{"/*!40101 SET autocommit=0 */;", my, effects.TxUnknown},
	{"/*!50000 COMMIT */", my, effects.TxUnknown},
	{"/*M! COMMIT */", "mariadb", effects.TxUnknown},
	{"/*M! COMMIT */", "mysql", effects.TxUnchanged},
	{"/*!50000 */ COMMIT", my, effects.TxUnknown},
	{"SELECT /*!40001 SQL_NO_CACHE */ a FROM t", my, effects.TxUnchanged},
	{"SELECT 1 /*! ; COMMIT */", my, effects.TxUnknown},
	{"COMMIT /*!50000 AND CHAIN */", my, effects.TxUnknown},
	{"START /*!50000 TRANSACTION */", my, effects.TxUnknown},

	{"BEGIN TRAN", "sqlserver", effects.TxBegins},
	{"begin distributed tran", "sqlserver", effects.TxBegins},
	{"BEGIN TRAN a WITH MARK 'x' UPDATE t SET a = 1", "sqlserver", effects.TxBegins},
	{"UPDATE t SET a = 1 BEGIN TRANSACTION", "sqlserver", effects.TxBegins},
	{"BEGIN TRAN BEGIN TRAN COMMIT", "sqlserver", effects.TxBegins},
	{"BEGIN TRAN UPDATE t SET a = 1 COMMIT", "sqlserver", effects.TxUnknown},
	{"COMMIT", "sqlserver", effects.TxUnknown},
	{"SELECT 1 ROLLBACK SELECT 2", "sqlserver", effects.TxEnds},
	{"ROLLBACK TRAN", "sqlserver", effects.TxEnds},
	{"ROLLBACK TRAN SELECT 1", "sqlserver", effects.TxEnds},
	{"ROLLBACK TRANSACTION a", "sqlserver", effects.TxUnknown},
	{"ROLLBACK TRAN @a", "sqlserver", effects.TxUnknown},
	{"SAVE TRAN a", "sqlserver", effects.TxUnchanged},
	{"IF @@TRANCOUNT > 0 ROLLBACK", "sqlserver", effects.TxUnknown},
	{"BEGIN UPDATE t SET a = 1 END", "sqlserver", effects.TxUnknown},
	{"BEGIN TRY BEGIN TRAN COMMIT END TRY BEGIN CATCH ROLLBACK END CATCH", "sqlserver", effects.TxUnknown},
	{"IF EXISTS (SELECT 1 FROM t) UPDATE t SET a = 1", "sqlserver", effects.TxUnchanged},
	{"SELECT @@TRANCOUNT", "sqlserver", effects.TxUnchanged},
	{"SELECT * FROM transactions WHERE transaction_id = 1", "sqlserver", effects.TxUnchanged},
	{"EXEC p", "sqlserver", effects.TxUnknown},
	{"INSERT INTO t EXEC p", "sqlserver", effects.TxUnknown},
	{"EXEC p; ROLLBACK", "sqlserver", effects.TxEnds},
	{"dbo.p 1", "sqlserver", effects.TxUnknown},
	{"[dbo].[p]", "sqlserver", effects.TxUnknown},
	{"(SELECT 1) ROLLBACK", "sqlserver", effects.TxEnds},
	{"; p", every, effects.TxUnknown},
}

func TestTransactionOf(t *testing.T) {
	for _, tt := range transactions {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := effects.TransactionOf(d, tt.query); got != tt.want {
				t.Errorf("%s: TransactionOf(%q) = %v, want %v", name, tt.query, got, tt.want)
			}
		}
	}
}

// A text that does anything to the transaction is never passed unseen.
func TestConcernsTransaction(t *testing.T) {
	for _, tt := range transactions {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want != effects.TxUnchanged && tt.query != "SELECT 'unterminated" &&
				words.Concerns(d, tt.query)&words.ConcernsTransaction == 0 {
				t.Errorf("%s: Concerns(%q) has no ConcernsTransaction, but TransactionOf is %v", name, tt.query, tt.want)
			}
		}
	}
}

// What most applications send most is passed without a second look.
func TestConcernsNothing(t *testing.T) {
	for _, query := range []string{
		"SELECT a FROM t WHERE b = 1",
		"select a from t;",
		"-- name: Get :one\nSELECT a FROM t",
		"/* app */ SELECT a FROM transactions",
		"(SELECT 1)",
		"UPDATE t SET a = ';b' WHERE c = 1",
		"DELETE FROM t WHERE committed = 1",
		"WITH a AS (SELECT 1) SELECT * FROM a",
		"SELECT CASE WHEN a THEN b END FROM t",
		strings.Repeat("SELECT c.name FROM customers AS c WHERE c.status IN ('open', 'paid')\n", 6),
	} {
		for _, d := range dialect.All() {
			want := words.Concern(0)
			if strings.Contains(query, "';b'") && d.Name != "sqlserver" {
				want = words.ConcernsTransaction
			}
			if got := words.Concerns(d, query); got != want {
				t.Errorf("%s: Concerns(%q) = %d, want %d", d.Name, query, got, want)
			}
		}
	}
}

func TestConcernsBoth(t *testing.T) {
	for _, d := range dialect.All() {
		for _, query := range []string{
			"BEGIN TRANSACTION; INSERT INTO t (a) VALUES (1)",
			"INSERT INTO t (a) VALUES (1); ROLLBACK",
		} {
			if got := words.Concerns(d, query); got != words.ConcernsInsert|words.ConcernsTransaction {
				t.Errorf("%s: Concerns(%q) = %d, want both", d.Name, query, got)
			}
		}
	}
}

// Texts that are long in what is looked at again and again take no longer than
// their length.
func TestTransactionOfLong(t *testing.T) {
	for _, part := range []string{"/*!*/", "/*!", ";--", ";/*", "BEGIN ", "CREATE TRIGGER BEGIN;", "CREATE RULE (;", "/*! ;", "1;", "(", "SELECT ';", "COMMIT AND "} {
		query := strings.Repeat(part, 1<<20/len(part))
		for _, d := range dialect.All() {
			effects.TransactionOf(d, query)
			words.Concerns(d, query)
		}
	}
}

// FuzzTransaction checks that a text that [words.Concerns] passes changes no
// transaction, and that reading it ends.
func FuzzTransaction(f *testing.F) {
	addSeeds(f, func(b uint8, q string) { f.Add(b, q) })
	for _, tt := range transactions {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(slices.Index(dialect.All(), d)), tt.query)
		}
	}
	f.Fuzz(func(t *testing.T, b uint8, query string) {
		d := fuzzDialect(b)
		tx := effects.TransactionOf(d, query)
		if tx == effects.TxUnchanged || words.Concerns(d, query)&words.ConcernsTransaction != 0 {
			return
		}
		if tokens := compile.Tokens(d, query); tokens[len(tokens)-1].Kind != compile.KindError {
			t.Fatalf("%s: Concerns(%q) has no ConcernsTransaction, but TransactionOf is %v", d.Name, query, tx)
		}
	})
}

// TestRunsBefore: what runs statements that the text does not have leaves the
// transaction of PostgreSQL as it is, and may do anything to the INSERT behind it.
func TestRunsBefore(t *testing.T) {
	d := dialect.PostgreSQL()
	target := &plans.Target{Table: "people", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing}}}
	lookup := func(_, name string) *plans.Target {
		if name != "people" {
			return nil
		}
		return target
	}
	for _, first := range []string{"CALL p()", "DO $$ BEGIN END $$", "EXECUTE e"} {
		query := first + "; INSERT INTO people (a) VALUES (1)"
		p := compile.Query(d, lookup, query)
		if p.Action != plans.Refuse || p.Refusal == nil || p.Refusal.Reason != rewrite.ErrSeveral {
			t.Errorf("%s: %v, %+v; want %v", query, p.Action, p.Refusal, rewrite.ErrSeveral)
		}
		if tx := effects.TransactionOf(d, query); tx != effects.TxUnchanged {
			t.Errorf("%s: the transaction is %v", query, tx)
		}
	}
}
