package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/testturn"
)

// goldenState is what an application may have made of its session before an INSERT. In its
// statements {table} is the first table of the case that keyfill fills.
type goldenState struct {
	name   string
	before []string // outside of a transaction
	within []string // in the transaction of the INSERT
	behind []string // in the transaction after the INSERT, which have to succeed as well
	undo   []string // what takes back what the session leaves to others

	// same says that the INSERT is compared with one on the same tables by the driver
	// alone, since keyfill passes it: its table is not the configured one.
	same bool
}

// stateOf returns states that one statement makes.
func stateOf(statements ...string) (all []goldenState) {
	for _, s := range statements {
		all = append(all, goldenState{name: s, before: []string{s}})
	}
	return all
}

// alreadyWithin returns states that one statement makes in the transaction of the INSERT.
func alreadyWithin(statements ...string) (all []goldenState) {
	for _, s := range statements {
		all = append(all, goldenState{name: s + " in the transaction", within: []string{s}})
	}
	return all
}

// goldenStates are the states by engine.
var goldenStates = map[string][]goldenState{
	"mariadb": slices.Concat(
		stateOf("SET sql_mode = ''", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = 'ANSI'",
			"SET sql_mode = 'ORACLE'", "SET sql_mode = 'MSSQL'", "SET sql_mode = 'POSTGRESQL,NO_BACKSLASH_ESCAPES'", "SET sql_mode = 'TRADITIONAL'",
			"SET sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE,PIPES_AS_CONCAT,IGNORE_SPACE'", "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
			"SET sql_mode = 'ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION,NO_ZERO_DATE,NO_ZERO_IN_DATE,SIMULTANEOUS_ASSIGNMENT,TIME_ROUND_FRACTIONAL'",
			"SET NAMES latin1", "SET NAMES gbk", "SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES binary", "SET character_set_results = NULL",
			"SET collation_connection = latin1_swedish_ci",
			"SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
			"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET autocommit = 0", "SET completion_type = 1", "SET foreign_key_checks = 0", "SET unique_checks = 0",
			"SET sql_safe_updates = 1", "SET sql_big_selects = 0", "SET max_join_size = 1", "SET sql_quote_show_create = 0", "SET sql_auto_is_null = 1",
			"SET sql_warnings = 1", "SET sql_notes = 0", "SET max_error_count = 0", "SET lock_wait_timeout = 1", "SET innodb_lock_wait_timeout = 0", "SET max_statement_time = 20",
			"SET group_concat_max_len = 4", "SET div_precision_increment = 0", "SET time_zone = '+13:00'", "SET timestamp = 1", "SET last_insert_id = 77", "SET insert_id = 0",
			"SET lc_time_names = 'de_DE'", "SET old_mode = ''", "SET optimizer_switch = 'derived_merge=off,materialization=off'", "SET query_prealloc_size = 1024",
			"SET tx_read_only = 0", "SET default_week_format = 3", "SET sql_log_bin = 0", "SET auto_increment_increment = 7, auto_increment_offset = 3",
			"SET ROLE NONE", "USE mysql", "FLUSH TABLES", "DO GET_LOCK('kf', 0)", "SET @id = 5, @a = 6", "SET STATEMENT max_statement_time = 5 FOR SELECT 1"),
		alreadyWithin("SELECT 1", "SET @@session.sql_mode = 'ANSI_QUOTES'"),
		[]goldenState{
			{name: "one row of a SELECT", before: []string{"SET sql_select_limit = 1"}, behind: []string{"SET sql_select_limit = DEFAULT"}},
			{name: "a savepoint", within: []string{"SAVEPOINT kf_point"}, behind: []string{"RELEASE SAVEPOINT kf_point"}},
			{name: "a savepoint named as keyfill's", within: []string{"SAVEPOINT keyfill_proof", "SAVEPOINT keyfill_keys", "SAVEPOINT keyfill"}, behind: []string{"RELEASE SAVEPOINT keyfill"}},
			{name: "a failed statement", within: []string{"! SELECT nothing FROM nowhere"}},
			{name: "a temporary table of the name", before: []string{"CREATE TEMPORARY TABLE {table} LIKE {table}"}, same: true},
			{name: "another temporary table", before: []string{"CREATE TEMPORARY TABLE kf_temporary (id INT)"}},
			{name: "a table made and dropped", before: []string{"CREATE OR REPLACE TABLE kf_made (id INT)", "DROP TABLE kf_made"}},
			{name: "a column added", before: []string{"ALTER TABLE {table} ADD COLUMN kf_new INT"}, undo: []string{"ALTER TABLE {table} DROP COLUMN kf_new"}},
			{name: "a table without transactions written", before: []string{"CREATE TABLE kf_flat (id INT) ENGINE = MyISAM"}, within: []string{"INSERT INTO kf_flat VALUES (1)"}, undo: []string{"DROP TABLE kf_flat"}},
			{name: "a handler open", before: []string{"HANDLER {table} OPEN"}, undo: []string{"HANDLER {table} CLOSE"}},
			{name: "a prepared statement", before: []string{"PREPARE kf FROM 'SELECT 1'", "EXECUTE kf", "DEALLOCATE PREPARE kf"}},
			{name: "autocommit off by itself", before: []string{"SET autocommit = 0", "SELECT 1 FROM {table} LIMIT 0"}},
			{name: "XA", before: []string{"XA START 'kf'", "XA END 'kf'", "XA ROLLBACK 'kf'"}},
		},
	),
	"postgres": slices.Concat(
		stateOf("SET standard_conforming_strings = off", "SET search_path = pg_catalog, public", "SET search_path = ''", "SET search_path = kf_other, public",
			"SET search_path = \"$user\", public, kf_other",
			"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
			"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET default_transaction_deferrable = on", "SET statement_timeout = 20000",
			"SET lock_timeout = 1000", "SET idle_in_transaction_session_timeout = 20000", "SET client_encoding = 'LATIN1'", "SET client_encoding = 'SQL_ASCII'",
			"SET bytea_output = 'escape'", "SET DateStyle = 'German'", "SET IntervalStyle = 'sql_standard'", "SET extra_float_digits = -5", "SET timezone = 'Asia/Tokyo'",
			"SET lc_messages = 'C'", "SET backslash_quote = off", "SET transform_null_equals = on", "SET quote_all_identifiers = on", "SET row_security = off",
			"SET plan_cache_mode = force_generic_plan", "SET array_nulls = off", "SET check_function_bodies = off", "SET synchronous_commit = off",
			"SET xmloption = document", "SET default_with_oids = off", "SET application_name = 'it''s \\ \"mine\"'", "SET client_min_messages = error", "SET constraint_exclusion = on",
			"SET from_collapse_limit = 1", "SET max_parallel_workers_per_gather = 0", "SET escape_string_warning = off", "SET standard_conforming_strings = off; SET backslash_quote = off",
			"DISCARD ALL", "DISCARD PLANS", "DISCARD SEQUENCES", "DISCARD TEMP", "DEALLOCATE ALL", "RESET ALL", "UNLISTEN *", "CLOSE ALL", "LISTEN kf", "SET ROLE kf_role", "SET SESSION AUTHORIZATION kf_role",
			"SELECT pg_advisory_lock(77)", "SELECT set_config('search_path', 'public', false)", "PREPARE kf AS SELECT 1", "SET keyfill.tx = '1'"),
		alreadyWithin("SET CONSTRAINTS ALL DEFERRED", "SET LOCAL ROLE kf_role", "SET LOCAL standard_conforming_strings = off", "SET LOCAL search_path = kf_other, public",
			"SET TRANSACTION READ ONLY", "LOCK TABLE {table} IN EXCLUSIVE MODE", "DECLARE kf CURSOR FOR SELECT 1", "DEALLOCATE ALL", "SET LOCAL statement_timeout = 20000",
			"CREATE TABLE kf_made (id INT)", "ALTER TABLE {table} ADD COLUMN kf_new INT", "SELECT set_config('keyfill.tx', '2', true)"),
		[]goldenState{
			{name: "a savepoint", within: []string{"SAVEPOINT kf_point"}, behind: []string{"RELEASE SAVEPOINT kf_point"}},
			{name: "a savepoint named as keyfill's", within: []string{"SAVEPOINT keyfill_proof", "SAVEPOINT keyfill_keys", "SAVEPOINT keyfill"}, behind: []string{"RELEASE SAVEPOINT keyfill"}},
			{name: "an aborted transaction", within: []string{"! SELECT nothing FROM nowhere"}},
			{name: "a transaction that was saved", within: []string{"SAVEPOINT kf_point", "! SELECT nothing FROM nowhere", "ROLLBACK TO SAVEPOINT kf_point"}},
			{name: "a cursor behind", within: []string{"DECLARE kf CURSOR FOR SELECT 1 FROM {table}"}, behind: []string{"FETCH 1 FROM kf", "CLOSE kf"}},
			{name: "a temporary table of the name", before: []string{"CREATE TEMPORARY TABLE {table} (LIKE {table})"}, same: true},
			{name: "another temporary table", before: []string{"CREATE TEMPORARY TABLE kf_temporary (id INT)"}},
			{name: "a table made and dropped", before: []string{"CREATE TABLE kf_made (id INT)", "DROP TABLE kf_made"}},
			{name: "a column added", before: []string{"ALTER TABLE {table} ADD COLUMN kf_new INT"}, undo: []string{"ALTER TABLE {table} DROP COLUMN kf_new"}},
		},
	),
	"sqlite": slices.Concat(
		stateOf("PRAGMA foreign_keys = on", "PRAGMA foreign_keys = off", "PRAGMA defer_foreign_keys = on", "PRAGMA query_only = on", "PRAGMA read_uncommitted = on",
			"PRAGMA recursive_triggers = on", "PRAGMA case_sensitive_like = on", "PRAGMA reverse_unordered_selects = on", "PRAGMA legacy_alter_table = on",
			"PRAGMA ignore_check_constraints = on", "PRAGMA full_column_names = on", "PRAGMA short_column_names = off", "PRAGMA busy_timeout = 0", "PRAGMA automatic_index = off",
			"PRAGMA cell_size_check = on", "PRAGMA temp_store = memory", "PRAGMA cache_spill = off", "PRAGMA trusted_schema = off", "ATTACH ':memory:' AS kf_other", "ANALYZE",
			"PRAGMA empty_result_callbacks = on", "PRAGMA count_changes = off", "PRAGMA locking_mode = normal", "PRAGMA optimize"),
		[]goldenState{
			{name: "a savepoint", within: []string{"SAVEPOINT kf_point"}, behind: []string{"RELEASE SAVEPOINT kf_point"}},
			{name: "a savepoint named as keyfill's", within: []string{"SAVEPOINT keyfill_proof", "SAVEPOINT keyfill_keys", "SAVEPOINT keyfill"}, behind: []string{"RELEASE SAVEPOINT keyfill"}},
			{name: "a failed statement", within: []string{"! SELECT nothing FROM nowhere"}},
			{name: "a temporary table of the name", before: []string{"CREATE TEMPORARY TABLE {table} AS SELECT * FROM {table} WHERE 0"}, same: true},
			{name: "another temporary table", before: []string{"CREATE TEMPORARY TABLE kf_temporary (id INT)"}},
			{name: "a table made and dropped", before: []string{"CREATE TABLE kf_made (id INT)", "DROP TABLE kf_made"}},
			{name: "a table made", within: []string{"CREATE TABLE kf_made (id INT)"}},
			{name: "a column added", within: []string{"ALTER TABLE {table} ADD COLUMN kf_new INT"}},
			{name: "an attached file that goes", before: []string{"ATTACH ':memory:' AS kf_other", "CREATE TABLE kf_other.t (id INT)"}, undo: []string{"DETACH kf_other"}},
		},
	),
}

// sessionAfter asks a session what an application may rely on.
var sessionAfter = map[string]string{
	"mariadb": `SELECT CONCAT_WS(' ', @@sql_mode, @@autocommit, @@in_transaction, @@character_set_client, @@collation_connection, @@foreign_key_checks, @@unique_checks,
@@sql_safe_updates, @@tx_isolation, @@tx_read_only, @@sql_select_limit, @@insert_id, @@time_zone, @@max_statement_time, @@lock_wait_timeout, DATABASE() IS NULL, @@completion_type)`,
	"postgres": `SELECT concat_ws(' ', current_user = session_user, current_setting('search_path'), current_setting('standard_conforming_strings'), current_setting('transaction_isolation'),
current_setting('transaction_read_only'), current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('client_encoding'), current_setting('row_security'))`,
	"sqlite": "SELECT total_changes() >= 0",
}

// knownStates are the states in which golden cases are filled in another way, with the
// part of the name of a case and of the error; each is a line of docs/deviations.md.
var knownStates = []struct{ dialect, state, caseName, text string }{}

// TestGoldenStates: an INSERT is filled in whatever state the session is. It fails only
// where it fails with the keys by hand too, stores the same rows, and leaves the session
// as it was. All cases in all states take hours: KEYFILL_TEST_STATES=1 asks for them.
func TestGoldenStates(t *testing.T) {
	t.Parallel()
	all := os.Getenv("KEYFILL_TEST_STATES") == "1"
	for _, e := range harness.ByTurns(t, harness.Without18(goldenEngines)) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			cases := slices.DeleteFunc(goldenCases(t), func(c goldenCase) bool {
				return !c.holdsIn(e.Dialect) || c.notHere() != "" || notExecutable[c.name] != "" || notFilled[c.name] != "" || c.several() || c.ends() || goldenSetup[c.name].before != nil || isScoped(t, c)
			})
			states := goldenStates[e.Dialect.Name]
			if !all {
				cases, states = few(t, cases, 4), few(t, states, 8)
			}
			j, _ := newJudges(t, e, cases)
			defer j.close()
			j.asks = true
			if e.Server == harness.PostgreSQL {
				makeStatesRole(t, j)
			}
			for _, c := range cases {
				j.open(t, c)
				kinds, _, err := j.choose(c)
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				for _, state := range states {
					j.inState(t, c, state, argsOf(kinds, c.names()))
				}
			}
			t.Logf("%d texts in %d states", len(cases), len(states))
		})
	}
}

// few returns about n of the elements: those whose turn it is, without turns the same ones.
func few[T any](t *testing.T, all []T, n int) (some []T) {
	t.Helper()
	if testturn.Enabled(t) {
		return testturn.Some(t, all, len(all)/n)
	}
	for i := 0; i < len(all); i += len(all) / n {
		some = append(some, all[i])
	}
	return some
}

// isScoped reports whether a case has a key that is numbered within other columns, which
// are others in each archive: what a state of that name is bound to may not change.
func isScoped(t *testing.T, c goldenCase) bool {
	t.Helper()
	targets, err := goldenTargets(c.archive)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(targets, func(g goldenTarget) bool {
		return slices.ContainsFunc(g.keys, func(k goldenKey) bool { return k.scope != nil }) && strings.Contains(c.in, g.table)
	})
}

// makeStatesRole makes the role and the schema that states name.
func makeStatesRole(t *testing.T, j *judge) {
	t.Helper()
	harness.Exec(t, j.hand.Raw, "DO $$ BEGIN CREATE ROLE kf_role; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
	for _, s := range []*harness.Scratch{j.hand, j.filled} {
		harness.Must(t, s.Raw, "CREATE SCHEMA IF NOT EXISTS kf_other", "GRANT USAGE ON SCHEMA kf_other TO kf_role")
		for _, schema := range []string{"public", "kf_other"} {
			harness.Must(t, s.Raw, "GRANT ALL ON SCHEMA "+schema+" TO kf_role", "GRANT ALL ON ALL TABLES IN SCHEMA "+schema+" TO kf_role", "GRANT ALL ON ALL SEQUENCES IN SCHEMA "+schema+" TO kf_role")
		}
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY kf_role") })
	}
}

// stateEnd is what a session says in the end.
type stateEnd struct {
	goldenStored
	session string
	failed  error // of the INSERT, or of a statement after it
	made    error // of what makes the state
}

// inState compares a case in a state.
func (j *judge) inState(t *testing.T, c goldenCase, state goldenState, args []any) {
	t.Helper()
	table := ""
	for _, g := range j.targets {
		if strings.Contains(strings.ToLower(c.in), strings.ToLower(g.table)) {
			table = quoted(j.hand, g.table)
			break
		}
	}
	if table == "" || state.same && strings.Contains(table, ".") {
		return
	}
	hand, dumpHand, dumpFilled := j.hand.Raw, dumpQuery(j.hand, j.tablesOf(c)), dumpQuery(j.filled, j.tablesOf(c))
	handNames := func() map[string]string { return j.handNames }
	if state.same {
		hand, dumpHand = j.filled.Raw, dumpFilled
		handNames = func() map[string]string { return nil }
	}
	want := c.inSession(context.Background(), hand, dumpHand, handNames, state, table, args)
	ctx, rec := keyfill.Record(context.Background())
	got := c.inSession(ctx, j.off, dumpFilled, func() map[string]string {
		names, counts := map[string]string{}, map[string]int{}
		for _, k := range rec.All() {
			column := strings.TrimPrefix(k.Table, "public.") + "." + k.Column
			counts[column]++
			if key := fmt.Sprint(k.Key); names[key] == "" {
				names[key] = fmt.Sprintf("%s#%d", column, counts[column])
			}
		}
		return names
	}, state, table, args)
	j.texts++
	if c.topic() == "select" {
		want.goldenStored, got.goldenStored = want.unordered(), got.unordered()
	}
	tell := func(what string, got, want any) {
		t.Helper()
		text := fmt.Sprint(got)
		for _, known := range knownStates {
			if known.dialect == j.hand.Dialect.Name && strings.Contains(state.name, known.state) && strings.Contains(c.name, known.caseName) && strings.Contains(text, known.text) {
				return
			}
		}
		t.Errorf("%s, after %s: %s\n%v\nbut by hand\n%v\nin: %s\nargs: %v", c.name, state.name, what, got, want, c.in, args)
	}
	lines := func(rows []string) string { return strings.Join(rows, "\n") }
	switch {
	case want.made != nil && got.made != nil:
	case want.made != nil || got.made != nil:
		tell("the state is", got.made, want.made)
	case state.name == "a column added" && got.failed == nil && want.failed != nil: // the policy has the columns that the text names none of
	case (got.failed == nil) != (want.failed == nil):
		tell("it gives", got.failed, want.failed)
	case want.failed != nil:
		var own *keyfill.Error
		gotCode, answered := sqlcode.Of(got.failed)
		if wantCode, _ := sqlcode.Of(want.failed); gotCode != wantCode && !(errors.As(got.failed, &own) && !answered) {
			tell("it fails with", got.failed, want.failed)
		}
	case !slices.Equal(got.first, want.first):
		tell("the rows are", lines(got.first), lines(want.first))
	case !slices.Equal(got.returned, want.returned):
		tell("it returns", lines(got.returned), lines(want.returned))
	case got.session != want.session:
		tell("the session is", got.session, want.session)
	}
}

// tablesOf returns the tables whose names are in a case's text.
func (j *judge) tablesOf(c goldenCase) (tables []goldenTable) {
	for _, table := range j.tables {
		if strings.Contains(strings.ToLower(c.in), strings.ToLower(table.name[strings.LastIndexByte(table.name, '.')+1:])) {
			tables = append(tables, table)
		}
	}
	return tables
}

// inSession executes a case in a session of its own, after what makes its state, in a
// transaction that is undone.
func (c goldenCase) inSession(ctx context.Context, db *sql.DB, all string, names func() map[string]string, state goldenState, table string, args []any) (end stateEnd) {
	ctx, cancel := context.WithTimeout(ctx, harness.Limit)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return stateEnd{made: err}
	}
	run := func(x executor, statements []string) error {
		for _, query := range statements {
			query, fails := strings.CutPrefix(query, "! ")
			_, err := x.ExecContext(ctx, strings.ReplaceAll(query, "{table}", table))
			if fails == (err == nil) {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	}
	defer func() {
		if err := run(conn, state.undo); err != nil && end.made == nil {
			end.made = err
		}
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // no other test gets the session
	}()
	if lastInsertIDWord.MatchString(c.in) {
		if end.made = run(conn, []string{"DO LAST_INSERT_ID(4242)"}); end.made != nil {
			return end
		}
	}
	if end.made = run(conn, state.before); end.made != nil {
		return end
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return stateEnd{made: err}
	}
	defer tx.Rollback()
	if end.made = run(tx, state.within); end.made != nil {
		return end
	}
	text := goldenText{goldenCase: c, next: func() (string, []any) { return c.in, args }}
	if end.returned, end.failed = text.send(ctx, tx, names); end.failed != nil {
		return end
	}
	dialect := "mariadb"
	switch {
	case strings.Contains(all, "json_build_array"):
		dialect = "postgres"
	case strings.Contains(all, "json_array"):
		dialect = "sqlite"
	}
	if end.failed = tx.QueryRowContext(ctx, sessionAfter[dialect]).Scan(&end.session); end.failed != nil {
		return end
	}
	if end.failed = run(tx, state.behind); end.failed != nil {
		return end
	}
	end.first, end.failed = dump(ctx, tx, all, names())
	return end
}
