package apps_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/keyfill/keyfill/e2e/assoc"
	"github.com/keyfill/keyfill/e2e/assoc/plainints"
	"github.com/keyfill/keyfill/e2e/assoc/plainuuids"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
)

// TestGORMPlugin runs the program of TestGORMAssociations with models that have no tags
// for their keys, through keyfill and the plugin. Structs, rows and join rows are the
// same as of the plain driver with tables that number themselves. Without RETURNING, the
// plain driver returns integers alone: UUIDs have the same result.
func TestGORMPlugin(t *testing.T) {
	t.Parallel()
	programs := []func(*gorm.DB) []assoc.Outcome{plainints.Run, plainuuids.Run}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.MattnFile}, func(t *testing.T, s *harness.Scratch) {
		for i, kind := range assocKinds {
			for _, returning := range []bool{false, true} {
				if returning && s.Dialect.Name != "mariadb" {
					continue // GORM always has it there
				}
				t.Run(fmt.Sprintf("%s/returning %v", kind.name, returning), func(t *testing.T) {
					own, ours := s.Engine.Scratch(t), s.Engine.Scratch(t)
					plain := kind
					if plain.plain[s.Dialect.Name] == "" || s.Dialect.Name == "mariadb" && !returning {
						plain = assocKinds[0]
					}
					if plain.name == "integers" {
						plain.program = plainints.Run // tags change join tables too
					}
					createAssociations(t, own, plain.reference[s.Dialect.Name], plain.plain[s.Dialect.Name])
					createAssociations(t, ours, kind.reference[s.Dialect.Name], kind.filled[s.Dialect.Name])
					cfg := &policy.Config{Tables: map[string]policy.Table{}}
					for _, table := range assocTables {
						source := kind.source
						cfg.Tables[table.name] = policy.Table{Column: "id", InPlace: &source}
					}
					filled, m := ours.Open(t, cfg)
					g := openGORM(t, ours, filled, returning)
					if err := g.Use(keyfillgorm.Plugin{}); err != nil {
						t.Fatal(err)
					}
					want := plain.program(openGORM(t, own, own.Raw, returning))
					got := programs[i](g)
					label(t, own, want)
					label(t, ours, got)
					for _, outcomes := range [][]assoc.Outcome{want, got} {
						last := &outcomes[len(outcomes)-1]
						for n, row := range last.Rows {
							// GORM counts up from LastInsertId to an id that no row
							// has. A struct that has no id is as good.
							last.Rows[n] = strings.ReplaceAll(row, "unstored", "0")
						}
						slices.Sort(last.Rows)
					}
					compareAssociations(t, want, got)
					for _, outcome := range got {
						for n, name := range outcome.Labels {
							if right := strings.TrimPrefix(outcome.Structs[n].Name, "-> "); kind.name == "UUIDs" && !outcome.Failed && name != right && name != "0" {
								t.Errorf("%s: %s %s has the id of %s", outcome.Step, outcome.Structs[n].Table, right, name)
							}
						}
					}
					for _, table := range assocTables {
						st := m.Stats().Tables[table.name]
						if st.Refused != nil || kind.name == "UUIDs" && (st.Kept == 0 || st.Keys != 0) || kind.name == "integers" && st.Keys == 0 {
							t.Errorf("%s: counted %+v", table.name, st)
						}
					}
				})
			}
		}
	})
}
