package joined_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// dump is what a restore sends, statement by statement, and stops at the first error.
type dump []string

// dumpOf dumps keyfill's tables and a table of the test. A restore of pg_restore --clean
// drops all tables in the reverse order of their names, makes them, fills them, and adds
// their keys; one of mariadb-dump goes through the tables one by one.
func dumpOf(t *testing.T, s *harness.Scratch, table string, round int) dump {
	t.Helper()
	tables := append(slices.Clone(stateTables), table)
	slices.Sort(tables)
	create, rows, keys := map[string]string{}, map[string][]string{}, map[string]string{
		"keyfill_sequences": "name", "keyfill_workers": "name, worker", "keyfill_series": "name, series_first",
	}
	for _, name := range tables {
		rows[name] = dumpedRows(t, s, name, round)
		if s.IsPostgres() {
			create[name] = "CREATE TABLE " + name + " (" + harness.Text(t, s.Raw, `SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod)
|| CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '`+name+`'::regclass AND attnum > 0 AND NOT attisdropped`) + ")"
			continue
		}
		var text, of string
		if err := s.Raw.QueryRow("SHOW CREATE TABLE "+name).Scan(&of, &text); err != nil {
			t.Fatal(err)
		}
		create[name] = text
	}
	var d dump
	if !s.IsPostgres() {
		for _, name := range tables {
			d = append(d, "DROP TABLE IF EXISTS "+name, create[name], "LOCK TABLES "+name+" WRITE")
			d = append(append(d, rows[name]...), "UNLOCK TABLES")
		}
		return d
	}
	for _, name := range slices.Backward(tables) {
		d = append(d, "DROP TABLE "+name)
	}
	for _, name := range tables {
		d = append(d, create[name])
	}
	for _, name := range tables {
		d = append(d, rows[name]...)
	}
	for _, name := range stateTables {
		d = append(d, "ALTER TABLE "+name+" ADD PRIMARY KEY ("+keys[name]+")")
	}
	return append(d, "CREATE INDEX "+table+"_id ON "+table+" (id)", "CREATE INDEX "+table+"_order ON "+table+" (order_id, id)")
}

// dumpedRows returns an INSERT for each row of a table.
func dumpedRows(t *testing.T, s *harness.Scratch, table string, round int) (all []string) {
	t.Helper()
	// pgx would remember the statement, and PostgreSQL the types of the table before.
	rows, err := s.Raw.Query(fmt.Sprintf("SELECT * FROM %s -- %d", table, round))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for i, v := range values {
			text := "NULL"
			switch {
			case v.Valid && columns[i] == "updated_at":
				text = "CURRENT_TIMESTAMP"
			case v.Valid:
				text = "'" + strings.ReplaceAll(v.String, "'", "''") + "'"
			}
			texts = append(texts, text)
		}
		all = append(all, "INSERT INTO "+table+" VALUES ("+strings.Join(texts, ", ")+")")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// restore sends a dump, and returns its first error.
func (d dump) restore(t *testing.T, s *harness.Scratch) error {
	t.Helper()
	conn := harness.ConnOf(t, s.Raw)
	defer conn.Close()
	for _, query := range d {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			if !s.IsPostgres() {
				_, _ = conn.ExecContext(t.Context(), "UNLOCK TABLES") // else it would wait for itself
			}
			return fmt.Errorf("%.60s: %w", query, err)
		}
	}
	return nil
}

// isRowMade reports whether a restore has met a row in keyfill_sequences, which a process
// has made before mariadb-dump's LOCK TABLES could prevent it. The row cannot be
// distinguished from one that TRUNCATE has removed, and a process that waited would make
// test suites wait. The restore is begun again.
func isRowMade(err error) bool {
	var duplicate *mysql.MySQLError
	return errors.As(err, &duplicate) && duplicate.Number == 1062 && strings.Contains(err.Error(), "INSERT INTO keyfill_sequences")
}

// TestRestoreUnderLoad: a restore of a dump goes through while processes insert, whether the
// table that they fill comes before or after keyfill's own. They go on when it has ended, and
// no number that one of them has stored since comes twice.
func TestRestoreUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 2
	if harness.Soaking() {
		rounds = 20
	}
	for _, form := range []string{"autonomous", "joined", "scope"} {
		for _, table := range []string{"a", "t"} {
			t.Run(form+"/"+table, func(t *testing.T) {
				harness.Each(t, harness.ByTurns(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}), func(t *testing.T, s *harness.Scratch) {
					harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (order_id BIGINT NOT NULL, id BIGINT NOT NULL, a INT)")
					harness.Exec(t, s.Raw, "CREATE INDEX "+table+"_id ON "+table+" (id)")
					harness.Exec(t, s.Raw, "CREATE INDEX "+table+"_order ON "+table+" (order_id, id)")
					src := *harness.JoinedSource()
					switch form {
					case "autonomous":
						src = harness.Counted(func(s *policy.Source) { s.Block = 1 })
					case "scope":
						src.Scope = &policy.Scope{harness.ByOrder}
					}
					src.OnBehind, src.OnStoreRollback = keysource.RemedyAdvance, keysource.RemedyAdvance
					insert := "INSERT INTO " + table + " (order_id, a) VALUES (7, 1)"
					var all []*sql.DB
					for range 2 {
						db, _ := s.Open(t, harness.FillID(table, policy.Table{InPlace: &src}))
						all = append(all, db)
						for range 10 {
							harness.Exec(t, db, insert)
						}
					}
					for round := range rounds {
						d := dumpOf(t, s, table, round)
						var wg sync.WaitGroup
						var stop atomic.Bool
						stored := make([]atomic.Int64, len(all))
						for i, db := range all {
							wg.Go(func() {
								for !stop.Load() {
									if _, err := db.Exec(insert); err == nil { // some fail
										stored[i].Add(1)
									}
								}
							})
							wg.Go(func() {
								for !stop.Load() {
									_ = harness.InTx(db, func(tx *sql.Tx) error {
										_, err := tx.Exec(insert)
										return err
									})
								}
							})
						}
						// A process that has stored nothing since the dump cannot tell the row of the
						// dump from its own.
						for i := range stored {
							harness.Eventually(t, func() error {
								if stored[i].Load() == 0 {
									return errors.New("nothing is stored yet")
								}
								return nil
							})
						}
						err := d.restore(t, s)
						for err != nil && isRowMade(err) {
							err = d.restore(t, s)
						}
						stop.Store(true)
						wg.Wait()
						if err != nil {
							t.Fatalf("round %d: %v", round, err)
						}
						for _, db := range all {
							harness.Eventually(t, func() error {
								_, err := db.Exec(insert)
								return err
							})
						}
						if n, all := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM "+table), harness.Count(t, s.Raw, "SELECT COUNT(*) FROM "+table); n != all {
							t.Fatalf("round %d: %d numbers in %d rows", round, n, all)
						}
					}
				})
			})
		}
	}
}
