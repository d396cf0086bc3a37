package keyfill_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Tables of the pages whose rows stand beside the code that they are about. A page says
// where its table is:
//
//	<!-- rows: rules -->                    rows that comments declare: //row:rules | a cell | another one
//	<!-- fields: check.go Finding -->       the fields of a struct that JSON has, with their comments; "; " and another struct may follow
//	<!-- questions -->                      the first line of each page in docs, for the index
//
// The head of the table stands below that line, and <!-- end --> below the table. Rows of one
// file keep its order; rows of several files are sorted.
var tableBlock = regexp.MustCompile(`(?s)(<!-- (rows|fields|questions)(?:: ([^>]*))? -->\n\|[^\n]*\n\|[^\n]*\n)(.*?)(<!-- end -->)`)

// TestDocTables: these tables have the rows that the code declares, and no others.
// go test -run TestDocTables . -update writes them.
func TestDocTables(t *testing.T) {
	declared := declaredRows(t)
	tables, written := 0, map[string]bool{}
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		want := tableBlock.ReplaceAllStringFunc(string(content), func(block string) string {
			m := tableBlock.FindStringSubmatch(block)
			tables++
			var rows []string
			switch m[2] {
			case "rows":
				rows, written[m[3]] = declared[m[3]], true
			case "fields":
				for where := range strings.SplitSeq(m[3], "; ") {
					rows = append(rows, fieldRows(t, where)...)
				}
			default:
				rows = questionRows(t, m[4])
			}
			if len(rows) < 2 {
				t.Errorf("%s: <!-- %s: %s --> finds %d rows, want 2 or more", page, m[2], m[3], len(rows))
			}
			return m[1] + strings.Join(rows, "") + m[5]
		})
		if want == string(content) {
			continue
		}
		if *update {
			if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s has not the rows that the code declares: %s\nRun go test -run TestDocTables . -update, and review the diff",
			page, firstDifference(want, string(content)))
	}
	for name := range declared {
		if !written[name] {
			t.Errorf("no page has the rows %q: write <!-- rows: %s -->, the head of a table and <!-- end --> into one", name, name)
		}
	}
	if tables < 10 {
		t.Errorf("%d tables are found, want 10 or more: the test looks in the wrong place", tables)
	}
}

// declaredRows returns the rows that comments declare, by table.
func declaredRows(t *testing.T) map[string][]string {
	t.Helper()
	rows, files := map[string][]string{}, map[string]map[string]bool{}
	for _, name := range filesNamed(t, ".go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || !strings.Contains(string(text), "//row:") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			rest, declares := strings.CutPrefix(strings.TrimSpace(line), "//row:")
			if !declares {
				continue
			}
			table, cells, found := strings.Cut(rest, " | ")
			if !found {
				t.Errorf("%s: write //row:TABLE | cell | cell, not %q", name, line)
			}
			rows[table] = append(rows[table], "| "+cells+" |\n")
			if files[table] == nil {
				files[table] = map[string]bool{}
			}
			files[table][name] = true
		}
	}
	for table := range rows {
		if len(files[table]) > 1 {
			slices.Sort(rows[table])
		}
	}
	return rows
}

// fieldRows returns a row for each field that the JSON of a struct has. A field without a
// comment shares the row of the field before it.
func fieldRows(t *testing.T, where string) (rows []string) {
	t.Helper()
	name, typeName, _ := strings.Cut(where, " ")
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found *ast.StructType
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == typeName {
			found, _ = spec.Type.(*ast.StructType)
		}
		return found == nil
	})
	if found == nil {
		t.Fatalf("%s has no struct %s", name, typeName)
	}
	for _, field := range found.Fields.List {
		names := fieldNames(field)
		if len(names) == 0 {
			continue
		}
		text := strings.Join(strings.Fields(cmp.Or(field.Doc.Text(), field.Comment.Text())), " ")
		if text == "" {
			if len(rows) == 0 {
				t.Fatalf("%s: the first field of %s has no comment", name, typeName)
			}
			before, rest, _ := strings.Cut(rows[len(rows)-1], " | ")
			rows[len(rows)-1] = before + ", " + strings.Join(names, ", ") + " | " + rest
			continue
		}
		rows = append(rows, "| "+strings.Join(names, ", ")+" | "+cellOf(text, field)+" |\n")
	}
	return rows
}

// fieldNames returns the names of a field in JSON, as code; none if JSON leaves it out.
func fieldNames(field *ast.Field) (names []string) {
	tag := ""
	if field.Tag != nil {
		tag = reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
	}
	name, _, _ := strings.Cut(tag, ",")
	for _, id := range field.Names {
		if id.IsExported() && name != "-" {
			names = append(names, "`"+cmp.Or(name, id.Name)+"`")
		}
	}
	return names
}

// cellOf returns a field's comment for a table: without the name that it begins with, and
// without the brackets of links.
func cellOf(text string, field *ast.Field) string {
	for _, id := range field.Names {
		for _, verb := range []string{" is ", " are ", " reports "} {
			text = strings.TrimPrefix(text, id.Name+verb)
		}
	}
	return strings.ReplaceAll(docLink.ReplaceAllString(strings.TrimSuffix(text, "."), "`$1`"), "|", "\\|")
}

var (
	docLink = regexp.MustCompile(`\[\*?([\w.]+)\]`)
	opening = regexp.MustCompile(`(?s)\A# [^\n]*\n\n\*\*For an? ([a-z ]+)\.\*\* (.*?)\n\n`)
	row     = regexp.MustCompile(`(?m)^\| .*\]\(([\w./-]+)\) \|$`)
)

// questionRows returns a row for each page in docs: its reader and question stand in its first
// lines. Pages keep the order that they have in the index; new ones come last.
func questionRows(t *testing.T, before string) (rows []string) {
	t.Helper()
	var order []string
	for _, m := range row.FindAllStringSubmatch(before, -1) {
		order = append(order, m[1])
	}
	byPage := map[string]string{}
	for _, page := range pages(t) {
		name, inDocs := strings.CutPrefix(page, "docs/")
		if !inDocs || strings.Contains(name, "/") || name == "README.md" {
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		m := opening.FindStringSubmatch(string(content))
		if m == nil {
			t.Errorf("%s does not begin with its reader and its question: write **For a developer.** Is this INSERT of mine filled?", page)
			continue
		}
		question := strings.Join(strings.Fields(named.ReplaceAllString(m[2], "$1")), " ")
		reader := strings.NewReplacer(" or an ", ", ", " or a ", ", ").Replace(m[1])
		byPage[name] = fmt.Sprintf("| %s | %s | [%s](%s) |\n", reader, question, path.Base(name), name)
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		if line := byPage[name]; line != "" {
			rows = append(rows, line)
		}
	}
	return rows
}
