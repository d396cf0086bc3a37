package main

import (
	"strings"
	"testing"
)

// The instant and the random bits of all keys here, as the layouts place them.
const (
	vectorTime   = "2012-06-02T00:11:11.814Z"
	vectorRandom = "4ed540122e27653a9d13"
	v7Random     = "ed500122e27653a9d13"
)

func TestInspect(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  string
		want string // the first reading
	}{
		{"comb, string", "39babcb4-e446-4ed5-4012-2e27653a9d13", "comb string dotnet " + vectorTime + " " + vectorRandom},
		{"comb, binary", "39babcb4e4464ed540122e27653a9d13", "comb binary dotnet " + vectorTime + " " + vectorRandom},
		{"comb, binary as .NET shows it", "b4bcba39-46e4-d54e-4012-2e27653a9d13", "comb binary dotnet " + vectorTime + " " + vectorRandom},
		{"comb, sequential_at_end", "1240d54e-272e-3a65-9d13-39babcb4e446", "comb sequential_at_end dotnet " + vectorTime + " " + vectorRandom},
		{"comb, sequential_at_end as stored", "0x4ed540122e27653a9d1339babcb4e446", "comb sequential_at_end dotnet " + vectorTime + " " + vectorRandom},
		{"comb, unix", "0137aa88-0c46-4ed5-4012-2e27653a9d13", "comb string unix " + vectorTime + " " + vectorRandom},
		{"uuidv7", "0137aa88-0c46-7ed5-8012-2e27653a9d13", "uuidv7 string - " + vectorTime + " " + v7Random},
		{"uuidv7, binary", "0137aa880c467ed580122e27653a9d13", "uuidv7 binary - " + vectorTime + " " + v7Random},
		{"uuidv7 in SQL Server", "139d3a65-272e-1280-7ed5-0137aa880c46", "uuidv7 sequential_at_end - " + vectorTime + " " + v7Random},
		{"uuidv7 in SQL Server as stored", "0x653a9d132e2780127ed50137aa880c46", "uuidv7 sequential_at_end - " + vectorTime + " " + v7Random},
		{"uuidv7 of RFC 9562", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuidv7 string - 2022-02-22T19:22:22.000Z cc318c4dc0c0c07398f"},
		{"uuidv4 of RFC 9562", "919108f7-52d1-4320-9bac-f847db4148a8", "uuidv4 string - - 919108f752d13201bacf847db4148a8"},
		{"ulid", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid string - 2016-07-30T23:54:10.259Z d6764c61efb99302bd5b"},
		{"integer", "42045358", "integer - - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.Split(keyfillOut(t, "", "inspect", tt.key), "\n")
			if len(lines) < 4 || lines[0] != tt.key {
				t.Fatalf("got %q", lines)
			}
			if header := strings.Join(strings.Fields(lines[1]), " "); header != "KIND LAYOUT EPOCH TIME RANDOM" {
				t.Errorf("header %q", header)
			}
			if got := strings.Join(strings.Fields(lines[2]), " "); got != tt.want {
				t.Errorf("first reading %q, want %q", got, tt.want)
			}
		})
	}
}

// TestInspectTable is one output in full: two readings, the surer one first,
// and a second key.
func TestInspectTable(t *testing.T) {
	got := keyfillOut(t, "", "inspect", "39babcb4-e446-4ed5-8012-2e27653a9d13", "7")
	want := `39babcb4-e446-4ed5-8012-2e27653a9d13
  KIND    LAYOUT  EPOCH   TIME                      RANDOM
  uuidv4  string  -       -                         39babcb4e446ed500122e27653a9d13
  comb    string  dotnet  2012-06-02T00:11:11.814Z  4ed580122e27653a9d13

7
  KIND     LAYOUT  EPOCH  TIME  RANDOM
  integer  -       -      -     -
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInspectJSON(t *testing.T) {
	got := keyfillOut(t, "", "inspect", "--json", "--", "39babcb4-e446-4ed5-8012-2e27653a9d13", "-7")
	want := `{"key":"39babcb4-e446-4ed5-8012-2e27653a9d13","readings":[` +
		`{"kind":"uuidv4","layout":"string","random":"39babcb4e446ed500122e27653a9d13"},` +
		`{"kind":"comb","layout":"string","epoch":"dotnet","time":"2012-06-02T00:11:11.814Z","random":"4ed580122e27653a9d13"}]}
{"key":"-7","readings":[{"kind":"integer"}]}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestInspectSnowflake reads back worker and number, of both kinds of bits, where
// a worker's number 0 is one.
func TestInspectSnowflake(t *testing.T) {
	for _, tt := range []struct{ key, table, json string }{
		{
			"529448671645814791", // 126,230,400,001 ms, worker 5, sequence 7
			"  snowflake  63    2024-01-01T00:00:00.001Z  5       7",
			`{"kind":"snowflake","time":"2024-01-01T00:00:00.001Z","bits":63,"worker":5,"sequence":7}`,
		},
		{
			"661810839552003", // 1,262,304,000 tenths of a second, worker 0, sequence 3
			"  snowflake  53    2024-01-01T00:00:00.000Z  0       3",
			`{"kind":"snowflake","time":"2024-01-01T00:00:00.000Z","bits":53,"worker":0,"sequence":3}`,
		},
	} {
		want := tt.key + "\n  KIND       BITS  TIME                      WORKER  SEQUENCE\n" + tt.table +
			"\n  integer    -     -                         -       -\n"
		if got := keyfillOut(t, "", "inspect", tt.key); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		want = `{"key":"` + tt.key + `","readings":[` + tt.json + `,{"kind":"integer"}]}` + "\n"
		if got := keyfillOut(t, "", "inspect", "--json", tt.key); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestInspectComposite reads spread, time and counter.
func TestInspectComposite(t *testing.T) {
	for _, tt := range []struct{ key, table, json string }{
		{
			"12519940411145439533", // of the article
			"  composite  20      1994-04-11T14:54:39.533Z  125     -\n",
			`{"kind":"composite","layout":"string","time":"1994-04-11T14:54:39.533Z","length":20,"spread":125}`,
		},
		{
			"000202606021200001230000",
			"  composite  24      2026-06-02T12:00:00.123Z  0       0\n",
			`{"kind":"composite","layout":"string","time":"2026-06-02T12:00:00.123Z","length":24,"spread":0,"counter":0}`,
		},
	} {
		want := tt.key + "\n  KIND       LENGTH  TIME                      SPREAD  COUNTER\n" + tt.table
		if got := keyfillOut(t, "", "inspect", tt.key); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		want = `{"key":"` + tt.key + `","readings":[` + tt.json + "]}\n"
		if got := keyfillOut(t, "", "inspect", "--json", tt.key); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestInspectMapped reads the keys of kinds that have no marks, whose parameters
// are given.
func TestInspectMapped(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--kind", "coprime", "--length", "6", "--alphabet", "base62", "--k", "202652143553", "yMcpIs"},
			"yMcpIs\n  KIND     NUMBER\n  coprime  200\n"},
		{[]string{"--kind", "coprime", "--length", "2", "--alphabet", "base62", "--grow", "000"},
			"000\n  KIND     NUMBER\n  coprime  242172\n"},
		{[]string{"--kind", "pseudorandom", "33614"}, "33614\n  KIND          NUMBER\n  pseudorandom  2\n"},
		{[]string{"--kind", "scatter", "--key", "orders", "1112639146214192612"},
			"1112639146214192612\n  KIND     NUMBER\n  scatter  1\n"},
		{[]string{"--kind", "scatter", "--key", "a", "--bits", "31", "--json", "106702569"},
			`{"key":"106702569","readings":[{"kind":"scatter","number":2}]}` + "\n"},
	} {
		if got := keyfillOut(t, "", append([]string{"inspect"}, tt.args...)...); got != tt.want {
			t.Errorf("keyfill inspect %q\n got %q\nwant %q", tt.args, got, tt.want)
		}
	}
	for _, args := range [][]string{
		{"--kind", "sequence", "1"},
		{"--kind", "Coprime", "--length", "6", "abcdef"},
		{"--length", "6", "abcdef"},
		{"--bits", "31", "42"},
		{"--kind", "coprime", "abcdef"},
		{"--kind", "coprime", "--length", "6", "--k", "2", "abcdef"},
		{"--kind", "coprime", "--length", "6", "--key", "orders", "abcdef"},
		{"--kind", "pseudorandom", "--start", "6", "42"},
		{"--kind", "scatter", "42"},
		{"--kind", "scatter", "--key", "a", "--bits", "62", "42"},
	} {
		if r := keyfillRun(t, "", append([]string{"inspect"}, args...)...); r.code != 2 || r.out != "" {
			t.Errorf("keyfill inspect %q: exit code %d, standard output %q", args, r.code, r.out)
		}
	}
	r := keyfillRun(t, "", "inspect", "--kind", "coprime", "--length", "6", "SECRET", "abcdef")
	if r.code != 1 || !strings.Contains(r.errOut, "argument 1: ") || strings.Contains(r.errOut, "SECRET") ||
		!strings.HasPrefix(r.out, "abcdef\n") {
		t.Errorf("a text that is no key: exit code %d, %q, %q", r.code, r.out, r.errOut)
	}
}

// TestInspectNoKey prints the keys that are some, and does not repeat the text
// that is none.
func TestInspectNoKey(t *testing.T) {
	for _, args := range [][]string{{"inspect", "42", "secret", "43", ""}, {"inspect", "--json", "42", "secret", "43", ""}} {
		r := keyfillRun(t, "", args...)
		if r.code != 1 || strings.Count(r.out, "integer") != 2 {
			t.Errorf("keyfill %q: exit code %d, standard output %q", args, r.code, r.out)
		}
		if !strings.Contains(r.errOut, "argument 2: ") || !strings.Contains(r.errOut, "argument 4: ") || strings.Contains(r.errOut, "secret") {
			t.Errorf("keyfill %q: standard error %q", args, r.errOut)
		}
	}
}

// TestInspectNumbers: by the policy the text of a number has a state, a period and a number.
func TestInspectNumbers(t *testing.T) {
	file := writeFile(t, "keyfill.yaml", `version: 1
dialect: postgres
tables:
  invoices: {column: number, source: {kind: sequence, transaction: joined, format: "INV-{fy}/Q{quarter}-{n:05}", period: {every: quarter, starts: 04-01, column: d}}}
  tickets: {column: number, source: {kind: sequence, transaction: joined, name: "t-{value:shop}", format: "{value:shop}/{column:desk}-{n:base32}-{luhn}", scope: [{column: desk, type: text}]}}
`)
	for line, want := range map[string]string{
		"invoices INV-2026-27/Q4-00042": "INV-2026-27/Q4-00042\n  KIND      STATE            PERIOD   COLUMNS  NUMBER\n  sequence  invoices.number  2026-Q4  -        42\n",
		"tickets north/A-1Z-7":          "",
		"--json tickets north/A-13-3":   `{"key":"north/A-13-3","readings":[{"kind":"sequence","number":35,"state":"t-north","columns":{"desk":"A"}}]}` + "\n",
	} {
		r := keyfillRun(t, "", append([]string{"inspect", "--config", file}, strings.Fields(line)...)...)
		if r.out != want || (want == "") != strings.Contains(r.errOut, "has another form than") {
			t.Errorf("inspect %s:\n%s%s, want\n%s", line, r.out, r.errOut, want)
		}
	}
}
