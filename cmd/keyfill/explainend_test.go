package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExplainEnd: the day on which a table's keys end is reported: the product of the
// bits, the unit and the epoch, whatever the clock shows.
func TestExplainEnd(t *testing.T) {
	config := writeFile(t, "keyfill.yaml", `version: 1
dialect: mysql
tables:
  logs:   {column: id, source: {kind: snowflake, worker: 1}}
  short:  {column: id, max_bits: 53, source: {kind: snowflake, worker: 1, bits: 53}}
  orders: {column: id, source: {kind: sequence}}
  people: {column: id}
`)
	for table, want := range map[string]string{
		"logs":   "2089-09-06", // 2020-01-01 and 2⁴¹ ms
		"short":  "2074-06-10", // 2020-01-01 and 2³⁴ · 100 ms
		"orders": "",
		"people": "",
	} {
		query := "INSERT INTO " + table + " (a) VALUES (?)"
		out := keyfillOut(t, "", "explain", "--config", config, query)
		if got := strings.Contains(out, "\nuntil   keys end on "+want+"\n"); got != (want != "") || want == "" && strings.Contains(out, "keys end") {
			t.Errorf("%s: %s", table, out)
		}
		out = keyfillOut(t, `{"sql":"`+query+`"}`, "explain", "--config", config, "--json")
		var fields map[string]any
		if err := json.Unmarshal([]byte(out), &fields); err != nil {
			t.Fatal(err)
		}
		if end, ok := fields["end"]; ok != (want != "") || ok && end != want {
			t.Errorf("%s: end is %v, want %q", table, end, want)
		}
	}
}
