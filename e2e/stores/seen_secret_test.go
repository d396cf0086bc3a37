package stores_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// The secrets of TestNoSecret. None is a part of another one, or of a name.
const (
	literal   = "Lz7literal"
	commented = "Qm4comment"
	quoted    = "Wk2quoted"
	argument  = "Vx9argument"
	tenant    = "Tn5tenant"
	password  = "Pw8password"
	number    = "771234577"
	ownKey    = "662345266"
)

// TestNoSecret: nothing of the literals, comments, arguments and quoted names of a
// statement, of the values of WithValue, of the DSN and of the keys is in a line of the
// log or in an Event, whatever is logged.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault, harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a VARCHAR(100) UNIQUE)")
		harness.Exec(t, s.Raw, "CREATE TABLE u (id BIGINT NOT NULL PRIMARY KEY, a VARCHAR(100))")
		harness.Exec(t, s.Raw, "CREATE TABLE w (id BIGINT NOT NULL PRIMARY KEY, a VARCHAR(100))")
		sequence := func(change func(*policy.Source)) *policy.Source {
			one := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Create: new(true), Block: 2}
			change(&one)
			return &one
		}
		cfg := &policy.Config{
			StoreWait: 3 * time.Second, // a loaded machine answers sooner
			Stores:    map[string]policy.Store{"central": {Driver: "mysql", DSN: "u:" + password + "@tcp(127.0.0.1:1)/d"}},
			Tables: map[string]policy.Table{
				"t":      {Column: "id", InPlace: sequence(func(o *policy.Source) { o.Name = "numbers-{value:tenant}"; o.OnBehind = keysource.RemedyWarn })},
				"u":      {Column: "id", Unsupported: policy.Unfilled, InPlace: sequence(func(o *policy.Source) { o.Kind, o.Series = policy.KindRecycled, 1000 })},
				"w":      {Column: "id", InPlace: sequence(func(o *policy.Source) { o.Store = "central"; o.Start = 1 })},
				"ordres": {Column: "id", InPlace: sequence(func(o *policy.Source) { o.Name = "others-{value:tenant}" })},
			},
		}
		log := new(lines)
		db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
		var told []keyfill.Event
		ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
		ctx = keyfill.WithTrace(ctx, func(e keyfill.Event) { told = append(told, e) })
		do := func(query string, args ...any) { _, _ = db.ExecContext(ctx, s.Placeholders(query), args...) }

		// The first INSERT of a source makes tables, for which store_wait may be too short.
		first := func(query string) {
			harness.Eventually(t, func() error {
				_, err := db.ExecContext(ctx, s.Placeholders(query), argument)
				return err
			})
		}

		first("INSERT INTO t (a) VALUES (?)")
		second := harness.Count(t, s.Raw, "SELECT MAX(id) FROM t") + 1 // of the block
		harness.Exec(t, s.Raw, fmt.Sprintf("INSERT INTO t (id, a) VALUES (%d, '%s2')", second, argument))
		do("INSERT INTO t (a) VALUES (?)", argument+"3") // a duplicate of ours
		do("INSERT INTO t (id, a) VALUES ("+ownKey+", ?)", argument+"4")
		for _, table := range []string{"t", "u"} {
			for _, values := range []string{
				"('" + literal + "', 1, " + number + ")", "(?, ?, ?, '" + literal + "')", "(1, 2, 3 /* " + commented + " */)",
				"(1, 2, 3) -- " + commented, "(1, 2, \"" + quoted + "\")", "(1, 2, `" + quoted + "`)", "(1, 2, $$" + literal + "$$)",
				"(1, 2, $x$" + literal + "$x$)", "(1, 2, E'\\'" + literal + "')", "(1, 2, N'" + literal + "')", "(1, 2, 0x" + number + ")",
				"(1, 2, x'" + number + "0')", "(1, 2, 0b01" + number + ")", "(1, 2, 1e5" + number + ")", "(1, 2, '" + literal, "(1, 2, /* " + commented,
				"(1, 2, @" + quoted + ")", "(1, 2, :" + quoted + ")", "(1, 2, \"" + quoted,
			} {
				do("INSERT INTO "+table+" VALUES "+values, argument, argument, argument)
				do("INSERT INTO " + table + " VALUES " + values)
			}
			do("INSERT INTO "+table+" (a) SELECT a FROM t WHERE a = '"+literal+"' UNION SELECT ?", argument)
			do("INSERT INTO "+table+" (a) VALUES (?); INSERT INTO "+table+" (a) VALUES ('"+literal+"')", argument)
			stmt, err := db.PrepareContext(ctx, "INSERT INTO "+table+" VALUES ('"+literal+"', 2, 3)")
			if err == nil {
				stmt.Close()
			}
		}
		log.await(t, "store down", func() { do("INSERT INTO w (a) VALUES (?)", argument) })
		first("INSERT INTO u (a) VALUES (?)")
		harness.Exec(t, s.Raw, "UPDATE keyfill_series SET owner = 'thief', epoch = epoch + 1, leased_until = '2999-01-01'")
		log.await(t, "lease lost", func() { do("INSERT INTO u (a) VALUES (?)", argument) })
		harness.Exec(t, s.Raw, fmt.Sprintf("UPDATE keyfill_sequences SET next_value = %d WHERE name LIKE 'numbers-%%'", int64(9e18)))
		log.await(t, "most keys of a source are used", func() { do("INSERT INTO t (a) VALUES (NULL)") })
		log.await(t, "no INSERT has matched an entry of the policy", func() {
			for range 100 {
				do("INSERT INTO nowhere (a) VALUES ('" + literal + "')")
			}
		})
		closing := time.Now()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		late := time.Since(closing) >= returnPatience

		all := log.texts()
		for _, text := range []string{
			"opened", "store down", "an INSERT waited for its block", "lease taken", "lease lost", "lease given back",
			"source suspect: a key was in use already", "most keys of a source are used",
			"no INSERT has matched an entry of the policy", "INSERT refused", "INSERT sent unfilled",
		} {
			if len(log.of(text)) == 0 && !(late && text == "lease given back") {
				t.Errorf("%q is not logged, so that nothing is shown about it", text)
			}
		}
		all += fmt.Sprintf("%+v", told)
		if len(told) < 60 {
			t.Errorf("%d events are told, want 60 or more", len(told))
		}
		for _, secret := range []string{literal, commented, quoted, argument, tenant, password, number, ownKey} {
			if at := strings.Index(strings.ToLower(all), strings.ToLower(secret)); at >= 0 {
				t.Errorf("%s is told: …%s…", secret, all[max(0, at-300):min(len(all), at+100)])
			}
		}
		if strings.Contains(all, "9000000000000000") {
			t.Error("a key is told")
		}
		for _, one := range log.of("INSERT refused") {
			one.has(t, slog.LevelWarn, "table reason remedy offset shape count", nil)
		}
	})
}

// TestShapes: refused INSERTs of one shape are logged once, then at the 10th and the
// 100th, and INSERTs of another shape apart.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	log := new(lines)
	db, _ := s.OpenWith(t, keyfill.Options{Policy: harness.Blocks("t", 10), Logger: log.logger()})
	for i := range 150 {
		harness.MustFail(t, db, fmt.Sprintf("INSERT INTO t VALUES (%d, 2, 'x%d')", i, i))
	}
	harness.MustFail(t, db, "INSERT INTO t VALUES (1, 2, abs(3))")
	var counts []string
	for _, one := range log.of("INSERT refused") {
		counts = append(counts, one.attrs["count"])
	}
	if got := strings.Join(counts, " "); got != "1 10 100 1" {
		t.Errorf("the counts in the log are %s, want 1 10 100 1", got)
	}
}
