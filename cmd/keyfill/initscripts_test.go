package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/schemafile"
	"github.com/keyfill/keyfill/policy"
)

// plannedDialects are the engines of planned, by their drivers.
var plannedDialects = map[string]*dialect.Dialect{"sqlite": dialect.SQLite(), "mysql": dialect.MariaDB(), "pgx": dialect.PostgreSQL()}

// TestInitScripts: what is read from a script of CREATE TABLE statements, and from the
// engine's own dump of the tables that it makes, is what the engine's catalog says, and
// gives the same entries.
func TestInitScripts(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		source := filepath.Join("testdata", "init", p.driver+".sql")
		script, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		p.exec(t, statementsOf(string(script))...)
		var also []string
		if p.driver == "pgx" {
			also = []string{"--also", "billing"}
		}
		path, _ := p.initFile(t, also...)
		want, err := policy.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		scripts := map[string]string{"script": source, "dump": writeFile(t, "dump.sql", p.dump(t))}
		for name, file := range scripts {
			t.Run(name, func(t *testing.T) {
				if p.driver != "sqlite" { // which is asked in either case
					p.compareOverviews(t, file)
				}
				out := writeFile(t, "policy.yaml", keyfillOut(t, "", "init", "--schema", file, "--dialect", plannedDialects[p.driver].Name))
				got, err := policy.Load(out)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got.Tables, want.Tables) {
					t.Errorf("the entries are\n%+v\nwant\n%+v", got.Tables, want.Tables)
				}
			})
		}
	})
}

// dump returns what the engine's own tool says of the tables.
func (p *planned) dump(t *testing.T) string {
	t.Helper()
	switch p.driver {
	case "pgx":
		out, err := exec.Command("pg_dump", "--schema-only", "--dbname", p.dsn).CombinedOutput()
		if err != nil {
			t.Fatalf("pg_dump: %v\n%s", err, out)
		}
		return string(out)
	case "mysql":
		return p.dumpMySQL(t)
	}
	var b strings.Builder
	for _, text := range p.texts(t, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid") {
		b.WriteString(text + ";\n")
	}
	return b.String()
}

// texts returns the first column of an answer.
func (p *planned) texts(t *testing.T, query string) (all []string) {
	t.Helper()
	rows, err := p.raw.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// dumpMySQL returns what mysqldump writes: SHOW CREATE TABLE of each table, with the
// comments around triggers that the server runs.
func (p *planned) dumpMySQL(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("/*!40101 SET NAMES utf8mb4 */;\n")
	for _, table := range p.texts(t, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'") {
		var name, text string
		quoted := dialect.MySQL().QuoteIdent(table)
		if err := p.raw.QueryRow("SHOW CREATE TABLE "+quoted).Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "DROP TABLE IF EXISTS %s;\n%s;\nLOCK TABLES %s WRITE;\nINSERT INTO %s VALUES (1,'a;b','c\\'d');\nUNLOCK TABLES;\n", quoted, text, quoted, quoted)
	}
	for _, text := range p.texts(t, "SELECT CONCAT('/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`%`*/ /*!50003 TRIGGER `', trigger_name, '` ', action_timing, ' ', event_manipulation, ' ON `', event_object_table, '` FOR EACH ROW ', action_statement, ' */;;') FROM information_schema.triggers WHERE trigger_schema = DATABASE()") {
		b.WriteString("DELIMITER ;;\n" + text + "\nDELIMITER ;\n")
	}
	return b.String()
}

// compareOverviews compares what a script declares with the engine's catalog.
func (p *planned) compareOverviews(t *testing.T, file string) {
	t.Helper()
	d := plannedDialects[p.driver]
	live, err := catalog.List(context.Background(), d, catalog.DB(p.raw), []string{"billing"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	read, unread, err := schemafile.Read(d, in)
	if err != nil || len(unread) > 0 {
		t.Fatalf("unread %v, %v", unread, err)
	}
	want, got := linesOf(d, live), linesOf(d, read)
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the catalog alone says %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("the script alone says %s", line)
		}
	}
	if len(want) < 50 {
		t.Errorf("%d facts were compared, want 50 or more", len(want))
	}
}

// linesOf returns what an overview says of tables, a line for each column, and for each
// foreign key.
func linesOf(d *dialect.Dialect, over *catalog.Overview) (all []string) {
	for _, t := range over.Tables {
		if t.View {
			continue // the dump of MySQL here has none
		}
		trigger := ""
		for _, c := range t.Columns {
			if found := t.TriggerOn(c.Name); found != nil {
				trigger = found.Name
			}
			all = append(all, fmt.Sprintf("%s.%s: integer %v %d, text %v, binary %v, length %d, uuid %v, computed %v, by %q %v, leads %v, alone %v, null %v, makes %v, trigger %q",
				t.Name, c.Name, c.Integer, c.Bits, c.Text, c.Binary, c.Length, c.UUID, c.Generated, c.Identity, c.IdentityAlways,
				c.Indexes.LeadsIndex, c.Indexes.UniqueAlone, t.Nullable[c.Name], c.Identity == "" && t.MakesDefault(c.Name), trigger))
		}
		all = append(all, fmt.Sprintf("%s: key %q, visible %v, split %v, partition %v, child %v", t.Name, t.Primary, t.Visible, t.Split, t.Partition, t.Child))
	}
	for _, f := range over.ForeignKeys {
		all = append(all, fmt.Sprintf("%s.%s refers to %s.%s", f.Table.Name, f.Column, f.Parent.Name, f.ParentColumn))
	}
	return all
}
