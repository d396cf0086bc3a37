package apps_test

import (
	"database/sql"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mysqlgorm "gorm.io/driver/mysql"
	postgresgorm "gorm.io/driver/postgres"
	sqlitegorm "gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/keyfill/keyfill/e2e/assoc"
	"github.com/keyfill/keyfill/e2e/assoc/ints"
	"github.com/keyfill/keyfill/e2e/assoc/uuids"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// assocKinds are the kinds of ids. plain is what the engine's own table has, filled
// the one that keyfill fills, by dialect; reference is the type of both.
var assocKinds = []struct {
	name                     string
	reference, plain, filled map[string]string
	source                   policy.Source
	program                  func(*gorm.DB) []assoc.Outcome
}{
	{
		"integers",
		map[string]string{"mariadb": "BIGINT", "postgres": "BIGINT", "sqlite": "INTEGER"},
		map[string]string{"mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY", "postgres": "BIGSERIAL PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"},
		map[string]string{"mariadb": "BIGINT PRIMARY KEY", "postgres": "BIGINT PRIMARY KEY", "sqlite": "INTEGER PRIMARY KEY"},
		policy.Source{Kind: policy.KindSequence, EnsureSchema: true},
		ints.Run,
	},
	{
		"UUIDs",
		map[string]string{"mariadb": "CHAR(36)", "postgres": "UUID", "sqlite": "TEXT"},
		map[string]string{"mariadb": "CHAR(36) DEFAULT UUID() PRIMARY KEY", "postgres": "UUID DEFAULT gen_random_uuid() PRIMARY KEY"},
		map[string]string{"mariadb": "CHAR(36) PRIMARY KEY", "postgres": "UUID PRIMARY KEY", "sqlite": "TEXT PRIMARY KEY"},
		policy.Source{Kind: policy.KindUUIDv7},
		uuids.Run,
	},
}

// assocTables are the tables with their columns but the id, which all have.
// {id} is the type of a reference.
var assocTables = []struct{ name, columns string }{
	{"companies", "name VARCHAR(60) UNIQUE"},
	{"users", "name VARCHAR(60) UNIQUE, age INT, company_id {id}"},
	{"accounts", "user_id {id}, name VARCHAR(60) UNIQUE"},
	{"pets", "user_id {id}, name VARCHAR(60) UNIQUE"},
	{"languages", "name VARCHAR(60) UNIQUE, note VARCHAR(60) DEFAULT 'none'"},
}

// assocJoins are the tables between two others.
var assocJoins = []struct{ name, left, leftTable, right, rightTable string }{
	{"friendships", "user_id", "users", "friend_id", "users"},
	{"speaks", "user_id", "users", "language_id", "languages"},
}

// TestGORMAssociations runs a program that stores users with their associations, once
// through the plain driver into tables that number themselves, and once through keyfill.
// Structs, rows and join rows are the same but for the values of the ids. Where GORM
// gives a struct the id of another row, as it does for structs that were partly there by
// counting up from LastInsertId, keyfill gives none, or the same row's.
func TestGORMAssociations(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		for _, kind := range assocKinds {
			t.Run(kind.name, func(t *testing.T) {
				for _, returning := range []bool{false, true} {
					if returning && s.Dialect.Name != "mariadb" {
						continue // GORM always has it there
					}
					t.Run(fmt.Sprintf("returning %v", returning), func(t *testing.T) {
						own, ours := s.Engine.Scratch(t), s.Engine.Scratch(t)
						plain := kind
						if plain.plain[s.Dialect.Name] == "" {
							plain = assocKinds[0] // what GORM sends for a default is no SQL there
						}
						createAssociations(t, own, plain.reference[s.Dialect.Name], plain.plain[s.Dialect.Name])
						createAssociations(t, ours, kind.reference[s.Dialect.Name], kind.filled[s.Dialect.Name])
						cfg := &policy.Config{Tables: map[string]policy.Table{}}
						for _, table := range assocTables {
							source := kind.source
							cfg.Tables[table.name] = policy.Table{Column: "id", InPlace: &source}
						}
						filled, m := ours.Open(t, cfg)
						want := plain.program(openGORM(t, own, own.Raw, returning))
						got := kind.program(openGORM(t, ours, filled, returning))
						label(t, own, want)
						label(t, ours, got)
						compareAssociations(t, want, got)
						for _, table := range assocTables {
							if st := m.Stats().Tables[table.name]; st.Keys == 0 || st.Refused != nil {
								t.Errorf("%s: counted %+v", table.name, st)
							}
						}
					})
				}
			})
		}
	})
}

func createAssociations(t *testing.T, s *harness.Scratch, reference, id string) {
	t.Helper()
	for _, table := range assocTables {
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (id %s, %s)", table.name, id, strings.ReplaceAll(table.columns, "{id}", reference)))
	}
	for _, j := range assocJoins {
		harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (%s %s, %s %s, PRIMARY KEY (%s, %s))", j.name, j.left, reference, j.right, reference, j.left, j.right))
	}
}

// openGORM opens GORM on a database.
func openGORM(t *testing.T, s *harness.Scratch, db *sql.DB, returning bool) *gorm.DB {
	t.Helper()
	var d gorm.Dialector
	switch s.Dialect.Name {
	case "mariadb":
		d = mysqlgorm.New(mysqlgorm.Config{Conn: db, DisableWithReturning: !returning})
	case "postgres":
		d = postgresgorm.New(postgresgorm.Config{Conn: db})
	default:
		d = sqlitegorm.New(sqlitegorm.Config{Conn: db})
	}
	g, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// label names the ids of structs by what is stored, and adds the rows.
func label(t *testing.T, s *harness.Scratch, outcomes []assoc.Outcome) {
	t.Helper()
	names := map[string]map[string]string{}
	for _, table := range assocTables {
		names[table.name] = namesByID(t, s, table.name)
	}
	of := func(table string, id any) string {
		text := fmt.Sprint(id)
		if text == "0" || text == "" {
			return "0"
		}
		if name, ok := names[table][text]; ok {
			return name
		}
		return "unstored"
	}
	for i := range outcomes {
		for _, st := range outcomes[i].Structs {
			outcomes[i].Labels = append(outcomes[i].Labels, of(st.Table, st.ID))
		}
	}
	last := &outcomes[len(outcomes)-1]
	read := func(query, left, right string) {
		rows, err := s.Raw.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var a, b, rest sql.NullString
			if err := rows.Scan(&a, &b, &rest); err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprint(query, ": ", rest.String, " ", of(left, a.String), " ", of(right, b.String))
			last.Rows = append(last.Rows, line)
		}
	}
	read("SELECT id, company_id, age FROM users", "users", "companies")
	read("SELECT id, id, name FROM companies", "companies", "companies")
	read("SELECT id, user_id, name FROM accounts", "accounts", "users")
	read("SELECT id, user_id, name FROM pets", "pets", "users")
	read("SELECT id, id, note FROM languages", "languages", "languages")
	for _, j := range assocJoins {
		read(fmt.Sprintf("SELECT %s, %s, NULL FROM %s", j.left, j.right, j.name), j.leftTable, j.rightTable)
	}
	slices.Sort(last.Rows)
}

// namesByID returns the names of a table's rows by id.
func namesByID(t *testing.T, s *harness.Scratch, table string) map[string]string {
	t.Helper()
	rows, err := s.Raw.Query("SELECT id, name FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names := map[string]string{}
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			t.Fatal(err)
		}
		names[id] = name
	}
	return names
}

// compareAssociations compares the outcomes of the plain driver with keyfill's.
func compareAssociations(t *testing.T, want, got []assoc.Outcome) {
	t.Helper()
	for i, w := range want {
		g := got[i]
		if w.Failed != g.Failed || len(w.Labels) != len(g.Labels) {
			t.Errorf("%s: failed is %v with %d structs, plainly %v with %d", w.Step, g.Failed, len(g.Labels), w.Failed, len(w.Labels))
			continue
		}
		for n, label := range g.Labels {
			if w.Failed {
				break // its transaction was rolled back
			}
			right := strings.TrimPrefix(g.Structs[n].Name, "-> ")
			switch own := label == right || label == "0" || label == "unstored"; {
			case label == w.Labels[n]:
			case w.Labels[n] != right && own:
			case w.Labels[n] != right && isOfStep(&w, n, label):
			default:
				t.Errorf("%s: %s %s has the id of %s, plainly of %s (%v)", w.Step, g.Structs[n].Table, g.Structs[n].Name, label, w.Labels[n], g.Structs[n].ID)
			}
		}
		if !slices.Equal(w.Rows, g.Rows) {
			t.Errorf("the rows differ: plainly %s\nthrough keyfill %s", lacking(w.Rows, g.Rows), lacking(g.Rows, w.Rows))
		}
	}
}

// isOfStep reports whether a name is of the same table and step as the n-th struct,
// and was new in it.
func isOfStep(o *assoc.Outcome, n int, name string) bool {
	return slices.ContainsFunc(o.Structs, func(s assoc.Struct) bool { return s.Table == o.Structs[n].Table && s.Name == name })
}

// lacking returns the members of a that b lacks.
func lacking(a, b []string) string {
	var lines []string
	for _, line := range a {
		if !slices.Contains(b, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// TestProgramsOfOthers: the other programs are those with integers but for the type
// of the ids, and for their tags. GORM takes no models with type parameters. With
// -update they are written.
func TestProgramsOfOthers(t *testing.T) {
	t.Parallel()
	const tag = "gorm:\"primaryKey;default:(-)\""
	checkProgram(t, "ints", "uuids", "ids that are integers", "ids that are UUIDs", "type ID = int64", "type ID = string")
	checkProgram(t, "ints", "plainints", "ids that are integers", "ids that are integers and have no tags for keyfill", tag, "gorm:\"primaryKey\"")
	checkProgram(t, "ints", "plainuuids", "ids that are integers", "ids that are UUIDs and have no tags for keyfill", tag, "gorm:\"primaryKey\"",
		"type ID = int64", "type ID = string")
	for name, ids := range map[string][3]string{
		"google":   {"UUIDs of google/uuid", "uuid.UUID", "\"github.com/google/uuid\"\n\t\"gorm.io/gorm\""},
		"gofrs":    {"UUIDs of gofrs/uuid", "uuid.UUID", "\"github.com/gofrs/uuid/v5\"\n\t\"gorm.io/gorm\""},
		"standard": {"UUIDs as the standard library has them", "assoc.StandardID", ""},
		"text":     {"texts", "string", ""},
		"binary":   {"UUIDs of 16 bytes", "assoc.BinaryID", ""},
	} {
		changes := []string{"whose ids are integers", "whose ids are " + ids[0], "type ID = int64", "type ID = " + ids[1]}
		if ids[2] != "" {
			changes = append(changes, "\"gorm.io/gorm\"", ids[2])
		}
		checkProgram(t, "shapeints", "shape"+name, changes...)
	}
}

// checkProgram compares a program with another one after some changes. With -update it is
// written.
func checkProgram(t *testing.T, from, name string, changes ...string) {
	t.Helper()
	program, err := os.ReadFile("../assoc/" + from + "/program.go")
	if err != nil {
		t.Fatal(err)
	}
	changes = append(changes, "// Package "+from, "// Package "+name, "package "+from, "package "+name)
	formatted, err := format.Source([]byte(strings.NewReplacer(changes...).Replace(string(program))))
	if err != nil {
		t.Fatal(err)
	}
	path := "../assoc/" + name + "/program.go"
	if *harness.UpdateDocs {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, formatted, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(formatted) {
		t.Errorf("%s is not the program %s, error %v: run go test -run TestProgramsOfOthers -update", path, from, err)
	}
}
