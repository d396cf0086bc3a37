package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
)

// TestNumbered: the programs with numbers that people see store the numbers that they return,
// and a second run goes on without a gap.
func TestNumbered(t *testing.T) {
	stored := map[string]string{
		"invoices": "SELECT CONCAT(number, ' ', customer, ' ', issued_on) FROM invoices ORDER BY number",
		"tickets":  "SELECT CONCAT(number, ' ', title, ' ', tenant) FROM tickets ORDER BY number",
	}
	want := map[string][]string{
		"invoices": {
			"INV-2026-00001 Ada 2026-12-31", "INV-2026-00002 Dan 2026-12-31", "INV-2026-00003 Ada 2026-12-31", "INV-2026-00004 Dan 2026-12-31",
			"INV-2027-00001 Eve 2027-01-02", "INV-2027-00002 Eve 2027-01-02",
		},
		"tickets": {
			"acme-0001 printer acme", "acme-0002 screen acme", "acme-0003 printer acme", "acme-0004 screen acme",
			"zoo-0001 gate zoo", "zoo-0002 gate zoo",
		},
	}
	for _, p := range numbered {
		t.Run(p.name, func(t *testing.T) {
			ctx, at := context.Background(), empty(t, p.only)
			var told []string
			for range 2 {
				rows, err := store(ctx, p, at)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					told = append(told, fmt.Sprint(r.Key, " ", r.Name, " ", r.Parent))
				}
			}
			if slices.Sort(told); !slices.Equal(told, want[p.name]) {
				t.Errorf("the program returns %q, want %q", told, want[p.name])
			}
			db, err := sql.Open(at.Raw(), at.DSN)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			rows, err := db.QueryContext(ctx, stored[p.name])
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var found []string
			for rows.Next() {
				var row string
				if err := rows.Scan(&row); err != nil {
					t.Fatal(err)
				}
				found = append(found, row)
			}
			if err := rows.Err(); err != nil || !slices.Equal(found, want[p.name]) {
				t.Errorf("stored is %q, error %v, want %q", found, err, want[p.name])
			}
		})
	}
}
