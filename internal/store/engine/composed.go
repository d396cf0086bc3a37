package engine

// Statements about rows of keyfill_sequences that every engine has, in its own words.

// MarkRow returns the UPDATE that gives a row another incarnation, where it still has the
// one that was read, and has reserved no integer from a limit on.
func (e *Engine) MarkRow() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", c.words.Hint, "\nSET incarnation = ", c.arg(pVersion))
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value <= ", c.number(pLimit))
	return c.statement()
}

// SettleCandidate returns the UPDATE that makes a candidate, as it was read, a bound row.
func (e *Engine) SettleCandidate() Statement {
	c := e.updateCandidate()
	return c.add("next_value = 1").ifCandidate()
}

// ChangeCandidate returns the UPDATE that gives a candidate, as it was read, another column.
func (e *Engine) ChangeCandidate() Statement {
	c := e.updateCandidate()
	c.add("table_name = ", c.arg(pTable), ", column_name = ", c.arg(pColumn), ", incarnation = ", e.Expressions.Random)
	return c.ifCandidate()
}

func (e *Engine) updateCandidate() *composer {
	c := &composer{words: &e.Words}
	return c.add("UPDATE keyfill_sequences", c.words.Hint, "\nSET ")
}

// ifCandidate ends an UPDATE of a candidate.
func (c *composer) ifCandidate() Statement {
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = 0")
	return c.statement()
}

// RemoveRow returns the DELETE of a row, if it is as it was read.
func (e *Engine) RemoveRow() Statement {
	c := &composer{words: &e.Words}
	c.add("DELETE FROM keyfill_sequences")
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = ", c.number(pNext))
	return c.statement()
}

// RowsBetween returns the query for the rows whose names are not below Name, and below
// Binding: name, next_value, table_name, column_name.
func (e *Engine) RowsBetween() Statement {
	c := &composer{words: &e.Words}
	c.add("SELECT name, ", Wrap(c.words.Digits, "next_value"), ", table_name, column_name FROM keyfill_sequences")
	c.add("\nWHERE name >= ", c.arg(pName), " AND name < ", c.arg(pBinding))
	return c.statement()
}

// FirstLook returns the query for all that is to be known of a sequence before it is used:
// the greatest key of a column, whether rows are hidden, the six values of read, and the
// name of another state's row for the column, or NULL.
func (e *Engine) FirstLook(column, table, hides string) Statement {
	c := &composer{words: &e.Words}
	c.add("SELECT k.greatest, k.hidden, s.next_value, s.incarnation, {server}, s.table_name, s.column_name, s.parameters,\n")
	c.add("(SELECT MIN(o.name) FROM keyfill_sequences o WHERE o.table_name = ", c.arg(pTable), " AND o.column_name = ", c.arg(pColumn),
		" AND o.name NOT IN (", c.arg(pName), ", ", c.arg(pBinding), "))\n")
	c.add("FROM (SELECT MAX(", column, ") AS greatest, ", hides, " AS hidden FROM ", table, ") k\n")
	c.add("LEFT JOIN keyfill_sequences s ON s.name = ", c.arg(pRow))
	return c.statement()
}

// ComposeInstall returns the UPDATE that writes a block into the second row.
func (e *Engine) ComposeInstall() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = ", c.number(pNext))
	return e.composeIncarnation(c)
}

// ComposeTurn returns the UPDATE that puts a block into use. The row goes on above where it
// was raised to meanwhile.
func (e *Engine) ComposeTurn() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = CASE WHEN next_value < ", c.number(pNext))
	c.add(" THEN ", c.number(pNext), " ELSE next_value END")
	return e.composeIncarnation(c)
}

// composeIncarnation ends an UPDATE that replaces an incarnation by another one.
func (e *Engine) composeIncarnation(c *composer) Statement {
	c.add(", incarnation = ", c.arg(pVersion), ", updated_at = ", e.Expressions.Now)
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation))
	return c.statement()
}
