package keyfill_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// errorText is the text of an error, as the source of a function or a variable has it.
type errorText struct {
	place    string // file:line
	folder   string
	text     string // with verbs for what is put into it
	sentinel string // the name of the exported variable that holds it; may be empty
}

// textCalls are the functions and methods whose first literal text becomes an error.
var textCalls = map[string]bool{
	"errors.New": true, "fmt.Errorf": true, // of the standard library
	"anchor.New": true, "anchor.Newf": true, "anchor.Last": true, "anchor.Errorf": true, "anchor.Lastf": true, "anchor.Endf": true, // after the section, except the last
	"wrong": true, "needless": true, "wrongField": true, "misread": true, "misreadField": true, // of policy
	"fail": true, "Fail": true, "refuse": true, "failf": true, "usage.Errorf": true, // of the stores, the catalog and the command
}

// textFields are the fields of errors that hold a part of their text.
var textFields = map[string]bool{"Msg": true, "Detail": true, "fault": true}

// errorTexts returns the texts of all errors that the code of the repository makes, as
// far as they are written where the error is made.
func errorTexts(t *testing.T) []errorText {
	t.Helper()
	own, nested := goFiles(t)
	var all []errorText
	for _, file := range slices.Concat(own, nested) {
		if file.test || strings.HasPrefix(file.folder+"/", "e2e/") {
			continue
		}
		name := path.Join(file.folder, file.name)
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.FromSlash(name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			continue // the texts are another project's
		}
		c := &textCollector{set: set, name: name, folder: file.folder}
		ast.Inspect(parsed, c.visit)
		all = append(all, c.texts...)
	}
	return all
}

// textCollector collects the texts of one file.
type textCollector struct {
	set          *token.FileSet
	name, folder string
	texts        []errorText
	sentinels    map[ast.Expr]string // the names of exported variables by their values
}

func (c *textCollector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, value := range n.Values {
			if i < len(n.Names) && n.Names[i].IsExported() {
				if c.sentinels == nil {
					c.sentinels = map[ast.Expr]string{}
				}
				c.sentinels[value] = n.Names[i].Name
			}
		}
	case *ast.CallExpr:
		if called := calledName(n.Fun); textCalls[called] {
			args := n.Args
			if strings.HasPrefix(called, "anchor.") && called != "anchor.Endf" {
				args = args[1:]
			}
			for _, arg := range args {
				if text, ok := literalText(arg); ok {
					c.add(arg, text, c.sentinels[n])
					break
				}
			}
		}
	case *ast.ReturnStmt:
		// Messages that their caller makes an error of.
		if c.folder == "policy" || c.folder == "internal/catalog" {
			for _, result := range n.Results {
				if text, ok := formatText(result); ok && severalWords.MatchString(text) {
					c.add(result, text, "")
				}
			}
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && textFields[key.Name] {
			c.addValue(n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if field, ok := left.(*ast.SelectorExpr); ok && textFields[field.Sel.Name] && i < len(n.Rhs) {
				c.addValue(n.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		// The texts of the reasons for a refusal.
		if m, ok := n.Type.(*ast.MapType); ok {
			if key, ok := m.Key.(*ast.Ident); ok && key.Name == "Reason" {
				for _, e := range n.Elts {
					c.addValue(e.(*ast.KeyValueExpr).Value)
				}
			}
		}
	}
	return true
}

// severalWords is a text of several words in lower case.
var severalWords = regexp.MustCompile(`[a-z] [a-z]+ [a-z]`)

// addValue adds a text, or the format of an fmt.Sprintf.
func (c *textCollector) addValue(value ast.Expr) {
	if text, ok := formatText(value); ok {
		c.add(value, text, "")
	}
}

// formatText is literalText of a text, or of the format of an fmt.Sprintf.
func formatText(value ast.Expr) (string, bool) {
	if call, ok := value.(*ast.CallExpr); ok && calledName(call.Fun) == "fmt.Sprintf" {
		value = call.Args[0]
	}
	return literalText(value)
}

func (c *textCollector) add(at ast.Node, text, sentinel string) {
	if text != "" {
		place := fmt.Sprintf("%s:%d", c.name, c.set.Position(at.Pos()).Line)
		c.texts = append(c.texts, errorText{place, c.folder, text, sentinel})
	}
}

// calledName returns the name of what is called: with its package for errors, fmt and
// anchor.
func calledName(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && (x.Name == "errors" || x.Name == "fmt" || x.Name == "anchor") {
			return x.Name + "." + fun.Sel.Name
		}
		return fun.Sel.Name
	}
	return ""
}

// literalText returns the text of a literal, or of several with + between them.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literalText(e.X)
		if !ok {
			return "", false
		}
		right, _ := literalText(e.Y)
		return left + right, true
	}
	return "", false
}

// tools are the folders whose errors only developers of this repository read.
var tools = []string{"bench", "faults", "judge", "release", "suites", "internal/corpus", "internal/knots", "internal/sim", "internal/sim/explore", "internal/sim/simdb", "internal/testdb", "internal/testbrowser", "internal/storetest", "internal/store/fakedb", "internal/testrun", "internal/testturn", "internal/testturn/reach"}

// hiddenPrefixes begin no text: they name a package that users do not see.
var hiddenPrefixes = regexp.MustCompile(`^(catalog|store|dbconn|sqlcode|drivers|session|keys|fill|explain|rewrite): `)

// vague are words that leave out what they speak of.
var vague = regexp.MustCompile(`\b(that of|those of|takes in|are those|is that|does so|of theirs|as such|is about)\b`)

// wrapping is the part of a text that stands for an error inside, or for the place
// of the mistake.
var wrapping = regexp.MustCompile(`^((keyfill|policy|keysource|keyfilltest|sql): |%[wv][:;]? |\$%s: |(table|column|store|driver|sequence|series|worker|line|argument) %[qd]: |the state %s( with its values)?: |--[a-z%s]+:? |using %q: |byte %d: |[a-z]+: )+|(; the last error was)?[:;]? %[wv]$`)

// aside is what stands between brackets or quotes.
var aside = regexp.MustCompile(`\([^()]*\)|\{[^{}]*\}|\[[^][]*\]|"[^"]*"`)

// instruction is where a text says what to do, or what is taken.
var instruction = regexp.MustCompile(`(^|[:;,] |\b(?:or|and|neither) )(ask|add|attach|begin|call|check|choose|configure|correct|create|delete|empty|give|grant|import|insert|keep|keyfill\.WithValue|leave|let|describe|list|lock|look|lower|make|mend|name|open|order|pass|prepare|put|raise|remove|rename|reserve|retry|roll|run|say|send|set|stop|take|undo|use|wait|write)\b|` +
	`\b(want|needs?|there (are|is)|one of|at least|at most|no more than|less than|more than|fewer than|at most|is text in|neither begins|the remedy is|from %|from [0-9A-Z]|is missing|did you mean|begins with|it takes|is of ASCII)\b|\?`)

// words are found in a text that has a meaning alone.
var words = regexp.MustCompile(`[A-Za-z]{2} [A-Za-z%]|[a-z]{4}`)

// stripped returns a text without the parts that stand for other errors and for the
// place of the mistake.
func stripped(text string) string {
	for {
		shorter := wrapping.ReplaceAllString(text, "")
		if shorter == text {
			return text
		}
		text = shorter
	}
}

// sentences counts the sentences of a text: parts that a colon, a semicolon, a full
// stop or a question mark ends.
func sentences(text string, fields *regexp.Regexp) int {
	text = stripped(text)
	for {
		shorter := aside.ReplaceAllString(text, "x")
		if shorter == text {
			break
		}
		text = shorter
	}
	text = fields.ReplaceAllString(text, "$1 ")
	return 1 + len(sentenceEnd.FindAllString(text, -1))
}

var sentenceEnd = regexp.MustCompile(`[:;.] |[a-z]\? `)

// TestErrorTexts reads all errors that the source has: each is of two sentences at most,
// names its subject, does not end with a full stop, names no package that users do not
// see, and says what to do where there is something to do.
func TestErrorTexts(t *testing.T) {
	schema, err := os.ReadFile(filepath.Join("policy", "keyfill.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(string(schema), -1) {
		names[m[1]] = true
	}
	fields := regexp.MustCompile(`\b(` + strings.Join(slices.Sorted(maps.Keys(names)), "|") + `): `)
	texts := errorTexts(t)
	if len(texts) < 500 {
		t.Fatalf("%d texts are found: the test looks in the wrong place", len(texts))
	}
	var lengths []int
	for _, e := range texts {
		lengths = append(lengths, len(e.text))
	}
	slices.Sort(lengths)
	if l := lengths[len(lengths)*9/10]; l > 120 {
		t.Errorf("one text in ten has more than %d bytes, want 120 at most: shorten some", l)
	}
	exempt := map[string]bool{} // whether a text was found, for those that need not say what to do
	for _, group := range noInstruction {
		for _, text := range group.texts {
			if _, twice := exempt[text]; twice || group.why == "" {
				t.Errorf("%q stands twice on the list of texts that do not say what to do, or without a reason", text)
			}
			exempt[text] = false
		}
	}
	for _, e := range texts {
		_, listed := exempt[e.text]
		if listed {
			exempt[e.text] = true
		}
		for _, fault := range e.faults(fields, listed) {
			t.Errorf("%s: %q %s", e.place, e.text, fault)
		}
	}
	for text, found := range exempt {
		if !found {
			t.Errorf("%q stands on the list of texts that do not say what to do, and nowhere else", text)
		}
	}
}

// faults returns what is wrong with a text. fields finds the fields of a policy, and
// listed is said of a text that need not say what to do.
func (e *errorText) faults(fields *regexp.Regexp, listed bool) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if strings.HasSuffix(e.text, ".") {
		fault("ends with a full stop")
	}
	if word := vague.FindString(e.text); word != "" {
		fault("says %q: name what is meant", word)
	}
	if n := sentences(e.text, fields); n > 2 {
		fault("has %d sentences: what is wrong, and what to do, are two", n)
	}
	if slices.ContainsFunc(tools, func(tool string) bool { return strings.HasPrefix(e.folder+"/", tool+"/") }) {
		return faults
	}
	if hiddenPrefixes.MatchString(e.text) {
		fault("begins with the name of a package that users do not see")
	}
	if e.sentinel != "" && !strings.HasPrefix(e.folder, "internal/") && e.folder != "rewrite" {
		name := path.Base(e.folder)
		if e.folder == "." {
			name = "keyfill"
		}
		if !strings.HasPrefix(e.text, name+": ") {
			fault("is a sentinel of package %s and does not say so", name)
		}
	}
	says := instruction.MatchString(e.text) || !words.MatchString(stripped(e.text)) // others say it all
	switch {
	case listed && says:
		fault("says what to do: take it off the list")
	case !listed && !says:
		fault("does not say what to do")
	}
	return faults
}
