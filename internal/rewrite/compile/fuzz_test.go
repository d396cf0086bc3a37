package compile_test

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
	"github.com/keyfill/keyfill/rewrite"
)

// addSeeds adds every golden query in each of its dialects.
func addSeeds(f *testing.F, add func(dialect uint8, query string)) {
	all := dialect.All()
	for _, a := range archives(f) {
		for _, c := range a.cases {
			for _, d := range c.dialects {
				add(uint8(slices.Index(all, d)), c.in)
			}
		}
	}
}

// fuzzDialect returns the dialect that a fuzzed byte stands for.
func fuzzDialect(b uint8) *dialect.Dialect {
	all := dialect.All()
	return all[int(b)%len(all)]
}

// fuzzLookup configures most names that the seeds have.
func fuzzLookup(d *dialect.Dialect) plans.Lookup {
	targets := map[string]*plans.Target{}
	for _, text := range []string{
		"orders key=id:integer fill=missing,null,default,zero",
		"customers key=id columns=name,id,email,note",
		"receipts key=id:integer columns=id,customer,total,note",
		"parts key=line_no:integer key=id columns=id,item,line_no",
		"order key=values:integer columns=values,select",
		"links key=code fill=missing",
		"pallets key=line:integer scope=id key=code columns=id,line,item,code fill=missing,null,default,zero",
		"stock key=id:integer scope=shop,item",
	} {
		t, err := parseTarget(d, text)
		if err != nil {
			panic(err)
		}
		for i := range t.Keys {
			t.Keys[i].Session = t.Keys[i].Integer
		}
		targets[d.Fold(t.Table, false)] = t
	}
	return func(_, table string) *plans.Target { return targets[table] }
}

// FuzzScan checks that the tokens of any text are the text.
func FuzzScan(f *testing.F) {
	addSeeds(f, func(b uint8, q string) { f.Add(q) })
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialect.All() {
			at := 0
			for _, tok := range compile.Tokens(d, text) {
				if tok.Start != at || tok.End <= tok.Start {
					t.Fatalf("%s: Tokens(%q): [%d, %d) follows %d", d.Name, text, tok.Start, tok.End, at)
				}
				if at = tok.End; tok.Kind == compile.KindError && at != len(text) {
					t.Fatalf("%s: Tokens(%q): the error token ends at %d", d.Name, text, at)
				}
			}
			if at != len(text) {
				t.Fatalf("%s: Tokens(%q) end at %d, want %d", d.Name, text, at, len(text))
			}
		}
	})
}

// FuzzCompile checks that a plan changes nothing but what it says, and that its
// text is one whose INSERT brings its own keys.
func FuzzCompile(f *testing.F) {
	addSeeds(f, func(b uint8, q string) { f.Add(b, q) })
	f.Fuzz(func(t *testing.T, b uint8, query string) {
		d := fuzzDialect(b)
		p := compile.Query(d, fuzzLookup(d), query)
		if p.Action != plans.Pass && words.Concerns(d, query)&words.ConcernsInsert == 0 {
			t.Fatalf("%s: Concerns(%q) has no ConcernsInsert, but the plan is to %s", d.Name, query, p.Action)
		}
		if p.Action == plans.Refuse {
			if r := p.Refusal; r.Offset < 0 || r.Offset > len(query) {
				t.Fatalf("%s: Compile(%q): the refusal is at byte %d", d.Name, query, r.Offset)
			}
			return
		}
		if p.Load {
			checkLoad(t, d, p, query)
			return
		}
		checkEdits(t, d, p, query)
		checkPlaces(t, d, p, query)
		checkSession(t, d, p, query)
		if p.Action == plans.Fill || p.AtExecution {
			checkAgain(t, d, p, query)
		}
	})
}

// checkAgain checks that nothing is left to do in the texts of a plan, if the query
// may be SQL at all: what its brackets enclose is read by more than one rule, and
// these agree only where the brackets are what they are to the engines.
func checkAgain(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	if !bracketsMatch(d, query) {
		return
	}
	if r := p.Unbound(); r != "" && r != rewrite.ErrTooMany {
		checkInlined(t, d, p, query)
		return // nobody sends the other text
	}
	again := compile.Query(d, fuzzLookup(d), bind.Text(p, false))
	if r := again.Refusal; r != nil && (r.Reason == rewrite.ErrColumnCount || r.Reason == rewrite.ErrMultiTable) {
		return // the query had more or fewer values than columns already
	}
	if again.Action != plans.Keep || bind.Text(again, false) != bind.Text(p, false) {
		t.Fatalf("%s: Compile(%q) = %q, which again is to %s, %q (%v)", d.Name, query, bind.Text(p, false), again.Action, bind.Text(again, false), again.Refusal)
	}
	// The key of a MERGE is a column of its source.
	merge := strings.Contains(strings.ToLower(query), "merge")
	// A variable that the text declares may have the name of the placeholder that
	// is added, which the engine refuses.
	declares := d.Params.AtNumber && strings.Contains(strings.ToLower(query), "declare")
	if want := boundKeys(p); again.AtExecution != want && !merge && !declares {
		t.Fatalf("%s: Compile(%q) = %q, which again is decided at execution: %v, want %v", d.Name, query, bind.Text(p, false), again.AtExecution, want)
	}
	checkInlined(t, d, p, query)
}

// bracketsMatch reports whether each bracket of a text is closed by one of its kind,
// in the same statement.
func bracketsMatch(d *dialect.Dialect, text string) bool {
	var open []byte
	for _, tok := range compile.Tokens(d, text) {
		if tok.Kind != compile.KindPunct {
			continue
		}
		switch c := text[tok.Start]; c {
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) == 0 || !strings.Contains("() [] {}", string([]byte{open[len(open)-1], c})) {
				return false
			}
			open = open[:len(open)-1]
		case ';':
			if len(open) > 0 {
				return false
			}
		}
	}
	return len(open) == 0
}

// boundKeys reports whether the bound text has a placeholder in the place of a
// key that the policy fills when it is NULL or zero.
func boundKeys(p *plans.Plan) bool {
	for _, place := range bind.Places(p, false) {
		in := &p.Inserts[place.Insert]
		k := &in.Target.Keys[place.Key]
		if in.Query == nil && !in.Selects && !compile.InCase(p, place) && (k.Fill&(plans.FillNull|plans.FillZero) != 0 || k.Follow) {
			return true
		}
	}
	return p.AtExecution
}

// checkInlined checks that nothing is left to do in the text with literals.
func checkInlined(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	h := bind.AssumedHoles(p)
	text := bind.InlineAssumed(p, h, testKeys(p, h), false)
	inlined := compile.Query(d, fuzzLookup(d), text)
	if r := inlined.Refusal; r != nil && r.Reason == rewrite.ErrColumnCount {
		return
	}
	if inlined.Action != plans.Keep || inlined.AtExecution != p.AtExecution {
		t.Fatalf("%s: Compile(%q) inlined is %q, which again is to %s (%v)", d.Name, query, text, inlined.Action, inlined.Refusal)
	}
}

// checkEdits checks that the bound text is the query but for the edits, token
// by token.
func checkEdits(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	out := bind.Text(p, false)
	tokens := map[int]compile.Token{} // of the bound text, by where they start
	params := 0
	for _, tok := range compile.Tokens(d, out) {
		tokens[tok.Start] = tok
		if tok.Kind == compile.KindParam {
			params++
		}
	}
	for _, tok := range compile.Tokens(d, query) {
		if tok.Kind == compile.KindParam {
			params--
		}
	}
	replaced := 0
	for _, s := range compile.SlotsOf(p) {
		if s.Shared {
			replaced++
		}
	}
	if params+replaced != bind.Added(p, false) && !(p.Load && params == 0) {
		t.Fatalf("%s: Compile(%q) = %q has %d placeholders more, want %d - %d", d.Name, query, out, params, bind.Added(p, false), replaced)
	}
	edits := compile.EditsOf(p)
	shift, at, undone := 0, 0, ""
	for _, tok := range compile.Tokens(d, query) {
		for len(edits) > 0 && edits[0].Start <= tok.Start && edits[0].End <= tok.Start {
			e := edits[0]
			if e.Start < at || out[e.Start+shift:e.Start+shift+len(e.Text)] != e.Text {
				t.Fatalf("%s: Compile(%q) = %q: edit %+v is not there", d.Name, query, out, e)
			}
			shift += len(e.Text) - (e.End - e.Start)
			at = e.End
			edits = edits[1:]
		}
		if len(edits) > 0 && edits[0].Start <= tok.Start && tok.End <= edits[0].End {
			if tok.Kind == compile.KindComment {
				t.Fatalf("%s: Compile(%q): edit %+v takes a comment out", d.Name, query, edits[0])
			}
			undone += query[tok.Start:tok.End]
			continue // replaced
		}
		if len(edits) > 0 && edits[0].Start < tok.End {
			t.Fatalf("%s: Compile(%q): edit %+v cuts token %+v", d.Name, query, edits[0], tok)
		}
		got := tokens[tok.Start+shift]
		// Where a word goes, the white space around it becomes one token.
		if tok.Kind != compile.KindSpace && (got.Kind != tok.Kind || got.End != tok.End+shift) {
			t.Fatalf("%s: Compile(%q) = %q: token %+v became %+v", d.Name, query, out, tok, got)
		}
		undone += out[tok.Start+shift : tok.End+shift]
	}
	if undone != query {
		t.Fatalf("%s: Compile(%q) = %q, undone %q", d.Name, query, out, undone)
	}
}

// checkPlaces checks that every place is an argument of its own.
func checkPlaces(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string) {
	t.Helper()
	seen := map[int]bool{}
	for _, place := range bind.Places(p, false) {
		if place.Arg < 1 || place.Arg > p.Placeholders()+bind.Added(p, false) || seen[place.Arg] {
			t.Fatalf("%s: Places of %q: %+v", d.Name, query, bind.Places(p, false))
		}
		seen[place.Arg] = true
	}
}

// FuzzBind checks that every placeholder of the bound text gets the value that
// is meant for it, by asking as the drivers do.
func FuzzBind(f *testing.F) {
	addSeeds(f, func(b uint8, q string) { f.Add(b, q, []byte{0, 1, 2}) })
	f.Fuzz(func(t *testing.T, b uint8, query string, choice []byte) {
		d := fuzzDialect(b)
		p := compile.Query(d, fuzzLookup(d), query)
		if p.Action != plans.Fill && !p.AtExecution || p.TooMany() {
			return
		}
		if d.Params.AtNumber && strings.Contains(strings.ToLower(query), "declare") {
			return // variables look like placeholders
		}
		for _, text := range placeholdersOf(d, query) {
			if strings.Trim(strings.ToLower(text), "?$@p0") == "" && len(text) > 1 {
				return // $0 asks for no argument that there can be
			}
		}
		for _, named := range []bool{false, true} {
			args := fuzzArgs(d, query, choice, named)
			h, err := bind.FindHoles(p, args)
			if err != nil {
				continue
			}
			checkBind(t, d, p, query, args, h)
			checkScopes(t, d, p, query, args, h)
		}
	})
}

// checkScopes checks that every key that is numbered within other columns gets a
// value for each of them, one that stands in the text or among the arguments.
func checkScopes(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string, args []driver.NamedValue, h bind.Holes) {
	t.Helper()
	for i, draw := range p.Draws {
		in := &p.Inserts[draw.Insert]
		columns := in.Target.Keys[draw.Key].Scope
		if columns == nil || in.Explained {
			continue
		}
		rows, err := bind.Scopes(p, args, h, draw.Insert, draw.Key)
		if err != nil || len(rows) != h.Counts[i] {
			t.Fatalf("%s: Scopes of %q with %v: %v, %v, want %d rows", d.Name, query, args, rows, err, h.Counts[i])
		}
		for _, row := range rows {
			if len(row) != len(columns) {
				t.Fatalf("%s: Scopes of %q: a row has %v, want values of %v", d.Name, query, row, columns)
			}
			for _, v := range row {
				given := slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Value == v })
				text := strings.ReplaceAll(fmt.Sprint(v), "'", "''")
				if digits := strings.TrimPrefix(text, "-"); v == nil || !given && !strings.Contains(query, digits) {
					t.Fatalf("%s: Scopes of %q with %v: %v is nowhere", d.Name, query, args, v)
				}
			}
		}
	}
}

// fuzzArgs returns an argument for each placeholder of the query: a value of
// its own, or now and then one that is no key.
func fuzzArgs(d *dialect.Dialect, query string, choice []byte, named bool) []driver.NamedValue {
	var args []driver.NamedValue
	add := func(name string) {
		n := len(args)
		a := driver.NamedValue{Ordinal: n + 1, Name: name, Value: fmt.Sprintf("argument %d", n+1)}
		if len(choice) > 0 {
			switch choice[n%len(choice)] % 4 {
			case 0:
				a.Value = nil
			case 1:
				a.Value = int64(0)
			}
		}
		args = append(args, a)
	}
	names, highest := map[string]bool{}, 0
	placeholders := placeholdersOf(d, query)
	for _, text := range placeholders {
		if id := scan.Identity(d, text); named && !names[id] {
			names[id] = true
			add(strings.Trim(text[1:], `"`))
		}
		highest = max(highest, numberOf(d, text))
	}
	switch {
	case named:
		return args
	case highest == 0 || d.Params.ByPosition:
		highest = len(placeholders)
	}
	for range min(highest, 1000) {
		add("")
	}
	return args
}

// placeholdersOf returns the placeholders of a text.
func placeholdersOf(d *dialect.Dialect, text string) []string {
	var all []string
	for _, tok := range compile.Tokens(d, text) {
		if tok.Kind == compile.KindParam {
			all = append(all, text[tok.Start:tok.End])
		}
	}
	return all
}

// numberOf returns the number in ?7, $7 and @p7, 0 for other placeholders.
func numberOf(d *dialect.Dialect, text string) int {
	digits := strings.TrimLeft(text[1:], "0")
	if d.Params.AtNumber {
		if len(text) < 3 || text[1]|0x20 != 'p' {
			return 0
		}
		digits = strings.TrimLeft(text[2:], "0")
	}
	if text[0] == ':' || text[0] == '@' && !d.Params.AtNumber {
		return 0
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// resolve returns the value of each placeholder of a text, as the drivers find
// it: by name, by number, or by place.
func resolve(d *dialect.Dialect, text string, args []driver.NamedValue) []driver.Value {
	var values []driver.Value
	for i, ph := range placeholdersOf(d, text) {
		n := numberOf(d, ph)
		switch {
		case len(args) > 0 && args[0].Name != "":
			id := scan.Identity(d, ph)
			i = slices.IndexFunc(args, func(a driver.NamedValue) bool {
				return scan.Identity(d, ":"+a.Name) == id
			})
		case n > 0 && !d.Params.ByPosition:
			i = slices.IndexFunc(args, func(a driver.NamedValue) bool { return a.Ordinal == n })
		}
		if i < 0 || i >= len(args) {
			values = append(values, fmt.Sprintf("no argument for %s", ph))
			continue
		}
		values = append(values, args[i].Value)
	}
	return values
}

// byFirstUse returns the value of each placeholder where a driver numbers names
// by their first use.
func byFirstUse(d *dialect.Dialect, text string, args []driver.NamedValue) []driver.Value {
	var values []driver.Value
	index := map[string]int{}
	for _, ph := range placeholdersOf(d, text) {
		id := scan.Identity(d, ph)
		if _, ok := index[id]; !ok {
			index[id] = len(index)
		}
		if index[id] >= len(args) {
			return nil
		}
		values = append(values, args[index[id]].Value)
	}
	return values
}

// checkBind binds keys that are known again and reads the bound text's
// placeholders back.
func checkBind(t *testing.T, d *dialect.Dialect, p *plans.Plan, query string, args []driver.NamedValue, h bind.Holes) {
	t.Helper()
	keys := make([][]driver.Value, len(p.Draws))
	for i := range keys {
		for n := range h.Counts[i] {
			keys[i] = append(keys[i], fmt.Sprintf("key-%d-%d", i, n))
		}
	}
	before := slices.Clone(args)
	out := bind.Arguments(p, args, h, keys, false)
	if !slices.Equal(before, args) {
		t.Fatalf("%s: Bind(%q) wrote the caller's arguments: %v, were %v", d.Name, query, args, before)
	}
	for i, a := range out {
		if a.Ordinal != i+1 {
			t.Fatalf("%s: Bind(%q): argument %d has ordinal %d", d.Name, query, i, a.Ordinal)
		}
	}
	want := wanted(d, p, query, args, h, keys)
	if got := resolve(d, bind.Text(p, false), out); !slices.Equal(got, want) {
		t.Fatalf("%s: Bind(%q) = %q with %v: the placeholders get %v, want %v", d.Name, query, bind.Text(p, false), out, got, want)
	}
	named := len(args) > 0 && args[0].Name != ""
	if d.Params.FirstUse && !named && strings.HasPrefix(strings.Join(placeholdersOf(d, query), ""), "$") &&
		slices.Equal(byFirstUse(d, query, args), resolve(d, query, args)) {
		if got := byFirstUse(d, bind.Text(p, false), out); !slices.Equal(got, want) {
			t.Fatalf("%s: Bind(%q) = %q with %v: by first use the placeholders get %v, want %v", d.Name, query, bind.Text(p, false), out, got, want)
		}
	}
}

// wanted returns the values that the placeholders of the bound text shall get:
// the caller's, and the keys in their places.
func wanted(d *dialect.Dialect, p *plans.Plan, query string, args []driver.NamedValue, h bind.Holes, keys [][]driver.Value) []driver.Value {
	callers := resolve(d, query, args)
	used := make([]int, len(keys))
	var want []driver.Value
	next := 0 // the caller's next placeholder
	for i, s := range compile.SlotsOf(p) {
		want = append(want, callers[next:s.Placeholder]...)
		next = s.Placeholder
		value := driver.Value(nil)
		if s.Own || s.Shared {
			value = callers[next]
			next++
		}
		if compile.Taken(h, i) {
			value = keys[s.Draw][used[s.Draw]]
			used[s.Draw]++
		}
		want = append(want, value)
	}
	return append(want, callers[next:]...)
}
