package tree

// Kind is a judge's class of a whole text, by which the report counts texts.
type Kind string

// The kinds of texts.
const (
	KindOther    Kind = "other"           // a text without an INSERT
	KindBody     Kind = "in a body"       // INSERTs only in bodies of routines, triggers, rules
	KindNoTable  Kind = "no table"        // the INSERT is into a variable, a function, a subquery, #name
	KindValues   Kind = "values"          // one INSERT … (columns) VALUES, or of empty rows
	KindSet      Kind = "set"             // one INSERT … SET
	KindDefault  Kind = "default values"  // one INSERT … DEFAULT VALUES
	KindCount    Kind = "count differs"   // the number of values in a row differs from the number of columns
	KindUnlisted Kind = "no column list"  // VALUES or a query without a column list
	KindQuery    Kind = "select"          // one INSERT … (columns) SELECT
	KindExec     Kind = "exec"            // one INSERT … EXEC
	KindSeveral  Kind = "several"         // several statements, each INSERT with its columns and rows
	KindMixed    Kind = "several, others" // several statements, at least one with an INSERT of another form
	KindWrapped  Kind = "wrapped: "       // the beginning of a kind, which the Wrap of the INSERT follows
)

// Kind returns the kind of the text.
func (t *Text) Kind() Kind {
	inserts := t.Inserts()
	var wrap Wrap
	bodies, noTable, values := 0, 0, 0
	for _, f := range inserts {
		switch {
		case f.Wrap == Body:
			bodies++
		case f.Insert.NoTable:
			noTable++
		case f.Wrap != "":
			if wrap == "" {
				wrap = f.Wrap
			}
		case f.Insert.kind().Rows():
			values++
		}
	}
	mine := len(inserts) - bodies - noTable
	switch {
	case len(inserts) == 0 && t.Load != "":
		return Kind(t.Load)
	case len(inserts) == 0:
		return KindOther
	case mine == 0 && noTable == 0:
		return KindBody
	case mine == 0:
		return KindNoTable
	case wrap != "":
		return KindWrapped + Kind(wrap)
	case len(t.Statements) > 1 && values == mine:
		return KindSeveral
	case len(t.Statements) > 1 || mine > 1:
		return KindMixed
	}
	for _, f := range inserts {
		if f.Wrap != Body && !f.Insert.NoTable {
			return f.Insert.kind()
		}
	}
	return KindOther
}

// Rows reports whether the text contains the rows and names their columns.
func (k Kind) Rows() bool { return k == KindValues || k == KindSet || k == KindDefault }

// Found is an INSERT, and the kind of statement that contains it.
type Found struct {
	*Insert
	Wrap Wrap // the kind of the containing statement; empty if the INSERT is a statement of its own
}

// Inserts returns all INSERTs of the text, the outer ones first.
func (t *Text) Inserts() []Found {
	var found []Found
	for _, s := range t.Statements {
		s.inserts(s.Wrap, true, &found)
	}
	return found
}

func (n *Node) inserts(wrap Wrap, top bool, found *[]Found) {
	if n == nil {
		return
	}
	if n.Insert != nil {
		w := wrap
		if w == "" && !top {
			w = Nested
		}
		*found = append(*found, Found{n.Insert, w})
	}
	below := func(k *Node) {
		w := wrap
		if k != nil && k.Wrap != "" && (w == "" || k.Wrap == Body) {
			w = k.Wrap
		}
		k.inserts(w, false, found)
	}
	for _, k := range n.Kids {
		below(k)
	}
	if in := n.Insert; in != nil {
		for _, row := range in.Rows {
			for _, v := range row {
				below(v)
			}
		}
		below(in.Source)
		for _, w := range in.With {
			below(w)
		}
	}
}

// kind returns the kind of a text that consists of this INSERT alone.
func (in *Insert) kind() Kind {
	switch {
	case in.Exec:
		return KindExec
	case in.Form == Default:
		return KindDefault
	case in.Form == Set:
		return KindSet
	case in.Form == Query && in.Listed:
		return KindQuery
	case in.Form == Query:
		return KindUnlisted
	}
	for _, row := range in.Rows {
		if !in.Listed && len(row) > 0 {
			return KindUnlisted
		}
	}
	for _, row := range in.Rows {
		if len(row) != len(in.Columns) {
			return KindCount
		}
	}
	return KindValues
}
