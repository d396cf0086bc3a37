package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestExplainID echoes whatever JSON value came.
func TestExplainID(t *testing.T) {
	ids := []string{
		"7", "-0.50", "1e400", "12345678901234567890", `"a"`, `"\u0041<&>"`, "null", "true",
		`[1, 2]`, `{"a": {"b": [ ]}}`, `""`,
	}
	var lines strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&lines, "{\"id\": %s ,\"sql\":\"SELECT 1\"}\n\n", id)
	}
	lines.WriteString("{\"ID\":1,\"SQL\":2,\"sql\":\"SELECT 1\"}\r\n") // other names are other fields
	lines.WriteString(`{"sql":"SELECT 1"}`)                            // without a line end
	out := keyfillOut(t, lines.String(), "explain", "--json", "--dialect", "mysql",
		"--config", writeFile(t, "keyfill.yaml", testPolicy))
	var want strings.Builder
	for _, id := range append(ids, "null", "null") {
		fmt.Fprintf(&want, `{"id":%s,"action":"pass","sql":"SELECT 1","table":"","column":"","rows":null,"slots":[],"literal":false,"reason":"","offset":0}`+"\n", id)
	}
	if out != want.String() {
		t.Errorf("got\n%s\nwant\n%s", out, want.String())
	}
}

func TestExplainBadLine(t *testing.T) {
	const good = `{"id":1,"sql":"SELECT 1"}` + "\n"
	config := writeFile(t, "keyfill.yaml", testPolicy)
	for _, tt := range []struct{ name, line string }{
		{"no JSON", "INSERT secret"},
		{"half an object", `{"id":1,"sql":"secret`},
		{"two objects", `{"id":1,"sql":"secret"} {}`},
		{"null", "null"},
		{"array", `["secret"]`},
		{"string", `"secret"`},
		{"no sql", `{"id":"secret"}`},
		{"sql that is a number", `{"id":"secret","sql":1}`},
		{"sql that is null", `{"id":"secret","sql":null}`},
		{"control character", "{\"id\":1,\"sql\":\"secret\x01\"}"},
		{"bad escape", `{"id":1,"sql":"secret \x"}`},
		{"short escape", `{"id":1,"sql":"secret \u12"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := keyfillRun(t, good+good+tt.line+"\n"+good, "explain", "--json", "--dialect", "mysql", "--config", config)
			if r.code != 1 || !strings.HasPrefix(r.errOut, "keyfill: line 3: ") {
				t.Errorf("exit code %d, standard error %q", r.code, r.errOut)
			}
			if strings.Contains(r.errOut, "secret") {
				t.Errorf("the error repeats the line: %q", r.errOut)
			}
			if n := strings.Count(r.out, "\n"); n != 2 {
				t.Errorf("%d answers before the error, want 2", n)
			}
		})
	}
}

// TestExplainLongLine is for the limit that bufio.Scanner would have.
func TestExplainLongLine(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	line := func(sql string) string { return `{"id":1,"sql":"` + sql + `"}` + "\n" }
	answers := explainJSON(t, "mysql", line("INSERT INTO orders (a) VALUES ('"+long+"')")+line("SELECT 1"))
	if len(answers) != 2 {
		t.Fatalf("%d answers, want 2", len(answers))
	}
	want := "INSERT INTO orders (a, `id`) VALUES ('" + long + "', 'KEY')"
	if got := withoutKeys(answers[0].SQL); got != want {
		t.Errorf("the long statement came out with %d bytes, want %d", len(got), len(want))
	}
}
