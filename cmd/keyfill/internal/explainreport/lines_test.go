package explainreport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
)

const ordersPolicy = "version: 1\ntables: {orders: {column: id}}\n"

func testExplainer(t testing.TB) explain.Explainer {
	t.Helper()
	return policyOf(t, ordersPolicy, dialect.MySQL()).explainer
}

// TestExplainBytes sends texts that are not UTF-8 there and back.
func TestExplainBytes(t *testing.T) {
	x := testExplainer(t)
	for _, tt := range []struct{ name, sql, want string }{
		{"raw bytes", "'\xff\xc3(' \xed\xa0", "'\xff\xc3(' \xed\xa0"},
		{"half of a pair", `\udcff \uD83D\u0041 \ud83d`, `\udcff \ud83dA \ud83d`},
		{"pair", `\ud83d\ude00`, "\U0001f600"},
		{"escapes", `\"\\\/\b\f\n\r\t\u0000\u00e9\u2028`, `\"\\/\u0008\u000c\n\r\t\u0000` + "é\u2028"},
		{"HTML", `<\u003e&`, "<>&"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			in := strings.NewReader(`{"id":1,"sql":"SELECT ` + tt.sql + `"}`)
			if err := answerLines(x, in, &out); err != nil {
				t.Fatal(err)
			}
			if want := `"sql":"SELECT ` + tt.want + `",`; !strings.Contains(out.String(), want) {
				t.Errorf("got %q, want %q in it", out.String(), want)
			}
		})
	}
}

// TestAnswerIsExplanation compares with what encoding/json makes of the type.
func TestAnswerIsExplanation(t *testing.T) {
	for _, ex := range []explain.Explanation{
		{Slots: []explain.Slot{}},
		{
			Action: "fill", SQL: "a\"\\\n\x00<é", Table: "t\t", Column: "c", Rows: new(3),
			Slots:   []explain.Slot{{Arg: 1, Row: 2}, {Arg: 3, Row: 4, Statement: 5, Column: "d"}},
			Literal: true, Reason: "r", Offset: 6,
		},
	} {
		var plain bytes.Buffer
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if err := e.Encode(ex); err != nil {
			t.Fatal(err)
		}
		want := `{"id":7,` + strings.TrimPrefix(plain.String(), "{")
		if got := string(appendAnswer(nil, json.RawMessage("7"), &ex)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestExplainInTurn answers a line before the next one comes.
func TestExplainInTurn(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := answerLines(testExplainer(t), requests, answers)
		done <- err
		answers.CloseWithError(io.EOF)
	}()
	answer := make([]byte, 1<<10)
	for range 3 {
		if _, err := io.WriteString(in, `{"id":1,"sql":"SELECT 1"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(answer); err != nil || answer[n-1] != '\n' {
			t.Fatalf("answer %q, %v", answer[:n], err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// FuzzJSONString checks the two functions against each other and, for texts
// that it reads alike, against encoding/json.
func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x7f", "é\u2028\U0001f600", "\xff\xc3(\xed\xa0", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := appendJSONString(nil, s)
		if !json.Valid(quoted) {
			t.Fatalf("appendJSONString(%q) = %q, which is not JSON", s, quoted)
		}
		var plain string
		if err := json.Unmarshal(quoted, &plain); err != nil {
			t.Fatal(err)
		}
		if strings.ToValidUTF8(s, "") == s && plain != s {
			t.Errorf("encoding/json reads %q as %q, want %q", quoted, plain, s)
		}
		// Two halves of a pair, each encoded alone, come back as the pair.
		if got := jsonUnquote(quoted); got != s && !strings.Contains(s, "\xed") {
			t.Errorf("jsonUnquote(%q) = %q, want %q", quoted, got, s)
		}
	})
}

// BenchmarkExplain explains statements that are all different, so that no plan
// is found in the cache.
func BenchmarkExplain(b *testing.B) {
	for _, bb := range []struct{ name, sql string }{
		{"placeholders", "INSERT INTO orders (customer, total, note_%d) VALUES (?, ?, ?)"},
		{"literal", "INSERT INTO orders (customer, total, note) VALUES ('Ada', 7, 'number %d')"},
		{"refuse", "INSERT INTO orders (customer, total) SELECT name, %d FROM prospects"},
		{"pass", "SELECT customer, total FROM orders WHERE id = %d"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			const n = 200_000
			var lines strings.Builder
			for i := range n {
				fmt.Fprintf(&lines, `{"id":%d,"sql":"`+bb.sql+`"}`+"\n", i, i)
			}
			for b.Loop() {
				if err := answerLines(testExplainer(b), strings.NewReader(lines.String()), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "statements/s")
		})
	}
}
