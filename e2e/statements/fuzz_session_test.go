package statements_test

import (
	"database/sql"
	"fmt"
	"strings"
)

// fuzzRole may do what the tables allow, and owns none of them.
const fuzzRole = "fuzz_writer"

// grants returns the statements that make the role, and give it rights on what is made
// after them.
func (w *twin) grants() []string {
	texts := []string{"DO $$ BEGIN CREATE ROLE " + fuzzRole + "; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"}
	for _, what := range []string{"TABLES", "SEQUENCES"} {
		texts = append(texts, "ALTER DEFAULT PRIVILEGES GRANT ALL ON "+what+" TO "+fuzzRole)
	}
	return append(texts, "GRANT ALL ON SCHEMA public, s2 TO "+fuzzRole)
}

// setting changes a setting of the session, its role, or what is attached to it.
func (r *storedRun) setting() {
	r.settings = true
	switch w := r.twin; {
	case w.IsPostgres():
		r.settingPostgres()
	case w.Server != nil:
		r.settingMariaDB()
	default:
		r.both(r.one(
			"ATTACH ':memory:' AS x", "DETACH x", "CREATE TABLE IF NOT EXISTS x.t (n INT)",
			"PRAGMA foreign_keys = ON", "PRAGMA recursive_triggers = ON", "PRAGMA recursive_triggers = OFF",
			"PRAGMA query_only = ON", "PRAGMA query_only = OFF", "PRAGMA query_only = OFF",
			"PRAGMA reverse_unordered_selects = ON", "PRAGMA journal_mode = MEMORY", "PRAGMA journal_mode = DELETE",
			"PRAGMA ignore_check_constraints = ON", "PRAGMA case_sensitive_like = ON", "PRAGMA automatic_index = OFF", "PRAGMA cell_size_check = ON",
			"PRAGMA defer_foreign_keys = ON", "PRAGMA legacy_alter_table = ON", "PRAGMA trusted_schema = OFF", "PRAGMA cache_size = 1"))
	}
}

func (r *storedRun) settingPostgres() {
	text := r.one(
		"SET ROLE "+fuzzRole, "SET LOCAL ROLE "+fuzzRole, "SET ROLE NONE", "RESET ROLE", "SET SESSION AUTHORIZATION "+fuzzRole, "RESET SESSION AUTHORIZATION",
		"SET standard_conforming_strings = off", "SET standard_conforming_strings = on", "SET LOCAL standard_conforming_strings = off", "SET backslash_quote = on",
		"SELECT set_config('standard_conforming_strings', 'off', true)",
		"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET default_transaction_isolation = 'serializable'",
		"SET default_transaction_isolation = 'read committed'", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION READ ONLY",
		"SET default_transaction_read_only = on", "SET default_transaction_read_only = off", "SET default_transaction_read_only = off",
		"DISCARD ALL", "DEALLOCATE ALL", "DISCARD PLANS", "DISCARD SEQUENCES", "RESET ALL",
		"SET search_path = \"$user\", public", "SET DateStyle = 'German'", "SET client_min_messages = error", "SET constraint_exclusion = on")
	if strings.Contains(text, "standard_conforming") && strings.Contains(r.twin.Name, "simple") {
		return // pgx sends no arguments under it
	}
	if text == "DISCARD ALL" || text == "DEALLOCATE ALL" {
		if r.twin.forgot || r.temporaries {
			return // only one side has statements that it would miss
		}
		r.discarded = true
	}
	r.elsewhere = true
	r.both(text)
}

func (r *storedRun) settingMariaDB() {
	text := r.one(
		"SET sql_mode = 'ANSI_QUOTES,STRICT_TRANS_TABLES'", "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')", "SET sql_mode = 'TRADITIONAL'",
		"SET sql_mode = 'PIPES_AS_CONCAT,IGNORE_SPACE,STRICT_ALL_TABLES'", "SET sql_mode = DEFAULT", "SET sql_mode = 'ORACLE,STRICT_TRANS_TABLES'",
		"SET NAMES gbk", "SET NAMES latin1", "SET NAMES utf8mb4", "SET CHARACTER SET latin1", "SET character_set_client = gbk",
		"SET autocommit = 0", "SET autocommit = 1", "SET autocommit = 1", "SET @@session.autocommit = OFF",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
		"SET TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE", "SET SESSION TRANSACTION READ WRITE",
		"SET sql_safe_updates = 1", "SET sql_safe_updates = 0", "SET foreign_key_checks = 0", "SET unique_checks = 0", "SET sql_auto_is_null = 1",
		"SET SESSION auto_increment_increment = 1", "SET @a = 1", "SET SESSION lock_wait_timeout = 5", "SET big_tables = 1")
	if r.autocommit && strings.HasPrefix(text, "SET TRANSACTION") {
		return // a refused INSERT may have asked something, which begins a transaction
	}
	r.autocommit = r.autocommit || strings.Contains(text, "autocommit")
	r.both(text)
}

// resets returns the statements that undo what setting has done to a server's session.
func (r *storedRun) resets() []string {
	if r.twin.IsPostgres() {
		return []string{"RESET SESSION AUTHORIZATION", "RESET ROLE", "RESET ALL"}
	}
	return []string{
		"SET autocommit = 1", "SET sql_mode = DEFAULT", "SET NAMES utf8mb4",
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET SESSION TRANSACTION READ WRITE",
		"SET sql_safe_updates = DEFAULT, foreign_key_checks = DEFAULT, unique_checks = DEFAULT, sql_auto_is_null = DEFAULT, lock_wait_timeout = DEFAULT, big_tables = DEFAULT",
	}
}

// begins returns a text that begins a transaction of some kind.
func (r *storedRun) begins() string {
	switch w := r.twin; {
	case w.IsPostgres():
		return r.one("BEGIN", "BEGIN", "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE")
	case w.Server != nil:
		return r.one("BEGIN", "BEGIN", "START TRANSACTION", "START TRANSACTION READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	}
	return r.one("BEGIN", "BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "SAVEPOINT s")
}

// options returns the options of a transaction of database/sql. SQLite has none. With
// autocommit off a transaction may be open already, begun by what a refused INSERT has asked.
func (r *storedRun) options() *sql.TxOptions {
	if r.twin.Server == nil || r.autocommit {
		return nil
	}
	switch r.pick(6) {
	case 0:
		return &sql.TxOptions{Isolation: sql.LevelSerializable}
	case 1:
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	case 2:
		return &sql.TxOptions{ReadOnly: true}
	}
	return nil
}

// retry sends an INSERT, rolls back, to a savepoint or all, and sends it again with the
// same values.
func (r *storedRun) retry() {
	savepoint := r.plain.tx != nil || r.begun
	switch {
	case savepoint:
		r.both("SAVEPOINT again")
	default:
		r.both("BEGIN")
	}
	switch r.pick(4) {
	case 0:
		r.insertSelect()
	case 1:
		r.insertTyped()
	default:
		r.insertValues()
	}
	again := *r.last
	if savepoint {
		r.both("ROLLBACK TO SAVEPOINT again")
	} else {
		r.both("ROLLBACK")
		if r.pick(2) == 0 {
			r.both("BEGIN")
			r.begun = true
		}
	}
	r.send(&again)
}

// remake drops a table, and makes it again with or without statements between.
func (r *storedRun) remake() {
	if r.twin.IsPostgres() && (r.begun || r.plain.tx != nil) {
		return // a changed table of ours would be locked
	}
	r.ddl = true
	table := r.one("t", "t", "j", "p")
	r.altered[table] = true
	r.both("DROP TABLE " + table)
	r.both("{create:" + table + "}")
}

// literalText returns the literal of a text. Where the session's settings may have changed,
// it is one that they give another meaning, too.
func (r *storedRun) literalText(tag int) string {
	if r.settings && r.twin.Server != nil {
		switch r.pick(6) {
		case 0:
			return fmt.Sprintf(`'q\\%d'`, tag)
		case 1:
			return `'q\''`
		case 2:
			return `'q\'`
		case 3:
			if r.twin.Dialect.Name == "mariadb" {
				return r.one(`"b"`, "'\xbf\\''", "'\xbf\\'")
			}
		}
	}
	return fmt.Sprintf("'b%d'", tag)
}
