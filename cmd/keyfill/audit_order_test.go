package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
)

// TestAuditOrder: the engine sorts the texts of each template by their numbers, whatever the
// collation and the character set of the column are: nothing is found in rows that were stored
// in a random order, and the one that is missing is.
func TestAuditOrder(t *testing.T) {
	const seed, numbers = 1, 1100
	eachPlanned(t, func(t *testing.T, p *planned) {
		collations := map[string][]string{
			"sqlite": {"", " COLLATE NOCASE", " COLLATE RTRIM"},
			"mysql":  {" COLLATE utf8mb4_unicode_ci", " CHARACTER SET utf16 COLLATE utf16_general_ci", " CHARACTER SET latin1 COLLATE latin1_german1_ci", " COLLATE utf8mb4_bin"},
			"pgx":    {"", ` COLLATE "en-x-icu"`, ` COLLATE loose`},
		}[p.driver]
		if p.driver == "pgx" {
			p.exec(t, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
		}
		p.exec(t, "CREATE TABLE keyfill_sequences (name VARCHAR(190) PRIMARY KEY, next_value BIGINT, parameters VARCHAR(1000), incarnation VARCHAR(40))")
		random := rand.New(rand.NewPCG(seed, 2))
		for i, template := range []string{"INV-{year}-{n:05}", "{n}/{yy}", "{year}-{n:base32}", "{year}-{n}{luhn}", "x_{n}-{year}.{mod97}", "{year}_{n:base32}z{luhn}"} {
			name := fmt.Sprintf("t%d", i)
			c, err := calendar.New(calendar.Year, "", "")
			if err != nil {
				t.Fatal(err)
			}
			x, err := numberformat.Parse(template)
			if err != nil {
				t.Fatal(err)
			}
			p.exec(t, "CREATE TABLE "+name+" (number VARCHAR(40)"+collations[i%len(collations)]+")",
				"INSERT INTO keyfill_sequences VALUES ('"+name+".number', 1, 'period year from 01-01 by clock in UTC', '')")
			var rows, want []string
			for _, year := range []string{"2025", "2026"} {
				period, err := c.Parse(year)
				if err != nil {
					t.Fatal(err)
				}
				p.exec(t, fmt.Sprintf("INSERT INTO keyfill_sequences VALUES ('%s.number[%s]', %d, 'scope of one parent \"%s\"', '')", name, year, numbers+1, template))
				missing := 2 + random.Int64N(numbers-2)
				for n := range int64(numbers) {
					text, err := x.Text(&numberformat.Parts{Number: n + 1, Period: period})
					if err != nil {
						t.Fatal(err)
					}
					if n+1 == missing {
						want = append(want, fmt.Sprintf("error gap %d-%d 0 map[] %s %s", missing, missing, year, text))
						continue
					}
					rows = append(rows, "('"+text+"')")
				}
			}
			random.Shuffle(len(rows), func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
			p.exec(t, "INSERT INTO "+name+" VALUES "+strings.Join(rows, ", "))
			expectAudit(t, p, name+`: {column: number, source: {kind: sequence, transaction: joined, format: "`+template+`", period: year}}`, []string{"--table", name}, 1, want...)
		}
	})
}
