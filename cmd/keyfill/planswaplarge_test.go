package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/testturn"
)

// TestPlanSwapLarge: a table of many rows is filled by several statements, each of which
// changes a part of it.
func TestPlanSwapLarge(t *testing.T) {
	rows := testturn.Share(t, 100_000, 21_000)
	numbers := map[string]string{
		"sqlite": "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT n FROM s",
		"mysql":  "SELECT seq AS n FROM seq_1_to_{rows}",
		"pgx":    "SELECT n FROM generate_series(1, {rows}) AS g (n)",
	}
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, p.inSwap("CREATE TABLE parents ({id}, n {int})"), p.inSwap("CREATE TABLE children ({id}, n {int}, parent {int} NOT NULL, CONSTRAINT to_parent FOREIGN KEY (parent) REFERENCES parents (id))"))
		from := strings.ReplaceAll(numbers[p.driver], "{rows}", strconv.Itoa(rows))
		p.exec(t, "INSERT INTO parents (n) SELECT q.n FROM ("+from+") q WHERE q.n <= 1000",
			"INSERT INTO children (n, parent) SELECT c.n, p.id FROM ("+from+") c JOIN parents p ON p.n = 1 + c.n % 1000")
		began := time.Now()
		for _, s := range p.planFiles(t, "uuid", "--all") {
			if n := len(s.SQL); strings.HasSuffix(s.File, "fill-references.sql") && n < rows/10_000-1 {
				t.Errorf("%d statements fill %d rows", n, rows)
			}
			p.runStep(t, s)
		}
		if n := p.rows(t, "SELECT COUNT(*) FROM children c JOIN parents p ON p.id = c.parent AND p.n = 1 + c.n % 1000"); n != rows {
			t.Errorf("%d rows have their parent, want %d", n, rows)
		}
		t.Logf("%d rows in %v", rows, time.Since(began).Round(time.Millisecond))
	})
}
