package numberformat_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
)

var update = flag.Bool("update", false, "write what the templates give into testdata/templates.txt")

// golden is the table of templates. A line has a template, what tells its numberings apart,
// and a text of it or an error, with two spaces or more between them.
var golden = filepath.Join("testdata", "templates.txt")

// numberingOf reads what tells numberings apart: a period, "fiscal", "value x" and "column x";
// and the bounds of texts: "max 16", and "of" with an alphabet.
func numberingOf(text string) (n numberformat.Numbering, b numberformat.Bounds) {
	n.Every = numberformat.Never
	for _, one := range strings.Split(text, ", ") {
		switch word, name, _ := strings.Cut(one, " "); word {
		case "fiscal":
			n.Fiscal = true
		case "value":
			n.Values = append(n.Values, name)
		case "column":
			n.Columns = append(n.Columns, name)
		case "max":
			b.MaxLength, _ = strconv.Atoi(name)
		case "of":
			b.Alphabet = name
		default:
			n.Every = numberformat.Every(word)
		}
	}
	return n, b
}

// parts returns what the texts in the golden table show.
func parts(n numberformat.Numbering) *numberformat.Parts {
	return &numberformat.Parts{
		Number: 42, Period: periodOf(n, 2026, time.February, 3), Schema: "shop", Table: "invoices",
		Values: map[string]string{"tenant": "acme"}, Columns: map[string]string{"branch": "north"},
	}
}

// periodOf returns the period of a day; years begin in April if they are fiscal. Where numbers
// never begin again, it is the day alone, which no text shows.
func periodOf(n numberformat.Numbering, year int, month time.Month, day int) calendar.Period {
	every, starts := calendar.Every(n.Every), ""
	if n.Every == numberformat.Never {
		every = calendar.Day
	}
	if n.Fiscal {
		starts = "04-01"
	}
	c, err := calendar.New(every, starts, "")
	if err != nil {
		return calendar.Period{} // of a period that is not known, for which there is no text
	}
	p, _ := c.On(year, month, day)
	return p
}

// judged returns the text of a template, or why it has none.
func judged(source, apart string) string {
	n, bounds := numberingOf(apart)
	t, err := numberformat.Parse(source)
	if err != nil {
		return "refused: " + err.Error()
	}
	if err := t.Determines(n); err != nil {
		return "refused: " + err.Error()
	}
	form, err := t.Within(bounds)
	if err != nil {
		return "refused: " + err.Error()
	}
	text, err := form.Text(parts(n))
	if err != nil {
		return "fails: " + err.Error()
	}
	if err := t.Apart(n); err != nil {
		return text + "  (alone: " + err.Error() + ")"
	}
	return text
}

// TestTemplates: each template of the golden table has the text or the error that stands
// there.
func TestTemplates(t *testing.T) {
	table, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	accepted, refused := 0, 0
	for _, line := range strings.Split(strings.TrimSuffix(string(table), "\n"), "\n") {
		cells := strings.SplitN(line, "  ", 3)
		if strings.HasPrefix(line, "#") || len(cells) < 2 {
			out.WriteString(line + "\n")
			continue
		}
		source, apart := cells[0], cells[1]
		got := judged(source, apart)
		if strings.HasPrefix(got, "refused") || strings.HasPrefix(got, "fails") {
			refused++
		} else {
			accepted++
		}
		row := source + "  " + apart + "  " + got
		if row != line && !*update {
			t.Errorf("got  %s\nwant %s", row, line)
		}
		out.WriteString(row + "\n")
	}
	if accepted < 30 || refused < 40 {
		t.Errorf("%d texts and %d errors, want 30 and 40 or more", accepted, refused)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// pieces are what random templates are made of.
var pieces = []string{
	"{year}", "{yy}", "{fy}", "{quarter}", "{month}", "{month:02}", "{day:02}", "{day}", "{table}", "{value:tenant}", "{value:other}", "{column:branch}", "{luhn}", "{mod97}", "-", "/", "A", "0", "1", "INV-", "é",
}

// showing are fields that show a period.
var showing = map[numberformat.Every][]string{
	numberformat.Year: {"{year}"}, numberformat.Quarter: {"{yy}", "{quarter}"},
	numberformat.Month: {"{year}", "{month:02}"}, numberformat.Day: {"{year}", "{month}", "{day:02}"},
}

// TestApart: no two numbers of the numberings of one column have one text, for any template
// that is not refused, and the number is read from its text.
func TestApart(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	tried := map[string]int{}
	for range 60_000 {
		n := numberformat.Numbering{
			Every:  numberformat.Every(pick("none", "day", "month", "quarter", "year")),
			Fiscal: random.IntN(2) == 0, Values: []string{"tenant", "other"}[:random.IntN(3)], Columns: []string{"branch"}[:random.IntN(2)],
		}
		all := append([]string{pick("{n}", "{n:04}", "{n:base32}")}, showing[n.Every]...)
		for range random.IntN(4) {
			all = append(all, pick(pieces...), pick("-", "/", "A", ""))
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		source := strings.Join(all, pick("", "", "-", "/"))
		template, err := numberformat.Parse(source)
		if err != nil || template.Determines(n) != nil || template.Apart(n) != nil {
			continue
		}
		tried[string(n.Every)]++
		texts := map[string]string{}
		for range 60 {
			p := &numberformat.Parts{Number: 1 + random.Int64N(130), Table: "invoices", Schema: "shop"}
			if random.IntN(4) == 0 {
				p.Number = 1 + random.Int64N(9000)
			}
			p.Values = map[string]string{"tenant": pick("a", "1", "a-1", "-", "A0", "9/", "10", "é"), "other": pick("1", "x-", "0")}
			p.Columns = map[string]string{"branch": pick("n", "2", "-n", "1/1", "20", "A")}
			p.Period = periodOf(n, 2020+random.IntN(12), time.Month(1+random.IntN(12)), 1+random.IntN(28))
			if n.Every == numberformat.Never {
				p.Period = calendar.Period{}
			}
			text, err := template.Text(p)
			if err != nil {
				continue
			}
			of := fmt.Sprintf("%d of %s", p.Number, p.Period.First.Format(time.DateOnly))
			for _, v := range n.Values {
				of += fmt.Sprintf(" %q", p.Values[v])
			}
			for _, c := range n.Columns {
				of += fmt.Sprintf(" %q", p.Columns[c])
			}
			if other, taken := texts[text]; taken && other != of {
				t.Fatalf("%s, %+v: %q is the text of %s and of %s", source, n, text, other, of)
			}
			texts[text] = of
			if number, _, isOne := template.Read(text); !isOne || number != p.Number {
				t.Fatalf("%s, %+v: %q, the text of %s, is read as %d, %t", source, n, text, of, number, isOne)
			}
		}
	}
	for _, every := range []string{"none", "day", "month", "quarter", "year"} {
		if tried[every] < 200 {
			t.Errorf("%d templates of the period %s were tried", tried[every], every)
		}
	}
}

// TestCheckDigits: published examples have the check digits that are written here, and these
// find each wrong digit and each swap of two digits side by side that they are made to find.
func TestCheckDigits(t *testing.T) {
	for _, c := range []struct{ template, want string }{
		{"7992739871{n:base32}{luhn}", ""},
		{"RF{n}{mod97}", ""},
	} {
		if _, err := numberformat.Parse(c.template); err != nil {
			t.Fatal(err)
		}
	}
	luhn, err := numberformat.Parse("{n}{luhn}")
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int64]string{7992739871: "79927398713", 401288888888188: "4012888888881881", 1: "18"} {
		if text, err := luhn.Text(&numberformat.Parts{Number: number}); err != nil || text != want {
			t.Errorf("%d: %s, %v, want %s", number, text, err, want)
		}
	}
	mod97, err := numberformat.Parse("{n}{mod97}")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		text, err := mod97.Text(&numberformat.Parts{Number: 1 + random.Int64N(1_000_000_000)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, isOne := mod97.Read(text); !isOne {
			t.Fatalf("%s is not read", text)
		}
		for i := range text {
			for d := byte('0'); d <= '9'; d++ {
				wrong := text[:i] + string(d) + text[i+1:]
				if _, _, isOne := mod97.Read(wrong); isOne && wrong != text {
					t.Fatalf("%s is taken for %s", wrong, text)
				}
			}
			if i > 0 && text[i] != text[i-1] {
				swapped := text[:i-1] + string(text[i]) + string(text[i-1]) + text[i+1:]
				if _, _, isOne := mod97.Read(swapped); isOne {
					t.Fatalf("%s is taken for %s", swapped, text)
				}
			}
		}
	}
}

// TestForm: which numbers have a text, how long the longest is, and as what the texts of one
// numbering are found in a column.
func TestForm(t *testing.T) {
	p := &numberformat.Parts{
		Period: periodOf(numberformat.Numbering{Every: numberformat.Year, Fiscal: true}, 2026, time.April, 1), Table: "t",
		Values: map[string]string{"a": "north"},
	}
	const most = 1<<63 - 2
	for _, c := range []struct {
		template string
		max      int
		last     int64
		longest  int
		texts    numberformat.Texts
	}{
		{"INV-{n:05}", 0, 99_999, 9, numberformat.Texts{Prefix: "INV-", Width: 5}},
		{"INV-{n:05}", 9, 99_999, 9, numberformat.Texts{Prefix: "INV-", Width: 5}},
		{"{n}", 0, most, 0, numberformat.Texts{}},
		{"{n}", 4, 9_999, 4, numberformat.Texts{}},
		{"{fy}/{n:06}", 16, 999_999, 14, numberformat.Texts{Prefix: "2026-27/", Width: 6}},
		{"{n}-{year}", 16, 99_999_999_999, 16, numberformat.Texts{Suffix: "-2026"}},
		{"{n:03}/{value:a}", 9, 999, 9, numberformat.Texts{Suffix: "/north"}},
		{"{value:a}/{n}", 9, 999, 9, numberformat.Texts{Prefix: "north/"}},
		{"{value:a}{n:05}", 9, 0, 9, numberformat.Texts{Prefix: "north", Width: 5}},
		{"{value:a}{n:base32}", 5, 0, 5, numberformat.Texts{Prefix: "north"}},
		{"K{n:base32}", 3, 1023, 3, numberformat.Texts{Prefix: "K"}},
		{"K{n:base32}", 30, most, 30, numberformat.Texts{Prefix: "K"}},
		{"A{n:05}{luhn}", 0, 99_999, 7, numberformat.Texts{Prefix: "A"}},
		{"A{n:05}/{luhn}/B", 0, 99_999, 10, numberformat.Texts{Prefix: "A", Suffix: "/B"}},
		{"№{n:03}", 4, 999, 4, numberformat.Texts{Prefix: "№", Width: 3}},
	} {
		parsed, err := numberformat.Parse(c.template)
		if err != nil {
			t.Fatal(err)
		}
		form, err := parsed.Within(numberformat.Bounds{MaxLength: c.max})
		if err != nil {
			t.Fatalf("%s: %v", c.template, err)
		}
		if got := form.Last(p); got != c.last {
			t.Errorf("%s of %d characters: the last number is %d, want %d", c.template, c.max, got, c.last)
		}
		if got := form.Longest(); got != c.longest {
			t.Errorf("%s of %d characters: the longest text has %d, want %d", c.template, c.max, got, c.longest)
		}
		if got := form.TextsOf(p); got != c.texts {
			t.Errorf("%s: %+v, want %+v", c.template, got, c.texts)
		}
		last := *p
		last.Number = form.Last(p)
		if _, err := form.Text(&last); err != nil && last.Number > 0 {
			t.Errorf("%s of %d characters: the last number, %d, has no text: %v", c.template, c.max, last.Number, err)
		}
		if last.Number++; last.Number < most {
			if text, err := form.Text(&last); err == nil {
				t.Errorf("%s of %d characters: %d has the text %s", c.template, c.max, last.Number, text)
			}
		}
	}
}

// TestExample: an explanation shows a number, and each field that depends on the execution
// as it is written.
func TestExample(t *testing.T) {
	for template, want := range map[string]string{
		"INV-{n:05}":                      "INV-00002",
		"{n}{luhn}":                       "26",
		"{year}-{value:tenant}/{n}{luhn}": "{year}-{value:tenant}/2{luhn}",
		"{{{table}}}{n:base32}":           "{{table}}2",
	} {
		parsed, err := numberformat.Parse(template)
		if err != nil {
			t.Fatal(err)
		}
		form, err := parsed.Within(numberformat.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if got := form.Example().Key(2, ""); got != want {
			t.Errorf("%s: %s, want %s", template, got, want)
		}
	}
}
