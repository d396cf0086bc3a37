package keyfill_test

import (
	"cmp"
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
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
)

// errorPage is where each section is that an error of this module ends in.
const errorPage = "docs/errors.md"

// sectionLimit is how many words may say the cause and the cure of an error.
const sectionLimit = 70

// sectioned is the text of an error, the section of the page that it ends in, and why
// the error is returned, where the code says so.
type sectioned struct{ place, section, text, cause string }

// pageReader finds the sections of the texts in the source.
type pageReader struct {
	set       *token.FileSet
	folder    string
	sentinels map[string]string // sections, by folder and name
	values    map[string]string // of the reasons for a refusal, by name
	causes    map[string]string // of the reasons, by name
	listed    map[string]bool   // texts that are never shown, or that have no meaning alone
	found     []sectioned
	faults    []string
}

// sectionsOfTexts returns the texts of all errors that the source makes whole, with
// their sections, and what is wrong with the others.
func sectionsOfTexts(t *testing.T) *pageReader {
	t.Helper()
	r := &pageReader{
		set: token.NewFileSet(), sentinels: map[string]string{}, values: map[string]string{},
		causes: map[string]string{}, listed: map[string]bool{},
	}
	for _, group := range noInstruction {
		if strings.HasPrefix(group.why, "keyfill takes another way") || strings.HasPrefix(group.why, "database/sql says") || strings.HasPrefix(group.why, "the words are those of pgx") {
			for _, text := range group.texts {
				r.listed[text] = true
			}
		}
	}
	own, nested := goFiles(t)
	files := map[string][]*ast.File{}
	for _, file := range slices.Concat(own, nested) {
		if file.test || !speaks(file.folder) {
			continue
		}
		parsed, err := parser.ParseFile(r.set, filepath.FromSlash(path.Join(file.folder, file.name)), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[file.folder] = append(files[file.folder], parsed)
		r.readSentinels(file.folder, parsed)
	}
	// A reason's own text comes first, then the texts of package plans for special cases.
	rank := func(folder string) string { return strings.TrimPrefix(folder, "internal/") }
	for _, folder := range slices.SortedFunc(maps.Keys(files), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) }) {
		r.folder = folder
		for _, file := range files[folder] {
			ast.Inspect(file, r.visit)
		}
	}
	r.addMistakes(t)
	return r
}

// addMistakes adds the texts that the checks of a policy give to their mistakes.
func (r *pageReader) addMistakes(t *testing.T) {
	part := map[string]bool{}
	for _, group := range noInstruction {
		for _, text := range group.texts {
			part[text] = strings.HasPrefix(group.why, "it is a part")
		}
	}
	for _, e := range errorTexts(t) {
		if e.folder == "policy" && !part[e.text] && severalWords.MatchString(stripped(e.text)) {
			r.found = append(r.found, sectioned{e.place, "policy", e.text, ""})
		}
	}
}

// speaks reports whether users read errors that are made in a folder.
func speaks(folder string) bool {
	switch folder {
	case ".", "policy", "keysource", "rewrite", "dialect", "keyfilletcd", "keyfillgorm", "keyfillotel", "keyfillpgx", "keyfillredis", "keyfilltest", "publicid":
		return true
	case "internal/book", "internal/corpus", "internal/sim", "internal/sim/explore", "internal/sim/simdb", "internal/testdb", "internal/testbrowser", "internal/storetest", "internal/store/fakedb", "internal/testrun", "internal/testturn", "internal/testturn/reach", "internal/anchor", "internal/reference":
		return false
	}
	return strings.HasPrefix(folder, "internal/") || isCommand(folder)
}

// isCommand reports whether a folder has a package of the command line.
func isCommand(folder string) bool {
	return folder == "cmd/keyfill" || strings.HasPrefix(folder, "cmd/keyfill/")
}

// sectionByFolder are the sections of errors that say none themselves.
var sectionByFolder = map[string]string{"policy": "policy", "dialect": "policy", "internal/check": "check"}

// readSentinels notes the variables that hold errors, and the reasons for a refusal.
func (r *pageReader) readSentinels(folder string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			name := spec.Names[i].Name
			switch v := value.(type) {
			case *ast.CallExpr:
				if section, _, ok := anchored(v); ok {
					r.sentinels[folder+"."+name] = section
				}
			case *ast.BasicLit:
				if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
					r.values[name], _ = literalText(v)
					r.causes[name] = strings.TrimPrefix(strings.Join(strings.Fields(spec.Doc.Text()), " "), name+" is returned ")
				}
			}
		}
		return true
	})
}

// anchored returns the section and the text of a call of package anchor that makes an
// error.
func anchored(call *ast.CallExpr) (section, text string, ok bool) {
	called := calledName(call.Fun)
	if !strings.HasPrefix(called, "anchor.") || called == "anchor.Endf" || !textCalls[called] || len(call.Args) < 2 {
		return "", "", false
	}
	section, ok = literalText(call.Args[0])
	text, _ = literalText(call.Args[1])
	return section, text, ok
}

// inner are the texts of package keysource that stand inside of others alone.
var inner = map[string]bool{"the store has changed again": true}

func (r *pageReader) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if section, text, ok := anchored(n); ok {
			if called := calledName(n.Fun); leavesAlone(r.folder) && called != "anchor.Last" && called != "anchor.Lastf" {
				r.faults = append(r.faults, fmt.Sprintf("%s: %q does not end in its section of %s: take anchor.Last or anchor.Lastf", r.place(n), text, errorPage))
			}
			r.add(n, section, text, "")
			break
		}
		called := calledName(n.Fun)
		if called != "errors.New" && called != "fmt.Errorf" && called != "anchor.Endf" || len(n.Args) == 0 {
			break
		}
		if text, ok := literalText(n.Args[0]); ok && !r.listed[text] {
			if leavesAlone(r.folder) && called != "anchor.Endf" && !inner[text] {
				r.faults = append(r.faults, fmt.Sprintf("%s: %q does not end in its section of %s: make it with anchor.Last, anchor.Lastf or anchor.Endf", r.place(n), text, errorPage))
			}
			r.addPlain(n, text)
		}
	case *ast.CompositeLit:
		if m, ok := n.Type.(*ast.MapType); ok {
			if isReason(m.Key) {
				for _, e := range n.Elts {
					pair := e.(*ast.KeyValueExpr)
					name := lastName(pair.Key)
					text, _ := literalText(pair.Value)
					r.add(pair, r.values[name], text, r.causes[name])
				}
			}
		}
	}
	return true
}

// isReason reports whether an expression is the type Reason of package rewrite.
func isReason(e ast.Expr) bool { return lastName(e) == "Reason" }

// lastName returns a name without its package; empty for an expression that is no name.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// leavesAlone reports whether the errors of a folder reach programs as they are made: its
// functions are called without package keyfill around them, which ends the texts of others
// in their anchors.
func leavesAlone(folder string) bool {
	switch folder {
	case "keysource", "internal/counting", "internal/mapping", "dialect", "keyfillgorm", "keyfillotel", "keyfillpgx", "keyfilltest", "publicid":
		return true
	}
	return false
}

// addPlain adds the text of an error that errors.New or fmt.Errorf makes: its section
// is the section of the sentinel that it wraps, or the section of its folder.
func (r *pageReader) addPlain(call *ast.CallExpr, text string) {
	section := ""
	for _, arg := range call.Args[1:] {
		name := r.folder
		switch a := arg.(type) {
		case *ast.Ident:
			name += "." + a.Name
		case *ast.SelectorExpr:
			if x, ok := a.X.(*ast.Ident); ok {
				name = cmp.Or(map[string]string{"keysource": "keysource", "rewrite": "rewrite"}[x.Name], "internal/"+x.Name) + "." + a.Sel.Name
			}
		}
		if s := r.sentinels[name]; s != "" && (section == "" || s != anchor.General) {
			section = s
		}
	}
	if section == "" && isCommand(r.folder) {
		section = "command"
	}
	if section = cmp.Or(section, sectionByFolder[r.folder]); section != "" {
		r.add(call, section, text, "")
	} else if !strings.Contains(text, "%w") {
		r.faults = append(r.faults, fmt.Sprintf("%s: %q has no section of %s: make the error with anchor.New or anchor.Errorf", r.place(call), text, errorPage))
	}
}

func (r *pageReader) place(n ast.Node) string { return r.set.Position(n.Pos()).String() }

func (r *pageReader) add(at ast.Node, section, text, cause string) {
	if stripped(text) != "" {
		r.found = append(r.found, sectioned{r.place(at), section, text, cause})
	}
}

var (
	verbs      = regexp.MustCompile(`["']?%(\[\d\])?[+#]?[a-zA-Z]["']?`)
	pageHeads  = regexp.MustCompile(`(?m)^### ([a-z_-]+)$`)
	pageBlock  = regexp.MustCompile(`(?s)(<!-- texts: ([a-z_-]+) -->\n).*?(<!-- end -->)`)
	pageTexts  = regexp.MustCompile("(?m)^- `` .* ``$|^<!-- .* -->$|^\\*\\*(Cause|Cure)\\.\\*\\*")
	pagePieces = regexp.MustCompile(`(?ms)^### ([a-z_-]+)\n(.*?)(?:^##|\z)`)
)

// generated returns the page with the texts of the code in the places for them.
func (r *pageReader) generated(page string) string {
	bySection := map[string][]sectioned{}
	reasons := map[string]bool{}
	for _, e := range r.found {
		bySection[e.section] = append(bySection[e.section], e)
		reasons[e.section] = reasons[e.section] || e.cause != ""
	}
	return pageBlock.ReplaceAllStringFunc(page, func(block string) string {
		m := pageBlock.FindStringSubmatch(block)
		var b strings.Builder
		if m[2] != "refusals" {
			writeTexts(&b, bySection[m[2]])
			return m[1] + b.String() + m[3]
		}
		for _, section := range slices.Sorted(maps.Keys(reasons)) {
			if !reasons[section] {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n", section)
			cause := "" // two texts may have one
			for _, e := range bySection[section] {
				if e.cause != "" && e.cause != cause {
					cause = e.cause
					fmt.Fprintf(&b, "Refused %s\n\n", strings.ReplaceAll(strings.ReplaceAll(e.cause, "[", ""), "]", ""))
				}
			}
			writeTexts(&b, bySection[section])
		}
		return m[1] + b.String() + "\n" + m[3]
	})
}

// writeTexts writes texts as a list, each once.
func writeTexts(b *strings.Builder, all []sectioned) {
	var lines []string
	for _, e := range all {
		text := strings.Join(strings.Fields(verbs.ReplaceAllString(e.text, "…")), " ")
		lines = append(lines, "- `` "+text+" ``\n")
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		b.WriteString(line)
	}
}

// TestErrorPage: each error of the source has a section of docs/errors.md, each section
// is one that an error has, and the page has the texts of today.
// go test -run TestErrorPage . -update writes the texts.
func TestErrorPage(t *testing.T) {
	r := sectionsOfTexts(t)
	for _, fault := range r.faults {
		t.Error(fault)
	}
	if len(r.found) < 300 {
		t.Fatalf("%d texts are found: the test looks in the wrong place", len(r.found))
	}
	content, err := os.ReadFile(filepath.FromSlash(errorPage))
	if err != nil {
		t.Fatal(err)
	}
	page, want := string(content), r.generated(string(content))
	if *update {
		if err := os.WriteFile(filepath.FromSlash(errorPage), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		page = want
	}
	if page != want {
		t.Errorf("%s has not the texts of the code: %s\nRun go test -run TestErrorPage . -update, and review the diff",
			errorPage, firstDifference(want, page))
	}
	places := map[string]string{anchor.Beneath: "errors.go", "value": "policy/state.go"}
	for _, e := range r.found {
		places[e.section] = e.place
	}
	onPage := map[string]int{}
	for _, m := range pageHeads.FindAllStringSubmatch(page, -1) {
		onPage[m[1]]++
	}
	for section, place := range places {
		if onPage[section] != 1 {
			t.Errorf("%s: the section %q is on %s %d times", place, section, errorPage, onPage[section])
		}
	}
	for section := range onPage {
		if places[section] == "" {
			t.Errorf("%s has a section %q, in which no error ends", errorPage, section)
		}
	}
	for _, m := range pagePieces.FindAllStringSubmatch(page, -1) {
		_, isReason := slices.BinarySearch(slices.Sorted(maps.Values(r.values)), m[1])
		if !isReason && (!strings.Contains(m[2], "**Cause.** ") || !strings.Contains(m[2], "**Cure.** ")) {
			t.Errorf("%s: the section %q has no cause, or no cure", errorPage, m[1])
		}
		if words := len(strings.Fields(pageTexts.ReplaceAllString(m[2], ""))); words == 0 || words > sectionLimit {
			t.Errorf("%s: the section %q has %d words without its texts, want 1 to %d", errorPage, m[1], words, sectionLimit)
		}
	}
}
