package rewrite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
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
	want     rewrite.Transaction
}{
	{"", every, rewrite.TxUnchanged},
	{" ;; ", every, rewrite.TxUnchanged},
	{"-- COMMIT", every, rewrite.TxUnchanged},
	{"/* COMMIT */ SELECT 1", every, rewrite.TxUnchanged},
	{"-- name: Get :one\nSELECT 'COMMIT; ROLLBACK'", every, rewrite.TxUnchanged},
	{"SELECT 1; SELECT 2", every, rewrite.TxUnchanged},
	{"(SELECT 1)", every, rewrite.TxUnchanged},
	{"WITH a AS (SELECT 1) SELECT * FROM a", every, rewrite.TxUnchanged},
	{"INSERT INTO orders (a) VALUES (1)", every, rewrite.TxUnchanged},
	{"UPDATE orders SET a = 1", every, rewrite.TxUnchanged},
	{"SELECT \"commit\" FROM rollback_log", every, rewrite.TxUnchanged},
	{"SELECT `commit`; SELECT `rollback`", my + " sqlite", rewrite.TxUnchanged},
	{"SELECT [commit], [rollback] FROM [exec]", "sqlserver", rewrite.TxUnchanged},
	{"SELECT 1 FROM t WHERE a = $$;COMMIT$$", "postgres", rewrite.TxUnchanged},

	{"BEGIN", my + " postgres sqlite", rewrite.TxBegins},
	{"begin;", my + " postgres sqlite", rewrite.TxBegins},
	{"/* x */ Begin -- y", my + " postgres sqlite", rewrite.TxBegins},
	{"BEGIN WORK", my + " postgres", rewrite.TxBegins},
	{"BEGIN TRANSACTION", "postgres sqlite sqlserver", rewrite.TxBegins},
	{"BEGIN ISOLATION LEVEL SERIALIZABLE, NOT DEFERRABLE", "postgres", rewrite.TxBegins},
	{"BEGIN DEFERRED TRANSACTION", "sqlite", rewrite.TxBegins},
	{"BEGIN IMMEDIATE", "sqlite", rewrite.TxBegins},
	{"BEGIN EXCLUSIVE", "sqlite", rewrite.TxBegins},
	{"START TRANSACTION", my + " postgres", rewrite.TxBegins},
	{"start transaction with consistent snapshot, read only", my, rewrite.TxBegins},
	{"INSERT INTO t (a) VALUES (1); BEGIN; INSERT INTO t (a) VALUES (2)", my + " postgres sqlite", rewrite.TxBegins},
	{"START REPLICA", my, rewrite.TxUnknown},

	{"COMMIT", "mysql mariadb postgres sqlite oracle", rewrite.TxEnds},
	{"\tcommit work", my + " postgres oracle", rewrite.TxEnds},
	{"COMMIT AND NO CHAIN", my + " postgres", rewrite.TxEnds},
	{"COMMIT AND CHAIN", my + " postgres", rewrite.TxBegins},
	{"COMMIT WORK AND CHAIN NO RELEASE", my, rewrite.TxBegins},
	{"ROLLBACK AND CHAIN", my + " postgres", rewrite.TxBegins},
	{"ROLLBACK", every, rewrite.TxEnds},
	{"ROLLBACK WORK", every, rewrite.TxEnds},
	{"END", "postgres sqlite", rewrite.TxEnds},
	{"END TRANSACTION", "postgres sqlite", rewrite.TxEnds},
	{"END", my + " oracle", rewrite.TxUnknown},
	{"ABORT", "postgres", rewrite.TxEnds},
	{"ABORT", "sqlite " + my, rewrite.TxUnknown},
	{"COMMIT WRITE BATCH NOWAIT", "oracle", rewrite.TxEnds},
	{"COMMIT FORCE '22.57.53'", "oracle", rewrite.TxUnknown},
	{"COMMIT PREPARED 'x'", "postgres", rewrite.TxUnchanged},
	{"ROLLBACK PREPARED 'x'", "postgres", rewrite.TxUnchanged},
	{"SELECT ';COMMIT'; COMMIT", "mysql mariadb postgres sqlite oracle", rewrite.TxEnds},
	{"SELECT 1;/* x */COMMIT", "mysql mariadb postgres sqlite oracle", rewrite.TxEnds},
	{"BEGIN; UPDATE t SET a = 1; COMMIT", my + " postgres sqlite", rewrite.TxEnds},
	{"COMMIT; BEGIN", my + " postgres sqlite", rewrite.TxBegins},

	{"SAVEPOINT a", "mysql mariadb postgres oracle", rewrite.TxUnchanged},
	{"SAVEPOINT a", "sqlite", rewrite.TxSaves},
	{"SAVEPOINT a; SAVEPOINT b", "sqlite", rewrite.TxSaves},
	{"BEGIN; SAVEPOINT a; RELEASE a", "sqlite", rewrite.TxBegins},
	{"SAVEPOINT a; RELEASE a", "sqlite", rewrite.TxUnknown},
	{"RELEASE a; SAVEPOINT a", "sqlite", rewrite.TxUnknown},
	{"COMMIT; SAVEPOINT a", "sqlite", rewrite.TxUnknown},
	{"RELEASE a; COMMIT", "sqlite", rewrite.TxEnds},
	{"ROLLBACK TO a", "mysql mariadb postgres sqlite oracle", rewrite.TxUnchanged},
	{"ROLLBACK TO chain", "mysql mariadb postgres sqlite oracle", rewrite.TxUnchanged},
	{"ROLLBACK WORK TO SAVEPOINT a", my + " postgres oracle", rewrite.TxUnchanged},
	{"ROLLBACK TRANSACTION TO SAVEPOINT a", "postgres sqlite", rewrite.TxUnchanged},
	{"RELEASE SAVEPOINT a", my + " postgres", rewrite.TxUnchanged},
	{"RELEASE a", "sqlite", rewrite.TxReleases},

	{"SET NAMES utf8mb4", my, rewrite.TxUnchanged},
	{"SET @a = 1, SESSION sql_mode = ''", my, rewrite.TxUnchanged},
	{"SET @old = @@autocommit", my, rewrite.TxUnchanged},
	{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", my + " postgres sqlserver", rewrite.TxUnchanged},
	{"SET TRANSACTION READ ONLY", "oracle", rewrite.TxUnknown},
	{"SET ROLE x", "oracle", rewrite.TxUnchanged},
	{"SET autocommit = 0", my, rewrite.TxUnknown},
	{"set @a = 1, AUTOCOMMIT=1", my, rewrite.TxUnknown},
	{"SET @@autocommit := 0", my, rewrite.TxUnknown},
	{"SET @@session.autocommit=0", my, rewrite.TxUnknown},
	{"SET @@session.`autocommit`=0", my, rewrite.TxUnknown},
	{"SET `autocommit`=0", my, rewrite.TxUnknown},
	{"SET SESSION autocommit = ON", my, rewrite.TxUnknown},
	{"SET autocommit = 0; COMMIT", my, rewrite.TxUnknown},
	{"SET completion_type = 'CHAIN'", my, rewrite.TxUnknown},
	{"SET PASSWORD = 'x'", my, rewrite.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR COMMIT", "mariadb", rewrite.TxEnds},
	{"SET STATEMENT max_statement_time = 1, lock_wait_timeout := 5 FOR INSERT INTO t (a) VALUES (1)", "mariadb", rewrite.TxUnchanged},
	{"SET STATEMENT max_statement_time = 1 FOR BEGIN", "mariadb", rewrite.TxBegins},
	{"SET STATEMENT max_statement_time = 1 FOR SET autocommit = 0", "mariadb", rewrite.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR CALL p()", "mariadb", rewrite.TxUnknown},
	{"SET STATEMENT max_statement_time = 1 FOR /*! COMMIT */", "mariadb", rewrite.TxUnknown},
	{"SET STATEMENT completion_type = 1 FOR SELECT 1", "mariadb", rewrite.TxUnknown},
	{"SET STATEMENT max_statement_time = f() FOR SELECT 1", "mariadb", rewrite.TxUnknown},
	{"SET IMPLICIT_TRANSACTIONS ON", "sqlserver", rewrite.TxUnknown},
	{"SET ANSI_DEFAULTS ON; ROLLBACK", "sqlserver", rewrite.TxUnknown},

	{"XA START 'x'", my, rewrite.TxUnknown},
	{"PREPARE TRANSACTION 'x'", "postgres", rewrite.TxUnknown},
	{"PREPARE a AS SELECT 1", "postgres", rewrite.TxUnchanged},
	{"PREPARE a FROM 'COMMIT'", my, rewrite.TxUnchanged},
	{"EXECUTE a", my + " sqlserver", rewrite.TxUnknown},
	{"EXECUTE a", "postgres", rewrite.TxUnchanged},
	{"CALL p()", my + " oracle", rewrite.TxUnknown},
	{"CALL p()", "postgres", rewrite.TxUnchanged},
	{"CALL p(); COMMIT", my + " postgres oracle", rewrite.TxEnds},
	{"COMMIT; CALL p()", my + " oracle", rewrite.TxUnknown},
	{"COMMIT; CALL p()", "postgres", rewrite.TxEnds},
	{"DO $$BEGIN COMMIT; END$$", "postgres", rewrite.TxUnchanged},
	{"DO RELEASE_LOCK('x')", my, rewrite.TxUnchanged},
	{"LOCK TABLES t WRITE", my, rewrite.TxUnknown},
	{"UNLOCK TABLES", my, rewrite.TxUnknown},
	{"LOCK TABLE t", "postgres", rewrite.TxUnchanged},
	{"LOAD DATA INFILE 'x' INTO TABLE t", my, rewrite.TxUnchanged},
	{"LOAD INDEX INTO CACHE t", my, rewrite.TxUnknown},
	{"FLUSH TABLES", my, rewrite.TxUnknown},
	{"NOTKNOWN", every, rewrite.TxUnknown},
	{"SELECT 'unterminated", every, rewrite.TxUnknown},

	{"CREATE TABLE t (a int)", my + " oracle", rewrite.TxCommits},
	{"CREATE TABLE t (a int)", "postgres sqlite sqlserver", rewrite.TxUnchanged},
	{"CREATE TEMPORARY TABLE t (a int)", my + " postgres sqlite", rewrite.TxUnchanged},
	{"CREATE OR REPLACE TEMPORARY TABLE t (a int)", "mariadb", rewrite.TxUnchanged},
	{"DROP TEMPORARY TABLE t", my, rewrite.TxUnchanged},
	{"CREATE TABLE t (a int); BEGIN", my, rewrite.TxBegins},
	{"CREATE TABLE t (a int); COMMIT", my, rewrite.TxEnds},
	{"BEGIN; CREATE TABLE t (a int)", my, rewrite.TxCommits},
	{"DROP PREPARE a", my, rewrite.TxCommits}, // which the engine is asked for
	{"SET DEFAULT ROLE r", my, rewrite.TxCommits},
	{"ANALYZE TABLE t", my, rewrite.TxCommits},
	{"TRUNCATE TABLE t", my + " oracle", rewrite.TxCommits},
	{"ALTER TABLE t ADD b int", my + " oracle", rewrite.TxCommits},
	{"ALTER SESSION SET NLS_TERRITORY = 'x'", "oracle", rewrite.TxUnchanged},
	{"DROP PROCEDURE p; ROLLBACK", my + " postgres sqlserver oracle", rewrite.TxEnds},
	{"CREATE PROCEDURE p() BEGIN COMMIT; END", my, rewrite.TxCommits},
	{"CREATE PROCEDURE p AS COMMIT", "sqlserver", rewrite.TxUnchanged},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END", "postgres", rewrite.TxUnchanged},
	{"CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET a = 1; END", "sqlite", rewrite.TxUnchanged},
	{"CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET a = 1; END; COMMIT", "sqlite", rewrite.TxEnds},

	{"CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW WHEN (OLD.begin <> NEW.begin) EXECUTE FUNCTION f(); BEGIN", "postgres", rewrite.TxBegins},
	{"CREATE FUNCTION f() RETURNS int RETURN (SELECT 1 AS begin); COMMIT", "postgres", rewrite.TxEnds},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT a end FROM t; END; BEGIN", "postgres", rewrite.TxBegins},
	{"CREATE RULE r AS ON UPDATE TO t DO ALSO SELECT NEW.begin atomic; COMMIT", "postgres", rewrite.TxEnds},
	{"CREATE TRIGGER a AFTER UPDATE OF begin ON t BEGIN SELECT end FROM t; END; BEGIN", "sqlite", rewrite.TxBegins},
	{"CREATE TRIGGER begin DELETE ON begin WHEN begin BEGIN SELECT 1 AS begin; END; BEGIN", "sqlite", rewrite.TxBegins},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2", "postgres", rewrite.TxUnchanged},
	{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; COMMIT", "postgres", rewrite.TxUnknown},
	{"CREATE TRIGGER a AFTER UPDATE ON t BEGIN SELECT 1; BEGIN", "sqlite", rewrite.TxUnknown},
	{"CREATE RULE r AS ON UPDATE TO t DO ALSO (SELECT 1; COMMIT", "postgres", rewrite.TxUnknown},

	{"INSERT OR ROLLBACK INTO t (a) VALUES (1)", "sqlite", rewrite.TxUnchanged},
	{"WITH a AS (SELECT 1) INSERT OR ROLLBACK INTO t SELECT * FROM a", "sqlite", rewrite.TxUnchanged},
	{"UPDATE OR ROLLBACK t SET a = 1", "sqlite", rewrite.TxUnchanged},
	{"INSERT OR IGNORE INTO t (a) VALUES ('or rollback')", "sqlite", rewrite.TxUnchanged},

	{"BEGIN NOT ATOMIC COMMIT; END", "mariadb", rewrite.TxUnknown},
	{"IF 1 THEN COMMIT; END IF", "mariadb", rewrite.TxUnknown},
	{"BEGIN work; END;", "oracle", rewrite.TxUnknown},
	{"DECLARE a int; BEGIN COMMIT; END;", "oracle", rewrite.TxUnknown},
	{"<<a>> BEGIN COMMIT; END;", "oracle", rewrite.TxUnknown},
	{"WITH FUNCTION f RETURN int IS BEGIN RETURN 1; END; SELECT f FROM dual", "oracle", rewrite.TxUnknown},

	{"/*!40101 SET NAMES utf8 */", my, rewrite.TxUnchanged},
	{"/*!40101 SET NAMES utf8 */;", my, rewrite.TxUnchanged},
	{"/*!40101 SET autocommit=0 */;", my, rewrite.TxUnknown},
	{"/*!50000 COMMIT */", my, rewrite.TxUnknown},
	{"/*M! COMMIT */", "mariadb", rewrite.TxUnknown},
	{"/*M! COMMIT */", "mysql", rewrite.TxUnchanged},
	{"/*!50000 */ COMMIT", my, rewrite.TxUnknown},
	{"SELECT /*!40001 SQL_NO_CACHE */ a FROM t", my, rewrite.TxUnchanged},
	{"SELECT 1 /*! ; COMMIT */", my, rewrite.TxUnknown},
	{"COMMIT /*!50000 AND CHAIN */", my, rewrite.TxUnknown},
	{"START /*!50000 TRANSACTION */", my, rewrite.TxUnknown},

	{"BEGIN TRAN", "sqlserver", rewrite.TxBegins},
	{"begin distributed tran", "sqlserver", rewrite.TxBegins},
	{"BEGIN TRAN a WITH MARK 'x' UPDATE t SET a = 1", "sqlserver", rewrite.TxBegins},
	{"UPDATE t SET a = 1 BEGIN TRANSACTION", "sqlserver", rewrite.TxBegins},
	{"BEGIN TRAN BEGIN TRAN COMMIT", "sqlserver", rewrite.TxBegins},
	{"BEGIN TRAN UPDATE t SET a = 1 COMMIT", "sqlserver", rewrite.TxUnknown},
	{"COMMIT", "sqlserver", rewrite.TxUnknown},
	{"SELECT 1 ROLLBACK SELECT 2", "sqlserver", rewrite.TxEnds},
	{"ROLLBACK TRAN", "sqlserver", rewrite.TxEnds},
	{"ROLLBACK TRAN SELECT 1", "sqlserver", rewrite.TxEnds},
	{"ROLLBACK TRANSACTION a", "sqlserver", rewrite.TxUnknown},
	{"ROLLBACK TRAN @a", "sqlserver", rewrite.TxUnknown},
	{"SAVE TRAN a", "sqlserver", rewrite.TxUnchanged},
	{"IF @@TRANCOUNT > 0 ROLLBACK", "sqlserver", rewrite.TxUnknown},
	{"BEGIN UPDATE t SET a = 1 END", "sqlserver", rewrite.TxUnknown},
	{"BEGIN TRY BEGIN TRAN COMMIT END TRY BEGIN CATCH ROLLBACK END CATCH", "sqlserver", rewrite.TxUnknown},
	{"IF EXISTS (SELECT 1 FROM t) UPDATE t SET a = 1", "sqlserver", rewrite.TxUnchanged},
	{"SELECT @@TRANCOUNT", "sqlserver", rewrite.TxUnchanged},
	{"SELECT * FROM transactions WHERE transaction_id = 1", "sqlserver", rewrite.TxUnchanged},
	{"EXEC p", "sqlserver", rewrite.TxUnknown},
	{"INSERT INTO t EXEC p", "sqlserver", rewrite.TxUnknown},
	{"EXEC p; ROLLBACK", "sqlserver", rewrite.TxEnds},
	{"dbo.p 1", "sqlserver", rewrite.TxUnknown},
	{"[dbo].[p]", "sqlserver", rewrite.TxUnknown},
	{"(SELECT 1) ROLLBACK", "sqlserver", rewrite.TxEnds},
	{"; p", every, rewrite.TxUnknown},
}

func TestTransactionOf(t *testing.T) {
	for _, tt := range transactions {
		for _, name := range strings.Fields(tt.dialects) {
			d, err := dialect.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := rewrite.TransactionOf(d, tt.query); got != tt.want {
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
			if tt.want != rewrite.TxUnchanged && tt.query != "SELECT 'unterminated" &&
				rewrite.Concerns(d, tt.query)&rewrite.ConcernsTransaction == 0 {
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
		passed,
	} {
		for _, d := range dialect.All() {
			want := rewrite.Concern(0)
			if strings.Contains(query, "';b'") && d.Name != "sqlserver" {
				want = rewrite.ConcernsTransaction
			}
			if got := rewrite.Concerns(d, query); got != want {
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
			if got := rewrite.Concerns(d, query); got != rewrite.ConcernsInsert|rewrite.ConcernsTransaction {
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
			rewrite.TransactionOf(d, query)
			rewrite.Concerns(d, query)
		}
	}
}

// FuzzTransaction checks that a text that [rewrite.Concerns] passes changes no
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
		tx := rewrite.TransactionOf(d, query)
		if tx == rewrite.TxUnchanged || rewrite.Concerns(d, query)&rewrite.ConcernsTransaction != 0 {
			return
		}
		if tokens := rewrite.Tokens(d, query); tokens[len(tokens)-1].Kind != rewrite.KindError {
			t.Fatalf("%s: Concerns(%q) has no ConcernsTransaction, but TransactionOf is %v", d.Name, query, tx)
		}
	})
}

// TestRunsBefore: what runs statements that the text does not have leaves the
// transaction of PostgreSQL as it is, and may do anything to the INSERT behind it.
func TestRunsBefore(t *testing.T) {
	d := dialect.PostgreSQL()
	target := &rewrite.Target{Table: "people", Keys: []rewrite.Key{{Column: "id", Fill: rewrite.FillMissing}}}
	lookup := func(_, name string) *rewrite.Target {
		if name != "people" {
			return nil
		}
		return target
	}
	for _, first := range []string{"CALL p()", "DO $$ BEGIN END $$", "EXECUTE e"} {
		query := first + "; INSERT INTO people (a) VALUES (1)"
		p := rewrite.Compile(d, lookup, query)
		if p.Action != rewrite.Refuse || p.Refusal == nil || p.Refusal.Reason != rewrite.ErrSeveral {
			t.Errorf("%s: %v, %+v; want %v", query, p.Action, p.Refusal, rewrite.ErrSeveral)
		}
		if tx := rewrite.TransactionOf(d, query); tx != rewrite.TxUnchanged {
			t.Errorf("%s: the transaction is %v", query, tx)
		}
	}
}
