package e2e_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestSqlx: sqlx finds its placeholders by the driver's name and has to be told
// that of a new one; then its named and rebound queries are filled.
func TestSqlx(t *testing.T) {
	for _, c := range []struct {
		engine
		bind int
	}{
		{sqliteFile, sqlx.QUESTION}, {mysqlDefault, sqlx.QUESTION}, {mysqlInterp, sqlx.QUESTION},
		{pgxDefault, sqlx.DOLLAR}, {pqDefault, sqlx.DOLLAR},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := c.driver + "-sqlx-" + c.name + "-keyfill"
			if sqlx.BindType(name) != sqlx.UNKNOWN {
				t.Errorf("sqlx knows %q", name)
			}
			sqlx.BindDriver(name, c.bind)
			if _, err := keyfill.RegisterByName(name, c.driver, keyfill.Options{Policy: fillID("people", policy.Table{})}); err != nil {
				t.Fatal(err)
			}
			dsn := c.dsn(t)
			raw := open(t, c.driver, dsn)
			exec(t, raw, "CREATE TABLE people (name VARCHAR(20), id CHAR(36) NOT NULL PRIMARY KEY, n INT)")
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
			if want := c.placeholders("INSERT INTO people (name, n) VALUES (?, ?)"); rebound != want {
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
			if err := sqlx.Select(sqlx.NewDb(raw, c.driver), &stored, "SELECT id, name, n FROM people ORDER BY id"); err != nil {
				t.Fatal(err)
			}
			names := ""
			for i, p := range stored {
				names += p.Name
				if !isKey(*p.ID) || p.N != i+1 {
					t.Errorf("row %d: %q with n = %d and key %q", i, p.Name, p.N, *p.ID)
				}
			}
			if names != "abcde" {
				t.Errorf("stored by key: %q, want abcde", names)
			}
		})
	}
}
