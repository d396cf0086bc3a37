package apps_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"io"
	"os"
	osexec "os/exec"

	"strings"

	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/policy"
)

// step is a step that keyfill plan prints, as far as the tests execute it.
type step struct {
	Title, Again, Policy, Check string
	SQL                         []string
}

// plan prints a plan for t as an operator does, and returns its steps.
func (d *deployment) plan(args ...string) (steps []step) {
	d.t.Helper()
	path := builtCommand(d.t)
	args = append([]string{"plan"}, append(args, "--table", "t", "--driver", d.ways[0].driver, "--dsn-env", "KEYFILL_E2E_DSN", "--json")...)
	cmd := osexec.Command(path, args...)
	cmd.Env = append(os.Environ(), "KEYFILL_E2E_DSN="+d.ways[0].dsn)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("keyfill %s: %v: %s", strings.Join(args, " "), err, &errOut)
	}
	for decoder := json.NewDecoder(&out); ; {
		var s step
		switch err := decoder.Decode(&s); {
		case errors.Is(err, io.EOF):
			return steps
		case err != nil:
			d.t.Fatal(err)
		}
		steps = append(steps, s)
	}
}

// execute runs the statements of steps and their checks, and returns the policies.
func (d *deployment) execute(steps []step) (entries []string) {
	d.t.Helper()
	for _, s := range steps {
		d.executeStep(s)
		if s.Policy != "" {
			entries = append(entries, s.Policy)
		}
	}
	return entries
}

// lockWait is MariaDB's and MySQL's error of a lock that was waited for too long.
const lockWait = 1205

// executeStep runs the statements of a step on one connection, again where the step says
// so, and its check.
func (d *deployment) executeStep(s step) {
	d.t.Helper()
	ctx := context.Background()
	conn, err := d.raw.Conn(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close()
	for _, query := range s.SQL {
		for again := 0; ; again++ {
			_, err := conn.ExecContext(ctx, query)
			if refused := new(mysql.MySQLError); errors.As(err, &refused) && refused.Number == lockWait && s.Again != "" {
				continue
			}
			if err != nil {
				d.t.Fatalf("%s: %s: %v", s.Title, query, err)
			}
			if again > 0 {
				d.t.Logf("%s: run again %d times", s.Title, again)
			}
			break
		}
	}
	if s.Check == "" {
		return
	}
	if n, err := countRows(conn.QueryContext(ctx, s.Check)); err != nil || n == 0 {
		d.t.Fatalf("%s: %s: %d rows: %v", s.Title, s.Check, n, err)
	}
}

// countRows returns how many rows an answer has.
func countRows(rows *sql.Rows, err error) (n int, _ error) {
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}

// startAtOf returns the integer at which the sequence of an entry of a policy begins.
func startAtOf(t *testing.T, entry string) int64 {
	t.Helper()
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  " + entry + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Tables["t"].InPlace.StartAt
}

// belowOf returns the integer below which the entry of a policy ends.
func belowOf(t *testing.T, entry string) int64 {
	t.Helper()
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  " + entry + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	below := cfg.Tables["t"].InPlace.Below
	if below == 0 {
		t.Fatalf("%s has no below", entry)
	}
	return below
}
