package apps_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// rollBigint: an INT column becomes a BIGINT by the steps of keyfill plan bigint while
// processes with keyfill and without it insert. On PostgreSQL each of the two texts of a
// connection may fail once.
func rollBigint(t *testing.T, d *deployment, e harness.Engine) {
	kind := "INT AUTO_INCREMENT PRIMARY KEY"
	if e.IsPostgres() {
		kind = "SERIAL PRIMARY KEY"
		d.expected, d.expectedMost = "cached plan must not change result type", 2*d.rolling.crowd*writerHands*2
	}
	d.createWith(kind)
	all := d.startAll(d.rolling.crowd, "old", "")
	entry := d.execute(d.plan("there"))[0]
	all = append(all, d.startAll(d.rolling.crowd, "narrow", entry)...)
	d.during(d.rolling.spell/3, all)
	for _, s := range d.plan("bigint") {
		if s.SQL != nil { // the others look for foreign keys, of which there is none, and at programs
			d.executeStep(s)
		}
	}
	d.during(d.rolling.spell/3, all)
	wide := strings.Replace(entry, "max_bits: 31, ", "", 1)
	if wide == entry {
		t.Fatalf("the entry has no max_bits: %s", entry)
	}
	for i, p := range all {
		if p.Kind == "narrow" {
			all[i] = d.replace(p, "wide", wide)
		}
	}
	d.during(d.rolling.spell/3, all)
	if n := harness.Count(t, d.raw, "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 't' AND column_name = 'id' AND data_type = 'bigint' AND table_schema IN (SELECT table_schema FROM information_schema.tables WHERE table_name = 't')"); n < 1 {
		t.Error("the column is no BIGINT")
	}
	d.end("old", "narrow", "wide")
	d.wantApart(belowOf(t, entry), "narrow", "wide")
}

// rollUUID: a table gets a UUID column by the steps of keyfill plan uuid. New processes fill
// it, old ones do not see it, and keyfill backfill gives keys to the rows that have none.
func rollUUID(t *testing.T, d *deployment, e harness.Engine) {
	d.create(e)
	// Where old processes insert faster than the backfill goes on, it does not end.
	d.rolling.pause = max(d.rolling.pause, 100*time.Millisecond)
	all := d.startAll(d.rolling.crowd, "old", "")
	steps := d.plan("uuid")
	d.executeStep(steps[0])
	entry := steps[1].Policy
	all = append(all, d.startAll(d.rolling.crowd, "new", entry)...)
	d.during(d.rolling.spell/3, all)
	d.backfill(entry)
	d.during(d.rolling.spell/3, all)
	for i, p := range all {
		if p.Kind == "old" {
			all[i] = d.replace(p, "new", entry)
		}
	}
	d.backfill(entry)
	d.executeStep(steps[3]) // the steps after it stop all programs, and swap the keys
	d.during(d.rolling.spell/3, all)
	d.end("old", "new")
	if n := harness.Count(t, d.raw, "SELECT COUNT(*) - COUNT(DISTINCT id_uuid) FROM t"); n != 0 {
		t.Errorf("%d rows have no key in id_uuid, or one that another row has", n)
	}
}

// backfill runs keyfill backfill for the column id_uuid, as an operator does.
func (d *deployment) backfill(entry string) {
	d.t.Helper()
	path := builtCommand(d.t)
	config := filepath.Join(d.t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(config, []byte("version: 1\ntables:\n  "+entry+"\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	cmd := osexec.Command(path, "backfill", "--config", config, "--driver", d.ways[0].driver, "--dsn-env", "KEYFILL_E2E_DSN", "--table", "t", "--column", "id_uuid")
	cmd.Env = append(os.Environ(), "KEYFILL_E2E_DSN="+d.ways[0].dsn)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("keyfill backfill: %v: %s", err, out)
	}
}
