package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// The invoices of these tests are of twelve years.
const (
	largeTexts  = `invoices: {column: number, source: {kind: sequence, transaction: joined, format: "INV-{year}-{n:07}", period: {every: year, column: issued_on}}}`
	firstYear   = 2010
	largeYears  = 12
	parentsRow  = `scope of one parent "INV-{year}-{n:07}"`
	periodsWord = `period year from 01-01 by "issued_on"`
)

// manyTexts makes the invoices of each year, by driver.
var manyTexts = map[string]string{
	"sqlite": "INSERT INTO invoices WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d), y(y) AS (SELECT 2010 UNION ALL SELECT y + 1 FROM y WHERE y < 2021) SELECT printf('INV-%%d-%%07d', y, n), printf('%%d-05-05', y) FROM n, y",
	"mysql":  "INSERT INTO invoices SELECT CONCAT('INV-', y.seq, '-', LPAD(n.seq, 7, '0')), CONCAT(y.seq, '-05-05') FROM seq_1_to_%d n, seq_2010_to_2021 y",
	"pgx":    "INSERT INTO invoices SELECT concat('INV-', y, '-', lpad(n::text, 7, '0')), make_date(y, 5, 5) FROM generate_series(1, %d) n, generate_series(2010, 2021) y",
}

// makeLargeTexts makes invoices of twelve years, and the states that programs would have left.
func makeLargeTexts(t *testing.T, p *planned, perYear int64) {
	t.Helper()
	p.exec(t, "CREATE TABLE invoices (number VARCHAR(20), issued_on DATE)", "CREATE TABLE cancellations (number VARCHAR(20))",
		"CREATE TABLE keyfill_sequences (name VARCHAR(190) PRIMARY KEY, next_value BIGINT, parameters VARCHAR(1000), incarnation VARCHAR(40))",
		fmt.Sprintf(manyTexts[p.driver], perYear), "CREATE INDEX numbers ON invoices (number)", "INSERT INTO keyfill_sequences VALUES ('invoices.number', 1, '"+periodsWord+"', '')")
	for year := firstYear; year < firstYear+largeYears; year++ {
		p.exec(t, fmt.Sprintf("INSERT INTO keyfill_sequences VALUES ('invoices.number[%d]', %d, '%s', '')", year, perYear+1, parentsRow))
	}
}

// textIrregularities are eight ways in which the numbers of a year go wrong: a statement that
// brings it about, for a text of the year, and the finding's rule and its rows.
var textIrregularities = []struct {
	rule      string
	rows      int
	number    func(perYear int64) int64
	statement string // %[1]s is the text, %[2]d the year
}{
	{"gap", 0, func(int64) int64 { return 1000 }, "DELETE FROM invoices WHERE number = '%[1]s'"},
	{"double", 2, func(int64) int64 { return 2000 }, "INSERT INTO invoices VALUES ('%[1]s', '%[2]d-05-05')"},
	{"first", 0, func(int64) int64 { return 1 }, "DELETE FROM invoices WHERE number = '%[1]s'"},
	{"tail", 0, func(perYear int64) int64 { return perYear }, "DELETE FROM invoices WHERE number = '%[1]s'"},
	{"date", 1, func(int64) int64 { return 3000 }, "UPDATE invoices SET issued_on = '2019-12-31' WHERE number = '%[1]s'"},
	{"cancelled", 1, func(int64) int64 { return 4000 }, "INSERT INTO cancellations VALUES ('%[1]s')"},
	{"above", 1, func(perYear int64) int64 { return perYear + 500 }, "INSERT INTO invoices VALUES ('%[1]s', '%[2]d-06-06')"},
	{"period", 0, func(int64) int64 { return 1 }, "DELETE FROM invoices WHERE number LIKE 'INV-%[2]d-%%' AND number >= '%[1]s'"},
}

// TestAuditTextsLarge: 24 planted irregularities of 8 kinds are found in a million texts, and
// nothing else. Tests that go by turns have a tenth of the rows.
func TestAuditTextsLarge(t *testing.T) {
	perYear := int64(1_000_000 / largeYears)
	if testturn.Enabled(t) || testing.Short() {
		perYear /= 10
	}
	args := []string{"--table=invoices", "--cancelled=cancellations.number"}
	eachPlanned(t, func(t *testing.T, p *planned) {
		makeLargeTexts(t, p, perYear)
		expectAudit(t, p, largeTexts, args, 0)
		var want []string
		for i, one := range textIrregularities {
			for k := range 3 {
				year, number := firstYear+(i/3*3+k)%9, one.number(perYear)
				if one.rule == "period" {
					year = firstYear + 9 + k
				}
				text := fmt.Sprintf("INV-%d-%07d", year, number)
				p.exec(t, fmt.Sprintf(one.statement, text, year))
				finding := fmt.Sprintf("error %s %d-%d %d map[] %d %s", one.rule, number, number, one.rows, year, text)
				if one.rule == "period" {
					finding = fmt.Sprintf("error period 1-%d 0 map[] %d", perYear, year)
				}
				want = append(want, finding)
			}
		}
		if len(want) != 24 {
			t.Fatalf("%d irregularities, want 24", len(want))
		}
		expectAudit(t, p, largeTexts, args, 1, want...)
	})
}

// memoryVariable names a file into which this test binary, run as the command, writes how much
// memory it has used at most.
const memoryVariable = "KEYFILL_TEST_MEMORY"

// writeMemory writes the greatest amount of memory that this process has had, in KB, to the file
// that memoryVariable names. Maxrss of the parent's os.ProcessState is no measure: Linux counts
// the memory of the parent for a child that shares it until exec.
func writeMemory() {
	name := os.Getenv(memoryVariable)
	if name == "" {
		return
	}
	status, err := os.ReadFile("/proc/self/status") // Linux alone has it: proc_pid_status(5)
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	memory, _, _ := strings.Cut(rest, "kB")
	if err := os.WriteFile(name, []byte(strings.TrimSpace(memory)), 0o600); err != nil {
		panic(err)
	}
}

// TestAuditMemory: the process of an audit of ten times the rows needs no more than 5 MB more
// of memory, outside of Go's heap too. KEYFILL_TEST_AUDIT_ROWS=10000000 says how many rows.
// Without it the rows are few, with which a process still warms up, and the bar is twice that.
func TestAuditMemory(t *testing.T) {
	most, _ := strconv.ParseInt(os.Getenv("KEYFILL_TEST_AUDIT_ROWS"), 10, 64)
	bar := int64(5 << 10)
	if most == 0 {
		most, bar = 20_000, 10<<10
	}
	config := writeFile(t, "keyfill.yaml", "version: 1\ntables:\n  "+largeTexts+"\n")
	eachPlanned(t, func(t *testing.T, p *planned) {
		var memory []int64
		for _, rows := range []int64{most / 10, most} {
			makeLargeTexts(t, p, rows/largeYears)
			cmd := exec.Command(os.Args[0])
			used := filepath.Join(t.TempDir(), "memory")
			line := []string{"audit", "--config", config, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table=invoices"}
			cmd.Env = append(os.Environ(), "KEYFILL_TEST_DSN="+p.dsn, memoryVariable+"="+used, commandVariable+"="+strings.Join(line, "\x1f"))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text, _ := os.ReadFile(used)
			kb, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil || kb < 1 {
				t.Fatalf("the memory of the command is %d KB: %v", kb, err)
			}
			memory = append(memory, kb)
			t.Logf("%s%d rows: %d KB at most, %v of the processor", out, rows, kb, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			p.exec(t, "DROP TABLE invoices", "DROP TABLE cancellations", "DROP TABLE keyfill_sequences")
		}
		if more := memory[1] - memory[0]; more > bar {
			t.Errorf("ten times the rows need %d KB more, want %d KB at most", more, bar)
		}
	})
}
