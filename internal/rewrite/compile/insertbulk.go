package compile

import (
	"encoding/json"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// bulkWord is the beginning of a query by which go-mssqldb recognises the text of its
// CopyIn. The JSON object follows after one more byte, whatever that is.
const bulkWord = "insertbulk"

// isInsertBulk reports whether the text comes from CopyIn of go-mssqldb.
func isInsertBulk(p *reader.Reader) bool {
	return p.IsWord(bulkWord) || p.Token.Start == 0 && len(p.Text) > len(bulkWord) && strings.EqualFold(p.Text[:len(bulkWord)], bulkWord)
}

// insertBulk reads the text that go-mssqldb's CopyIn makes for Prepare: a word and a JSON
// object. The rows are the executions of the prepared text.
func insertBulk(p *plans.Draft) {
	at, from := p.Token.Start, p.Token.Start+len(bulkWord)+1
	for p.Token.Kind != scan.End {
		p.Advance()
	}
	if from > len(p.Text) {
		return
	}
	b, ok := readBulk(p.Text[from:])
	if !ok {
		return // the driver refuses such a text too
	}
	t, n, text := bulkTarget(p, b.table)
	if t == nil {
		return
	}
	state := inserts.NewState(inserts.Head{Target: t, Name: n}, at)
	in := &state
	in.Name.TableText, in.Name.Bulk = text, true
	in.Columns = len(b.columns)
	for i, c := range b.columns {
		if in.Scopes != nil {
			in.Scopes.List(p.Dialect.Fold(c, true), i, true)
		}
		for k := range t.Keys {
			if t.Keys[k].Column != p.Dialect.Fold(c, true) {
				continue
			}
			if in.Listed.Of(k) >= 0 {
				b.unclear = true
			}
			in.Listed.Set(k, i)
		}
	}
	switch {
	case b.unclear:
		p.Refuse(t, at, rewrite.ErrGrammar)
		return
	case at != 0 || text == "" || in.Columns == 0:
		elsewhere(p, in)
		return
	}
	missing := in.Missing(nil)
	end := from + b.end
	if len(missing) > 0 {
		p.Edit(end, end, bulkColumns(&p.Reader, t, missing))
	}
	stream(p, in, end, in.Columns, missing)
}

// bulkColumns returns the missing keys as more elements of a JSON array. The driver
// compares names by case, so they are written as in the table if its columns are known.
func bulkColumns(p *reader.Reader, t *plans.Target, missing []int) string {
	var b strings.Builder
	for _, k := range missing {
		name := t.Keys[k].Column
		for _, c := range t.Columns {
			if p.Dialect.Fold(c, true) == name {
				name = c
				break
			}
		}
		text, err := json.Marshal(name)
		if err != nil {
			panic("rewrite: a string is no JSON: " + err.Error())
		}
		b.WriteByte(',')
		b.Write(text)
	}
	return b.String()
}

// bulk is the JSON object of INSERTBULK.
type bulk struct {
	table   string
	columns []string
	end     int  // the offset in bytes after the last column
	unclear bool // whether a name stands twice, or a column is no string
}

// readBulk reads the JSON object as go-mssqldb does, and finds where its columns end.
func readBulk(text string) (bulk, bool) {
	var whole struct {
		TableName   string
		ColumnsName []string
	}
	if json.Unmarshal([]byte(text), &whole) != nil {
		return bulk{}, false
	}
	b := bulk{table: whole.TableName, columns: whole.ColumnsName}
	dec := json.NewDecoder(strings.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return b, false
	}
	tables, lists := 0, 0
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return b, false
		}
		// go-mssqldb compares member names without case, and of several members uses the last.
		switch name := name.(string); {
		case strings.EqualFold(name, "ColumnsName") && len(b.columns) > 0:
			lists++
			b.list(dec)
			continue
		case strings.EqualFold(name, "TableName"):
			tables++
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return b, false
		}
	}
	b.unclear = b.unclear || tables > 1 || lists > 1
	return b, true
}

// list reads the array of the columns.
func (b *bulk) list(dec *json.Decoder) {
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		b.unclear = true
		return
	}
	for dec.More() {
		var column any
		if dec.Decode(&column) != nil {
			b.unclear = true
			return
		}
		if _, ok := column.(string); !ok {
			b.unclear = true
		}
		b.end = int(dec.InputOffset())
	}
	_, err := dec.Token()
	b.unclear = b.unclear || err != nil
}

// bulkTarget returns the table that INSERTBULK names, and its name in SQL; nil if it is
// not configured. The name is empty if only older driver versions, which copy it into the
// statement unchanged, mean a configured table.
func bulkTarget(p *plans.Draft, text string) (t *plans.Target, n reader.Name, sql string) {
	parts := objectParts(text)
	for _, part := range parts {
		n.Further(p.Dialect.Fold(part, true))
	}
	if t := p.Lookup(n.Schema, n.Table); t != nil {
		for i, part := range parts {
			if part != "" {
				parts[i] = p.Dialect.QuoteIdent(part)
			}
		}
		return t, n, strings.Join(parts, ".")
	}
	q := reader.New(p.Dialect, text)
	if n, ok := q.TableName(); ok && q.Token.Kind != scan.End {
		return p.Lookup(n.Schema, n.Table), n, ""
	}
	return nil, n, ""
}

// objectParts returns the parts of an object's name, without quotes, as go-mssqldb finds
// them: split at points outside of brackets and quotes, which count only around a whole
// part.
func objectParts(name string) (parts []string) {
	start := 0
	blank := true // whether there is only white space since start
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch n := delimited(name[i:]); {
		case blank && n > 0:
			i += n - 1
			blank = false
		case c == '.':
			parts = append(parts, objectPart(name[start:i]))
			start, blank = i+1, true
		case !scan.IsSpace(c):
			blank = false
		}
	}
	return append(parts, objectPart(name[start:]))
}

// objectPart returns one part without its quotes.
func objectPart(part string) string {
	part = strings.TrimSpace(part)
	if n := delimited(part); n == 0 || n != len(part) {
		return part
	}
	end := part[len(part)-1:]
	return strings.ReplaceAll(part[1:len(part)-1], end+end, end)
}

// delimited returns the length of the name in brackets or quotes that s begins with; zero
// if s begins with no such name.
func delimited(s string) int {
	if s == "" || s[0] != '[' && s[0] != '"' {
		return 0
	}
	end := s[0]
	if end == '[' {
		end = ']'
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != end:
		case i+1 < len(s) && s[i+1] == end:
			i++
		default:
			return i + 1
		}
	}
	return 0
}
