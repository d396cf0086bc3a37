package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

const (
	// plantedWord is the password of the DSNs here, and a part of the path of SQLite's file.
	plantedWord = "plantedword"

	// plantedKey begins each integer that is planted, as the key of a row and as the next
	// number of a state.
	plantedKey = "7471"

	// plantedText is in each text key.
	plantedText = "7e577e57-7e57-4e57-8e57"
)

// planted returns a planted integer of 31 bits, another one for each n from 0 to 99.
func planted(n int) string { return fmt.Sprintf("%s2%02d0", plantedKey, n) }

// plantedFaults are tables with planted keys, each with a fault that the check reports
// after it has looked at keys or states.
var plantedFaults = []struct {
	table, rule string
	schema      []string // {serial}, {row}: a key column that the engine numbers, a row of keyfill_sequences
	policy      string
	not         string // an engine without it
}{
	{"behind", "state-behind", []string{"CREATE TABLE behind (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO behind VALUES (" + planted(1) + ")", "{row behind.id,5,behind}"},
		"{column: id, source: {kind: sequence, on_behind: error}}", ""},
	{"missing", "state-missing", []string{"CREATE TABLE missing (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO missing VALUES (" + planted(2) + ")"},
		"{column: id, source: {kind: sequence}}", ""},
	{"deleted", "state-missing", []string{"CREATE TABLE deleted (id {serial}, a INT)", "INSERT INTO deleted (id) VALUES (" + planted(3) + ")", "DELETE FROM deleted"},
		"{column: id, source: {kind: sequence, exclusive: true}}", ""},
	{"ending", "runs-out", []string{"CREATE TABLE ending (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO ending VALUES (" + planted(4) + ")", "{row ending.id,1" + planted(5) + "0,ending}"},
		"{column: id, max_bits: 31, source: {kind: sequence}}", ""},
	{"ended", "runs-out", []string{"CREATE TABLE ended (id BIGINT NOT NULL PRIMARY KEY)", "{row ended.id," + planted(6) + "000,ended}"},
		"{column: id, max_bits: 31, source: {kind: sequence}}", ""},
	{"taken", "bound-twice", []string{"CREATE TABLE taken (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO taken VALUES (" + planted(7) + ")", "{row old," + planted(8) + ",taken}"},
		"{column: id, source: {kind: sequence, ensure_schema: true}}", ""},
	{"passed", "bound-twice", []string{"CREATE TABLE passed (id BIGINT NOT NULL PRIMARY KEY)", "{row first," + planted(9) + ",passed}"},
		"{column: id, source: {kind: sequence, ensure_schema: true, name: second, start_at: 400}}", ""},
	{"counted", "engine-fills", []string{"CREATE TABLE counted (id {serial}, a INT)", "INSERT INTO counted (id) VALUES (" + planted(10) + ")"},
		"{column: id, source: {kind: sequence, ensure_schema: true, start: 1, below: 900000000}}", ""},
	{"drawn", "state-behind", []string{"CREATE TABLE drawn (id {serial}, a INT)", "INSERT INTO drawn (id) VALUES (" + planted(11) + ")"},
		"{column: id, source: native}", "sqlite mysql"},
	{"returned", "handback", []string{"CREATE TABLE returned (id {serial}, a INT)", "INSERT INTO returned (a) VALUES (1)", "{row returned.id," + planted(12) + ",returned}"},
		"{column: id, mode: \"off\", source: {kind: sequence}}", ""},
	{"listed", "state-behind", []string{"CREATE TABLE listed (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO listed VALUES (" + planted(13) + ")",
		"CREATE TABLE numbers (name VARCHAR(40) NOT NULL PRIMARY KEY, value BIGINT NOT NULL)", "INSERT INTO numbers VALUES ('listed', 1)"},
		"{column: id, source: {kind: sequence, table: {name: numbers, key: name, row: listed, value: value, stored: next}}}", ""},
	{"texts", "not-unique", []string{"CREATE TABLE texts (id CHAR(36) NOT NULL)", "INSERT INTO texts VALUES ('" + plantedText + "-000000000001')"},
		"{column: id, source: uuidv7}", ""},
	{"fresh", "state-missing", []string{"CREATE TABLE fresh (id VARCHAR(40) NOT NULL PRIMARY KEY)", "INSERT INTO fresh VALUES ('" + plantedText + "')"},
		"{column: id, source: {kind: coprime, length: 12, alphabet: base32}}", ""},
	{"elsewhere", "store", []string{"CREATE TABLE elsewhere (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO elsewhere VALUES (" + planted(14) + ")"},
		"{column: id, source: {kind: sequence, store: gone}}", ""},
}

// plantedTables makes the tables of plantedFaults, and returns their policy.
func plantedTables(t *testing.T, p *planned) string {
	t.Helper()
	for _, statement := range store.DDL(dialectsOf[p.driver]) {
		p.exec(t, statement)
	}
	schema := map[string]string{"sqlite": "'main'", "mysql": "DATABASE()", "pgx": "'public'"}[p.driver]
	policy := "version: 1\nstores:\n  gone: {driver: pgx, dsn: \"postgres://u:" + plantedWord + "@127.0.0.1:1/x\"}\ntables:\n"
	for _, f := range plantedFaults {
		if strings.Contains(f.not, p.driver) {
			continue
		}
		for _, statement := range f.schema {
			if row, ok := strings.CutPrefix(statement, "{row "); ok {
				fields := strings.Split(strings.TrimSuffix(row, "}"), ",")
				where := "CONCAT(" + schema + ", '." + fields[2] + "')"
				if p.driver == "sqlite" {
					where = schema + " || '." + fields[2] + "'"
				}
				statement = fmt.Sprintf("INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('%s', %s, %s, 'id', '', 'x', CURRENT_TIMESTAMP)", fields[0], fields[1], where)
			}
			p.exec(t, strings.ReplaceAll(statement, "{serial}", serial[p.driver]))
		}
		policy += "  " + f.table + ": " + f.policy + "\n"
	}
	return policy
}

// dialectsOf are the dialects of the drivers.
var dialectsOf = map[string]*dialect.Dialect{"sqlite": dialect.SQLite(), "mysql": dialect.MariaDB(), "pgx": dialect.PostgreSQL()}

// withPassword returns the DSN of a user with the planted password, or SQLite's of a file
// whose path has it.
func (p *planned) withPassword(t *testing.T) string {
	t.Helper()
	switch p.driver {
	case "mysql":
		const user = "planted@'%'"
		p.exec(t, "CREATE USER "+user+" IDENTIFIED BY '"+plantedWord+"'", "GRANT ALL ON *.* TO "+user)
		t.Cleanup(func() { p.exec(t, "DROP USER "+user) })
		to, err := mysql.ParseDSN(p.dsn)
		if err != nil {
			t.Fatal(err)
		}
		to.User, to.Passwd = "planted", plantedWord
		return to.FormatDSN()
	case "pgx":
		p.exec(t, "CREATE ROLE planted LOGIN SUPERUSER PASSWORD '"+plantedWord+"'")
		t.Cleanup(func() { p.exec(t, "DROP ROLE planted") })
		to, err := url.Parse(p.dsn)
		if err != nil {
			t.Fatal(err)
		}
		to.User = url.UserPassword("planted", plantedWord)
		return to.String()
	}
	return p.dsn
}

// TestCheckTellsNoSecret: neither a password or the path of a file, nor a key of a row or a
// number of a state, is in what the check prints, whatever it finds.
func TestCheckTellsNoSecret(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		if p.driver == "sqlite" {
			p.dsn = "file:" + filepath.Join(t.TempDir(), plantedWord+".db")
			p.raw = p.open(t, "")
		}
		config := writeFile(t, "keyfill.yaml", plantedTables(t, p))
		dsn := p.withPassword(t)
		t.Setenv("PLANTED_DSN", dsn)
		t.Setenv("PLANTED_WRONG", strings.Replace(dsn, plantedWord, plantedWord+"x", 1))
		t.Setenv("PLANTED_TORN", strings.Replace(strings.Replace(dsn, "@", "", 1), "file:", "file:%zz", 1))
		for _, variable := range []string{"PLANTED_DSN", "PLANTED_WRONG", "PLANTED_TORN"} {
			for _, form := range []string{"", "--json", "--fix"} {
				args := []string{"check", "--config", config, "--driver", p.driver, "--dsn-env", variable}
				if form != "" {
					args = append(args, form)
				}
				r := keyfillRun(t, "", args...)
				if variable == "PLANTED_DSN" && r.code != 1 {
					t.Errorf("%q: exit code %d: %s", args, r.code, r.errOut)
				}
				for _, line := range strings.Split(r.out+"\n"+r.errOut, "\n") {
					for _, secret := range []string{plantedWord, plantedKey, plantedText} {
						if strings.Contains(line, secret) {
							t.Errorf("%q prints %q: %s", args, secret, line)
						}
					}
				}
				if variable == "PLANTED_DSN" && form == "--json" {
					p.wantPlanted(t, r.out)
				}
			}
		}
	})
}

// wantPlanted fails unless each planted fault is among the findings: else nothing was
// printed about its keys.
func (p *planned) wantPlanted(t *testing.T, out string) {
	t.Helper()
	var found []keyfill.Finding
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var f keyfill.Finding
		if err := d.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found = append(found, f)
	}
	for _, planted := range plantedFaults {
		if strings.Contains(planted.not, p.driver) {
			continue
		}
		if !slices.ContainsFunc(found, func(f keyfill.Finding) bool {
			return f.Rule == planted.rule && (f.Table == planted.table || f.Rule == "store")
		}) {
			t.Errorf("%s of %s is not among the findings: %+v", planted.rule, planted.table, found)
		}
	}
}
