package apps_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestSqlx: sqlx finds its placeholders by the driver's name and a new name has to be
// registered; then its named and rebound queries are filled.
func TestSqlx(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		harness.Engine
		bind int
	}{
		{harness.SQLiteFile, sqlx.QUESTION}, {harness.MySQLDefault, sqlx.QUESTION}, {harness.MySQLInterp, sqlx.QUESTION},
		{harness.PgxDefault, sqlx.DOLLAR}, {harness.PQDefault, sqlx.DOLLAR},
	} {
		t.Run(c.Name, func(t *testing.T) {
			name := c.Driver + "-sqlx-" + c.Name + "-keyfill"
			if sqlx.BindType(name) != sqlx.UNKNOWN {
				t.Errorf("sqlx knows %q", name)
			}
			sqlx.BindDriver(name, c.bind)
			if _, err := keyfill.RegisterByName(name, c.Driver, keyfill.Options{Policy: harness.FillID("people", policy.Table{})}); err != nil {
				t.Fatal(err)
			}
			dsn := c.DSN(t)
			raw := harness.Open(t, c.Driver, dsn)
			harness.Exec(t, raw, "CREATE TABLE people (name VARCHAR(20), id CHAR(36) NOT NULL PRIMARY KEY, n INT)")
			db, err := sqlx.Open(name, dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()

			type person struct {
				ID   *string `db:"id"`
				Name string  `db:"name"`
				N    int     `db:"n"`
			}
			people := []person{{Name: "b", N: 2}, {Name: "c", N: 3}, {Name: "d", N: 4}}
			rebound := db.Rebind("INSERT INTO people (name, n) VALUES (?, ?)")
			if want := c.Placeholders("INSERT INTO people (name, n) VALUES (?, ?)"); rebound != want {
				t.Errorf("Rebind gave %q, want %q", rebound, want)
			}
			if _, err := db.Exec(rebound, "a", 1); err != nil {
				t.Fatal(err)
			}
			if _, err := db.NamedExec("INSERT INTO people (name, id, n) VALUES (:name, :id, :n)", people); err != nil {
				t.Fatal(err)
			}
			stmt, err := db.PrepareNamed("INSERT INTO people (name, n) VALUES (:name, :n)")
			if err != nil {
				t.Fatal(err)
			}
			defer stmt.Close()
			if _, err := stmt.Exec(person{Name: "e", N: 5}); err != nil {
				t.Fatal(err)
			}

			var stored []person
			if err := sqlx.Select(sqlx.NewDb(raw, c.Driver), &stored, "SELECT id, name, n FROM people ORDER BY id"); err != nil {
				t.Fatal(err)
			}
			names := ""
			for i, p := range stored {
				names += p.Name
				if !harness.IsKey(*p.ID) || p.N != i+1 {
					t.Errorf("row %d: %q with n = %d and key %q", i, p.Name, p.N, *p.ID)
				}
			}
			if names != "abcde" {
				t.Errorf("stored by key: %q, want abcde", names)
			}
		})
	}
}
