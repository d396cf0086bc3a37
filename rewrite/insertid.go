package rewrite

import "strconv"

// MariaDB numbers the rows of an INSERT … SELECT itself, from a number that the
// statement is given for itself:
//
//	SET STATEMENT insert_id=first, auto_increment_increment=1 FOR INSERT INTO t (a) SELECT …
//
// The application's text stays as it came, and so do the values of its rows: nothing
// of it goes through the temporary table that ROW_NUMBER needs, in which a quotient of
// integers loses its digits. MariaDB Knowledge Base, "SET STATEMENT" and "insert_id".
// The number is of a column with AUTO_INCREMENT; the text does not tell whether the key
// is one, and the engine does not stop at the last number that was reserved: both are
// up to the caller.

// given is where an INSERT … SELECT is given its first number.
type given struct {
	at      int  // the offset of the settings
	beside  bool // the statement has settings already, and ours stand in front of them
	isFound bool
}

// numbersGivenTo returns where the INSERT, from whose column list these keys are
// missing, is given the number of its first row.
func (p *parser) numbersGivenTo(in *insertState, missing []int) given {
	switch {
	case p.d.Grammar.StatementSettings == nil, p.limit > 0, p.inside, p.explained, len(missing) != 1:
		return given{}
	}
	if key := &in.Target.Keys[missing[0]]; !key.Counted || !key.Integer {
		return given{}
	}
	if p.settingsOf == in.Offset && p.settings > 0 {
		return given{at: p.settings, beside: true, isFound: true}
	}
	if s := (&scanner{d: p.d, q: p.q}); s.following().start != in.Offset {
		return given{}
	}
	return given{at: in.Offset, isFound: true}
}

// TakesFirst reports whether the engine may number the rows of the text's only INSERT
// itself: see [Plan.TextFrom]. The key is missing from its column list, its keys are
// consecutive integers, and its query calls nothing that may change something.
func (pl *Plan) TakesFirst() bool {
	if len(pl.Inserts) != 1 || pl.Statements != 1 {
		return false
	}
	q := pl.Inserts[0].Query
	return q != nil && q.given.isFound && q.counted && !q.Unsure
}

// NotNumbered returns a refusal where ROW_NUMBER() may change the values of a query, as far
// as the text tells: [Plan.Doubts] may still be settled. It is nil where it does not. The
// plan must not be refused itself.
func (pl *Plan) NotNumbered() *Refusal {
	for i := range pl.Inserts {
		in := &pl.Inserts[i]
		if q := in.Query; q != nil && q.counted && !q.Survives && !in.Explained {
			r := pl.Refused(ErrSelectValues)
			r.Offset = q.changes
			return r
		}
	}
	return nil
}

// TextFrom returns the application's own text, whose rows the engine numbers from first
// on. Its placeholders are the application's. Where no transaction is open the engine
// refuses the text, since more rows than were counted could not be undone then: it works
// the setting out, in which the dialect's proof stands. The plan must be one of which
// TakesFirst reports true.
func (pl *Plan) TextFrom(first int64) string {
	g := pl.Inserts[0].Query.given
	t := &pl.Dialect.Transactions
	b := make([]byte, 0, len(pl.query)+160)
	b = append(b, pl.query[:g.at]...)
	if !g.beside {
		b = append(b, "SET STATEMENT "...)
	}
	b = append(append(b, "insert_id="...), t.KeyOpen...)
	b = append(strconv.AppendInt(b, first, 10), t.KeyShut...)
	b = append(b, ", auto_increment_increment=1"...)
	if g.beside {
		b = append(b, ", "...)
	} else {
		b = append(b, " FOR "...)
	}
	return string(append(b, pl.query[g.at:]...))
}
