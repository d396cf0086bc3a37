package main

import (
	"strings"
	"testing"
)

// TestSlotsAgree: each slot of several INSERTs belongs to one that is filled.
func TestSlotsAgree(t *testing.T) {
	answers := explainJSON(t, "postgres", `{"sql":"INSERT INTO orders (a) VALUES ($1); INSERT INTO orders (id) VALUES ('x'); INSERT INTO pairs (a) VALUES ($2), ($3); INSERT INTO orders (id) VALUES ($4)"}`)
	if len(answers) != 1 || len(answers[0].Inserts) != 4 {
		t.Fatalf("%+v", answers)
	}
	ex := answers[0].Explanation
	slots := map[int]int{}
	for _, s := range ex.Slots {
		slots[s.Statement]++
	}
	for i, want := range []struct {
		action, table, reason string
		rows, slots           int
	}{{"fill", "orders", "", 1, 1}, {"keep", "orders", "", 1, 0}, {"fill", "pairs", "", 2, 4}, {"keep", "orders", "decided at execution", 1, 0}} {
		got := ex.Inserts[i]
		if got.Action != want.action || got.Table != want.table || got.Reason != want.reason || *got.Rows != want.rows || slots[i+1] != want.slots {
			t.Errorf("INSERT %d: %+v with %d slots, want %+v", i+1, got, slots[i+1], want)
		}
	}
}

// TestUnfilledBeside: where the policy lets a text go that cannot be filled, each of its
// INSERTs says so.
func TestUnfilledBeside(t *testing.T) {
	answers := explainJSON(t, "sqlite", `{"sql":"INSERT INTO lines (a) VALUES (1); INSERT INTO lines (a) SELECT b FROM c"}`)
	if len(answers) != 1 || len(answers[0].Inserts) != 2 {
		t.Fatalf("%+v", answers)
	}
	for i, one := range answers[0].Inserts {
		if one.Action != "refuse" || !strings.HasPrefix(one.Reason, "unfilled: ") {
			t.Errorf("INSERT %d: %+v", i+1, one)
		}
	}
}
