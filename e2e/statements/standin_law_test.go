package statements_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/DATA-DOG/go-sqlmock"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestStandInRefuses: under keyfilltest an INSERT is refused for the reason for which the
// driver refuses it, wherever no database is needed to know, and no other is: for every
// golden case, and every way in which numbers are drawn.
func TestStandInRefuses(t *testing.T) {
	t.Parallel()
	compared, refused := 0, 0
	for _, a := range goldenArchives(t) {
		targets, err := goldenTargets(a.Archive)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()} {
			for _, kind := range []string{"autonomous", "session", "joined", policy.KindMaxPlusOne} {
				cfg := explainedPolicy(d, targets, kind)
				cfg.Dialect = d.Name
				drawn(cfg, kind)
				c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
				if err != nil {
					continue // the engine has no such numbering
				}
				db := standIn(t, cfg)
				for _, f := range a.Files {
					name, isIn := strings.CutSuffix(f.Name, ".in")
					if !isIn || !slices.Contains(dialectsOf(a.Archive, name), d.Name) {
						continue
					}
					query := strings.TrimSuffix(string(f.Data), "\n")
					ex, err := explain.By(c).Explain(query)
					if err != nil {
						continue
					}
					one := goldenCase{name: a.topic + "/" + name, archive: a.Archive, in: query}
					p := compile.Query(d, goldenLookup(d, targets), query)
					if p.Load {
						continue // which is prepared
					}
					_, err = db.Exec(query, argsOf(make([]argKind, p.Placeholders()), one.names())...)
					var own *keyfill.Error
					if isOfArguments(err) || err != nil && !errors.As(err, &own) {
						continue // about arguments, or no driver's
					}
					compared++
					if ex.Action == "refuse" {
						refused++
					}
					switch {
					case ex.Depends != "":
					case errors.Is(err, rewrite.ErrTogether) && p.Statements > 1:
						// An explanation leaves open whether a transaction is; none is here.
					case ex.Action == "refuse" && (err == nil || !strings.Contains(err.Error(), ex.Reason)):
						t.Errorf("%s, %s, %s: %s\nthe stand-in: %v\nthe driver refuses it: %s", one.name, d.Name, kind, query, err, ex.Reason)
					case ex.Action != "refuse" && err != nil:
						t.Errorf("%s, %s, %s: %s\nthe stand-in: %v\nthe driver: %s", one.name, d.Name, kind, query, err, ex.Action)
					}
				}
				_ = c.Close()
			}
		}
	}
	if compared == 0 || refused == 0 {
		t.Errorf("%d were compared, %d of them refused", compared, refused)
	}
	t.Logf("%d were compared, %d of them refused", compared, refused)
}

// drawn has the numbers of a policy drawn as maxplusone, where that is the kind.
func drawn(cfg *policy.Config, kind string) {
	if kind != policy.KindMaxPlusOne {
		return
	}
	for _, table := range cfg.Tables {
		for i := range table.Keys {
			if src := table.Keys[i].InPlace; src != nil && src.Scope == nil {
				*src = policy.Source{Kind: policy.KindMaxPlusOne, Lock: policy.LockRange, EnsureSchema: true}
			}
		}
	}
}

// standIn returns a database of keyfilltest that takes every statement.
func standIn(t *testing.T, cfg *policy.Config) *sql.DB {
	t.Helper()
	db, mock := keyfilltest.NewMatching(t, keyfill.Options{Policy: cfg}, sqlmock.QueryMatcherFunc(func(string, string) error { return nil }))
	for range 2000 {
		mock.ExpectExec("").WillReturnResult(sqlmock.NewResult(0, 1))
	}
	return db
}
