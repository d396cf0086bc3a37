package rewrite

import "slices"

// Insert is one INSERT of a text into a configured table.
type Insert struct {
	Target    *Target
	Offset    int      // of the verb, in bytes
	Rows      int      // VALUES rows; 1 for SET and DEFAULT VALUES; -1 when not known
	Conflict  Conflict // what the engine does with a row that is there already
	Returning bool     // the statement gives rows back
}

// Conflict is what happens to a row whose key or other unique value is there
// already. It decides what the number of affected rows says about the keys.
type Conflict uint8

const (
	ConflictError   Conflict = iota // the statement fails
	ConflictSkip                    // the row is left out: IGNORE, DO NOTHING; with OR FAIL all after it too
	ConflictReplace                 // the old row goes: REPLACE
	ConflictUpdate                  // the old row is changed: DO UPDATE, ON DUPLICATE KEY UPDATE
)

// head is an INSERT up to its table's name.
type head struct {
	target   *Target
	name     name
	conflict Conflict
}

// head reads verb, modifiers, INTO and the table's name. The target is nil
// where the table is not configured or none is named.
func (p *parser) head() head {
	g := &p.d.Grammar
	var h head
	if p.isWord("replace") {
		h.conflict = ConflictReplace
	}
	p.advance()
	if g.OrAction && p.accept("or") {
		switch {
		case p.isWord("ignore"), p.isWord("fail"):
			// FAIL keeps the rows before the one that failed.
			h.conflict = ConflictSkip
		case p.isWord("replace"):
			h.conflict = ConflictReplace
		}
		p.advance()
	}
	if g.Top && p.accept("top") {
		p.brackets()
		p.accept("percent")
	}
	for p.tok.kind == tokWord && p.isAny(g.Modifiers...) {
		if p.isWord("ignore") {
			h.conflict = ConflictSkip
		}
		p.advance()
	}
	if !p.accept("into") && (!g.IntoOptional || p.isAny("values", "default", "select", "on", "to")) {
		return h
	}
	if p.isAny("table", "openquery", "openrowset", "opendatasource") {
		return h
	}
	if n, ok := p.tableName(); ok {
		h.name = n
		h.target = p.lookup(n.schema, n.table)
	}
	return h
}

// brackets moves past a balanced pair of brackets, if one begins here.
func (p *parser) brackets() {
	if !p.isPunct('(') {
		return
	}
	for depth := 0; p.tok.kind != tokEnd; {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		}
		p.advance()
		if depth == 0 {
			return
		}
	}
}

// insertion is an INSERT being read.
type insertion struct {
	Insert
	listed  []int // for each key the column of the list that it is, or -1
	columns int   // length of the column list; -1 without one
	listEnd int   // where the last column of the list ends, or its bracket
	listAt  int   // where a column list goes when there is none
	empty   bool  // the list is ()
}

// insert reads an INSERT or REPLACE from its verb.
func (p *parser) insert() {
	verb := p.tok.start
	g := &p.d.Grammar
	if g.MultiInsert {
		q := *p
		q.advance()
		if q.isAny("all", "first", "when") {
			p.multiTable()
			return
		}
	}
	start := p.tok
	h := p.head()
	switch {
	case h.target == nil:
		if t := p.misread(start, h); t != nil {
			p.refuse(t.target, verb, t.reason)
		}
		p.skip(ErrCTE)
		return
	case h.name.quoted == tokString && !g.StringNames:
		p.refuse(h.target, h.name.start, ErrQuotedTable)
		p.skip(ErrCTE)
		return
	}
	in := insertion{
		Insert:  Insert{Target: h.target, Offset: verb, Rows: -1, Conflict: h.conflict},
		columns: -1,
	}
	n := len(p.edits)
	m := len(p.slots)
	reason := p.rest(&in)
	if reason == "" && !p.atEnd() {
		reason = p.tail(&in)
	}
	if reason != "" {
		p.refuse(h.target, p.tok.start, reason)
		p.edits, p.slots = p.edits[:n], p.slots[:m]
		p.skip(ErrCTE)
	}
	p.inserts = append(p.inserts, in.Insert)
}

// misreading is a configured table whose INSERT could not be read.
type misreading struct {
	target *Target
	reason Reason
}

// misread looks behind an INSERT without a table's name that is configured: an
// executable comment or a query in the target's place may hide one.
func (p *parser) misread(verb token, h head) *misreading {
	rest := p.q[verb.start:]
	switch {
	case h.name.table != "":
	case p.tok.kind == tokExec:
		if t := p.mentioned(rest); t != nil {
			return &misreading{t, ErrExecutableComment}
		}
	case p.d.Grammar.MultiInsert:
		if t := p.mentioned(rest); t != nil {
			return &misreading{t, ErrSubquery}
		}
	}
	return nil
}

// multiTable refuses INSERT ALL, FIRST and WHEN if one of its targets is
// configured.
func (p *parser) multiTable() {
	for !p.atEnd() {
		at := p.tok.start
		if p.accept("into") {
			if n, ok := p.tableName(); ok {
				if t := p.lookup(n.schema, n.table); t != nil {
					p.refuse(t, at, ErrMultiTable)
				}
			}
			continue
		}
		p.advance()
	}
}

// rest reads an INSERT from behind its table's name up to the tail.
func (p *parser) rest(in *insertion) Reason {
	if reason := p.decoration(); reason != "" {
		return reason
	}
	in.listAt = p.prev
	in.listed = make([]int, len(in.Target.Keys))
	for i := range in.listed {
		in.listed[i] = -1
	}
	if p.isPunct('(') && !p.queryInBrackets() {
		if reason := p.columnList(in); reason != "" {
			return reason
		}
	}
	if p.d.Grammar.Output && p.isWord("output") {
		p.output(in)
	}
	if p.d.Grammar.Overriding && p.accept("overriding") {
		if !p.accept("system") && !p.accept("user") || !p.accept("value") {
			return ErrGrammar
		}
	}
	return p.body(in)
}

// decoration reads what may stand between a table's name and the column list.
func (p *parser) decoration() Reason {
	g := &p.d.Grammar
	if g.DBLink && p.acceptPunct('@') {
		if _, ok := p.tableName(); !ok {
			return ErrGrammar
		}
	}
	if g.Partition && (p.accept("partition") || p.accept("subpartition")) {
		p.accept("for")
		if !p.isPunct('(') {
			return ErrGrammar
		}
		p.brackets()
	}
	if g.AliasAs && p.accept("as") {
		if p.tok.kind != tokWord && p.tok.kind != tokQuoted {
			return ErrGrammar
		}
		p.advance()
	}
	if g.TableHints && p.isWord("with") {
		q := *p
		if q.advance(); q.isPunct('(') {
			p.advance()
			p.brackets()
		}
	}
	if g.AliasBare && (p.tok.kind == tokQuoted || p.tok.kind == tokWord &&
		!p.isAny("values", "select", "with", "set", "by", "table")) {
		p.advance()
	}
	return ""
}

// queryInBrackets reports whether the bracket here opens a query, not a column
// list.
func (p *parser) queryInBrackets() bool {
	q := *p
	q.advance()
	return q.isPunct('(') || q.isAny("select", "with", "values", "table")
}

// columnList reads "(a, b)" and notes where the keys stand in it.
func (p *parser) columnList(in *insertion) Reason {
	p.advance()
	in.columns, in.listEnd = 0, p.prev
	if p.acceptPunct(')') {
		if !p.d.Grammar.EmptyLists {
			return ErrGrammar
		}
		in.empty = true
		return ""
	}
	for {
		column, plain, ok := p.column()
		if !ok {
			return p.grammar()
		}
		for i := range in.Target.Keys {
			if in.Target.Keys[i].Column == column {
				if !plain {
					return ErrTarget
				}
				if in.listed[i] >= 0 {
					return ErrGrammar
				}
				in.listed[i] = in.columns
			}
		}
		in.columns++
		in.listEnd = p.prev
		if p.acceptPunct(')') {
			return ""
		}
		if !p.acceptPunct(',') {
			return p.grammar()
		}
	}
}

// grammar is the reason for a token that has no place here.
func (p *parser) grammar() Reason {
	if p.tok.kind == tokExec {
		return ErrExecutableComment
	}
	return ErrGrammar
}

// column reads one column of a list: a name, qualified by the table's where
// the dialect allows it, else with fields or subscripts behind it.
func (p *parser) column() (folded string, plain, ok bool) {
	fields := p.d.Grammar.FieldTargets
	plain = true
	for p.d.Grammar.OmittedParts && p.isPunct('.') {
		p.advance()
	}
	first := true
	for {
		if p.tok.kind != tokWord && p.tok.kind != tokQuoted && !(p.tok.kind == tokString && p.d.Grammar.StringNames) {
			return "", false, false
		}
		if first || !fields {
			folded = p.d.Fold(p.unquote(p.text(p.tok), p.tok.kind))
		}
		first = false
		p.advance()
		for fields && p.isPunct('[') {
			plain = false
			if !p.subscript() {
				return "", false, false
			}
		}
		if !p.isPunct('.') {
			return folded, plain, true
		}
		plain = plain && !fields
		for p.isPunct('.') {
			p.advance()
		}
	}
}

// subscript moves past "[…]".
func (p *parser) subscript() bool {
	for depth := 0; !p.atEnd(); {
		switch {
		case p.isPunct('['):
			depth++
		case p.isPunct(']'):
			depth--
		case p.tok.kind == tokError, p.tok.kind == tokExec:
			return false
		}
		p.advance()
		if depth == 0 {
			return true
		}
	}
	return false
}

// output moves past SQL Server's OUTPUT clauses: Transact-SQL reference,
// "OUTPUT clause".
func (p *parser) output(in *insertion) {
	in.Returning = true
	into := false
	for depth := 0; !p.atEnd(); p.advance() {
		switch {
		case p.isPunct('('):
			depth++
		case p.isPunct(')'):
			depth--
		case depth > 0 || p.tok.kind != tokWord:
		case p.isAny("values", "default", "select", "exec", "execute", "with"):
			return
		case p.isWord("into"):
			into = true
			in.Returning = false
		case p.isWord("output") && into:
			in.Returning = true
		}
	}
}

// body reads where the rows come from.
func (p *parser) body(in *insertion) Reason {
	g := &p.d.Grammar
	at := p.tok
	switch {
	case p.isWord("values"), g.ValueWord && p.isWord("value"):
		p.advance()
		return p.rows(in)
	case g.DefaultValues && p.isWord("default"):
		p.advance()
		if !p.isWord("values") || in.columns >= 0 {
			return p.grammar()
		}
		p.advance()
		p.defaultValues(in, at.start)
		return ""
	case g.Set && p.isWord("set") && in.columns < 0:
		p.advance()
		return p.set(in)
	case p.isAny("select", "with", "table"), p.isPunct('('):
		return p.query(in, ErrSelect)
	case p.isAny("exec", "execute"):
		return p.query(in, ErrExec)
	}
	return p.grammar()
}

// query reads rows that come from elsewhere: nothing is to fill when the
// column list names every key.
func (p *parser) query(in *insertion, reason Reason) Reason {
	for i, k := range in.Target.Keys {
		if in.listed[i] < 0 && k.Fill&FillMissing != 0 {
			if in.columns < 0 {
				return p.unlisted(in, reason)
			}
			return reason
		}
	}
	for !p.atEnd() {
		p.nested(ErrCTE)
		if p.isWord("returning") {
			in.Returning = true
		}
		p.advance()
	}
	return ""
}

// unlisted is the reason for a query without a column list.
func (p *parser) unlisted(in *insertion, reason Reason) Reason {
	if len(in.Target.Columns) == 0 {
		return ErrNoColumnList
	}
	return reason
}

// missing returns the keys that the column list does not name and the policy
// fills then.
func (in *insertion) missing() []int {
	var keys []int
	for i, k := range in.Target.Keys {
		if in.listed[i] < 0 && k.Fill&FillMissing != 0 {
			keys = append(keys, i)
		}
	}
	return keys
}

// list writes a column list, or adds the missing keys to the one there is.
func (p *parser) list(in *insertion, columns []string, missing []int) {
	var names []string
	names = append(names, columns...)
	for _, k := range missing {
		names = append(names, in.Target.Keys[k].Column)
	}
	if len(names) == 0 {
		return
	}
	var b []byte
	for i, n := range names {
		if i > 0 || in.columns > 0 {
			b = append(b, ", "...)
		}
		b = append(b, p.d.QuoteIdent(n)...)
	}
	if in.columns >= 0 {
		p.edit(in.listEnd, in.listEnd, string(b))
		return
	}
	p.edit(in.listAt, in.listAt, " ("+string(b)+")")
}

func (p *parser) edit(start, end int, text string) {
	p.edits = append(p.edits, edit{start: start, end: end, text: text, slot: -1})
}

// slot queues a key for the span, behind text.
func (p *parser) slot(start, end int, text string, s slot) {
	s.insert = len(p.inserts)
	s.before = p.params.count
	p.edits = append(p.edits, edit{start: start, end: end, text: text, slot: len(p.slots)})
	p.slots = append(p.slots, s)
}

// defaultValues turns DEFAULT VALUES into a row with the keys.
func (p *parser) defaultValues(in *insertion, start int) {
	in.Rows = 1
	missing := in.missing()
	if len(missing) == 0 {
		return
	}
	p.list(in, nil, missing)
	end := p.prev
	for i, k := range missing {
		if i == 0 {
			p.slot(start, end, "VALUES (", slot{key: k})
			continue
		}
		p.slot(end, end, ", ", slot{key: k})
	}
	p.edit(end, end, ")")
}

// set reads MySQL's SET a = 1, b = 2.
func (p *parser) set(in *insertion) Reason {
	in.Rows = 1
	for {
		column, _, ok := p.column()
		if !ok {
			return p.grammar()
		}
		p.acceptPunct(':')
		if !p.acceptPunct('=') {
			return p.grammar()
		}
		v, reason := p.value(true)
		if reason != "" {
			return reason
		}
		for i, k := range in.Target.Keys {
			if k.Column == column {
				in.listed[i] = 0
				p.judge(in, i, 0, v)
			}
		}
		if !p.acceptPunct(',') {
			break
		}
	}
	end := p.prev
	for _, k := range in.missing() {
		p.slot(end, end, ", "+p.d.QuoteIdent(in.Target.Keys[k].Column)+" = ", slot{key: k})
	}
	return ""
}

// rows reads VALUES rows.
func (p *parser) rows(in *insertion) Reason {
	if p.d.Grammar.RowWord {
		p.accept("row")
	}
	if !p.isPunct('(') {
		return p.grammar()
	}
	width := in.columns
	var columns []string
	if in.columns <= 0 {
		q := *p
		width = q.width()
		var reason Reason
		if columns, reason = p.implied(in, width); reason != "" {
			return reason
		}
	}
	missing := in.missing()
	p.list(in, columns, missing)
	exact := in.columns <= 0 || slices.Max(in.listed) >= 0
	for in.Rows = 0; ; {
		n, star, reason := p.row(in, missing)
		if reason != "" {
			return reason
		}
		if exact && (star || n != width) {
			return ErrColumnCount
		}
		in.Rows++
		if !p.acceptPunct(',') {
			return ""
		}
		if p.d.Grammar.RowWord {
			p.accept("row")
		}
		if !p.isPunct('(') {
			return p.grammar()
		}
	}
}

// implied returns the columns that n values without a column list belong to,
// and notes which of them are keys.
func (p *parser) implied(in *insertion, n int) ([]string, Reason) {
	columns := in.Target.Columns
	switch {
	case n == 0 && p.d.Grammar.EmptyLists:
		return nil, ""
	case n <= 0 || columns == nil:
		return nil, ErrNoColumnList
	case p.d.Grammar.FirstColumns && n < len(columns):
		columns = columns[:n]
	case n != len(columns):
		return nil, ErrColumnCount
	}
	for i, k := range in.Target.Keys {
		in.listed[i] = slices.Index(columns, k.Column)
	}
	return columns, ""
}

// width counts the values of the row that begins here; -1 when they cannot be
// counted.
func (p *parser) width() int {
	p.advance()
	if p.isPunct(')') {
		return 0
	}
	for n := 1; ; n++ {
		v, reason := p.value(false)
		if reason != "" || v.star {
			return -1
		}
		if !p.acceptPunct(',') {
			return n
		}
	}
}

// row reads one VALUES row from its bracket, judges the values in the keys'
// places and appends the missing keys. It returns how many values it had and
// whether one stands for several.
func (p *parser) row(in *insertion, missing []int) (n int, star bool, reason Reason) {
	p.advance()
	if !p.isPunct(')') {
		for {
			v, reason := p.value(false)
			if reason != "" {
				return 0, false, reason
			}
			star = star || v.star
			for i := range in.listed {
				if in.listed[i] == n {
					p.judge(in, i, in.Rows, v)
				}
			}
			n++
			if !p.acceptPunct(',') {
				break
			}
		}
		if !p.isPunct(')') {
			return 0, false, p.grammar()
		}
	}
	end := p.prev
	for i, k := range missing {
		text := ", "
		if n == 0 && i == 0 {
			text = ""
		}
		p.slot(end, end, text, slot{key: k, row: in.Rows})
	}
	p.advance()
	return n, star, ""
}
