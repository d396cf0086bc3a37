package rewrite

import (
	"encoding/json"
	"strings"
)

// bulkWord is the beginning of a query by which go-mssqldb recognises the text
// of its CopyIn. With the eleventh, whatever it is, begins what the JSON does
// not have.
const bulkWord = "insertbulk"

// isInsertBulk reports whether the text comes from CopyIn of go-mssqldb.
func (p *reader) isInsertBulk() bool {
	return p.isWord(bulkWord) || p.tok.start == 0 && len(p.q) > len(bulkWord) && strings.EqualFold(p.q[:len(bulkWord)], bulkWord)
}

// insertBulk reads the text that go-mssqldb's CopyIn makes for Prepare, a word
// and a JSON object. The rows come as the executions of the prepared text.
func (p *parser) insertBulk() {
	at, from := p.tok.start, p.tok.start+len(bulkWord)+1
	for p.tok.kind != tokEnd {
		p.advance()
	}
	if from > len(p.q) {
		return
	}
	b, ok := readBulk(p.q[from:])
	if !ok {
		return // the driver does not take it either
	}
	t, n, text := p.bulkTarget(b.table)
	if t == nil {
		return
	}
	state := newInsertState(head{target: t, name: n}, at)
	in := &state
	in.BulkTable = text
	in.columns = len(b.columns)
	for i, c := range b.columns {
		for k := range t.Keys {
			if t.Keys[k].Column != p.d.Fold(c, true) {
				continue
			}
			if in.listed.of(k) >= 0 {
				b.unclear = true
			}
			in.listed.set(k, i)
		}
	}
	switch {
	case b.unclear:
		p.refuse(t, at, ErrGrammar)
		return
	case at != 0 || text == "" || in.columns == 0:
		p.elsewhere(in)
		return
	}
	missing := in.missing(nil)
	end := from + b.end
	if len(missing) > 0 {
		p.edit(end, end, p.bulkColumns(t, missing))
	}
	p.stream(in, end, in.columns, missing)
}

// bulkColumns returns the missing keys as more elements of a JSON array. The
// driver compares names by case, so they are written as the table has them
// where that is known.
func (p *reader) bulkColumns(t *Target, missing []int) string {
	var b strings.Builder
	for _, k := range missing {
		name := t.Keys[k].Column
		for _, c := range t.Columns {
			if p.d.Fold(c, true) == name {
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
	end     int  // where the last column ends, in bytes
	unclear bool // a name stands twice, or a column is no string
}

// readBulk reads the object as go-mssqldb does, and where its columns end.
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
		// Members are found without regard to case, and the last one counts.
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

// bulkTarget returns the table that INSERTBULK names, and its name in SQL; nil
// where it is not configured. The name is "" where only older versions of the
// driver, which write it into the statement as it is, mean a configured table.
func (p *parser) bulkTarget(text string) (t *Target, n name, sql string) {
	parts := objectParts(text)
	for _, part := range parts {
		n.further(p.d.Fold(part, true))
	}
	if t := p.lookup(n.schema, n.table); t != nil {
		for i, part := range parts {
			if part != "" {
				parts[i] = p.d.QuoteIdent(part)
			}
		}
		return t, n, strings.Join(parts, ".")
	}
	q := newReader(p.d, text)
	if n, ok := q.tableName(); ok && q.tok.kind != tokEnd {
		return p.lookup(n.schema, n.table), n, ""
	}
	return nil, n, ""
}

// objectParts returns the parts of an object's name, without quotes, as
// go-mssqldb finds them: between points that do not stand in brackets or quotes,
// which count only around a whole part.
func objectParts(name string) (parts []string) {
	start := 0
	blank := true // nothing but white space since start
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch n := delimited(name[i:]); {
		case blank && n > 0:
			i += n - 1
			blank = false
		case c == '.':
			parts = append(parts, objectPart(name[start:i]))
			start, blank = i+1, true
		case !isSpace(c):
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

// delimited returns the length of the name in brackets or quotes that s begins
// with, 0 for none.
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
