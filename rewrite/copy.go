package rewrite

import "strings"

// copy reads PostgreSQL's COPY t (a, b) FROM: PostgreSQL 18, "COPY". From STDIN
// the rows come as the executions of the prepared text, which is how lib/pq has
// it, and get keys there. Other rows are kept when the column list names the
// keys.
func (p *parser) copy() {
	at := p.tok.start
	p.advance()
	binary := p.accept("binary")
	if n, ok := p.tableName(); ok {
		t, _ := p.target(n)
		q := p.reader
		if q.brackets(); t != nil && q.isWord("from") {
			in := newInsertState(head{target: t, name: n}, at)
			p.copied(&in, binary)
		}
	}
	p.skip(p.beside())
}

// copied reads a COPY into a configured table from behind the table's name.
func (p *parser) copied(in *insertState, binary bool) {
	in.listAt = p.prev
	if p.isPunct('(') {
		if reason := p.columnList(in); reason != "" {
			p.refuse(in.Target, p.tok.start, reason)
			return
		}
	}
	if binary || !p.fromStdin() {
		p.elsewhere(in)
		return
	}
	var columns []string
	width := in.columns
	if in.columns < 0 {
		// Every row has all columns.
		var reason Reason
		if columns, reason = p.implied(in, max(len(in.Target.Columns), 1)); reason != "" {
			p.refuse(in.Target, p.tok.start, reason)
			p.inserts = append(p.inserts, in.Insert)
			return
		}
		width = len(columns)
	}
	missing := in.missing(nil)
	p.list(in, columns, missing)
	end := in.listEnd
	if in.columns < 0 {
		end = in.listAt
	}
	p.stream(in, end, width, missing)
}

// elsewhere keeps rows that the text does not hold if the column list names the
// keys, and refuses others.
func (p *parser) elsewhere(in *insertState) {
	if in.lacks() {
		p.refuse(in.Target, in.Offset, ErrBulk)
		return
	}
	p.inserts = append(p.inserts, in.Insert)
}

// stream queues the keys of rows that come one by one as the executions of the
// text, each with a value for every one of its width columns. at is where the
// text has the column list's end; no placeholder stands there.
func (p *parser) stream(in *insertState, at, width int, missing []int) {
	p.streams = true
	if in.lacksScope(missing) {
		p.refuse(in.Target, in.Offset, ErrScope)
	}
	for k := range in.Target.Keys {
		column := in.listed.of(k)
		key := &in.Target.Keys[k]
		if column >= 0 && (key.Fill&(FillNull|FillZero) != 0 || key.Follow) {
			p.params.count = column
			p.slot(at, at, "", slot{kind: slotOwn, key: int32(k)})
		}
	}
	p.params = params{styles: stylePosition, count: width}
	for _, k := range missing {
		p.slot(at, at, "", slot{key: int32(k)})
	}
	p.inserts = append(p.inserts, in.Insert)
}

// fromStdin reports whether the FROM here is FROM STDIN in a text of its own,
// and the rows are to look as lib/pq writes them.
func (p *parser) fromStdin() bool {
	q := p.reader
	if q.advance(); !q.accept("stdin") {
		return false
	}
	q.accept("with")
	if q.isPunct('(') && !q.plainOptions() {
		return false
	}
	if q.isWord("where") {
		for !q.atEnd() {
			q.advance()
		}
	}
	if !q.atEnd() {
		return false
	}
	for q.acceptPunct(';') {
	}
	return p.statements == 1 && q.tok.kind == tokEnd && q.params.count == 0
}

// plainOptions moves past the options of a COPY in brackets. It reports false
// when one of them changes how values are read that lib/pq has written: as text,
// a tab behind each, \N for NULL.
func (p *reader) plainOptions() bool {
	p.advance()
	for {
		option := p.tok
		if option.kind != tokWord {
			return false
		}
		p.advance()
		value := ""
		for !p.isPunct(',') && !p.isPunct(')') {
			if p.tok.kind == tokEnd || p.tok.kind == tokError || p.isPunct('(') {
				return false
			}
			value += p.text(p.tok)
			p.advance()
		}
		if !plainOption(p.text(option), value) {
			return false
		}
		if p.acceptPunct(')') {
			return true
		}
		p.advance()
	}
}

// plainOption reports whether an option of COPY leaves the key's value what it
// is. A DEFAULT or another mark of NULL may be the text of a key, a HEADER is a
// row of ours, and CSV reads \x otherwise.
func plainOption(option, value string) bool {
	switch strings.ToLower(option) {
	case "format":
		return strings.EqualFold(strings.Trim(value, `'"`), "text")
	case "delimiter":
		return value == "'\t'" || strings.EqualFold(value, `E'\t'`)
	case "null":
		return value == "''" || value == `'\N'` || value == `E'\\N'` || value == `e'\\N'`
	case "freeze", "encoding", "on_error", "log_verbosity", "reject_limit":
		return true
	}
	return false
}
