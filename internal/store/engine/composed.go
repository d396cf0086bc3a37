package engine

// The statements below are about rows of keyfill_sequences. Every engine has them, in
// its own words.

// MarkRow returns the UPDATE that replaces the incarnation (the random text) of a row,
// if the row still has the incarnation that was read and has reserved no integer from a
// limit on.
func (e *Engine) MarkRow() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", c.words.Hint, "\nSET incarnation = ", c.arg(pVersion))
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value <= ", c.number(pLimit))
	return c.statement()
}

// SettleCandidate returns the UPDATE that turns a candidate (a row that does not hold
// its column yet) into a bound row, if the candidate is still as it was read.
func (e *Engine) SettleCandidate() Statement {
	c := e.updateCandidate()
	return c.add("next_value = 1").ifCandidate()
}

// ChangeCandidate returns the UPDATE that writes another column into a candidate (a row
// that does not hold its column yet), if the candidate is still as it was read.
func (e *Engine) ChangeCandidate() Statement {
	c := e.updateCandidate()
	c.add("table_name = ", c.arg(pTable), ", column_name = ", c.arg(pColumn), ", incarnation = ", e.Expressions.Random)
	return c.ifCandidate()
}

func (e *Engine) updateCandidate() *composer {
	c := &composer{words: &e.Words}
	return c.add("UPDATE keyfill_sequences", c.words.Hint, "\nSET ")
}

// ifCandidate adds the condition of an UPDATE of a candidate (a row that does not hold its
// column yet), and returns the statement.
func (c *composer) ifCandidate() Statement {
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = 0")
	return c.statement()
}

// RemoveRow returns the statement that deletes a row, if the row is still as it was
// read.
func (e *Engine) RemoveRow() Statement {
	c := &composer{words: &e.Words}
	c.add("DELETE FROM keyfill_sequences")
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = ", c.number(pNext))
	return c.statement()
}

// RowsBetween returns the query for the rows whose names are at least Name and below
// Binding. It selects name, next_value, table_name and column_name.
func (e *Engine) RowsBetween() Statement {
	c := &composer{words: &e.Words}
	c.add("SELECT name, ", Wrap(c.words.Digits, "next_value"), ", table_name, column_name FROM keyfill_sequences")
	c.add("\nWHERE name >= ", c.arg(pName), " AND name < ", c.arg(pBinding))
	return c.statement()
}

// FirstLook returns one query for everything that must be known before a sequence is
// used: the greatest key of a column, whether rows are hidden from the user, the six
// values that SequenceStatements.Read selects, and the name of another stored counter's
// row for the column, or NULL; and the value of TwoWay.Hint, if the engine has one.
func (e *Engine) FirstLook(column, table, hides string) Statement {
	c := &composer{words: &e.Words}
	c.add("SELECT k.greatest, k.hidden, s.next_value, s.incarnation, {server}, s.table_name, s.column_name, s.parameters,\n")
	c.add("(SELECT MIN(o.name) FROM keyfill_sequences o WHERE o.table_name = ", c.arg(pTable), " AND o.column_name = ", c.arg(pColumn),
		" AND o.name NOT IN (", c.arg(pName), ", ", c.arg(pBinding), "))")
	if e.TwoWay.Hint != "" {
		c.add(",\n", e.TwoWay.Hint)
	}
	c.add("\n")
	c.add("FROM (SELECT MAX(", column, ") AS greatest, ", hides, " AS hidden FROM ", table, ") k\n")
	c.add("LEFT JOIN keyfill_sequences s ON s.name = ", c.arg(pRow))
	return c.statement()
}

// ComposeInstall returns the UPDATE that writes a block (a reserved range of integers)
// into the second row of a sequence.
func (e *Engine) ComposeInstall() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = ", c.number(pNext))
	return e.composeIncarnation(c)
}

// ComposeTurn returns the UPDATE that puts a block (a reserved range of integers) into
// use: next_value becomes the first integer of the block, unless it is greater already.
func (e *Engine) ComposeTurn() Statement {
	c := &composer{words: &e.Words}
	c.add("UPDATE keyfill_sequences", e.Words.Hint, "\nSET next_value = CASE WHEN next_value < ", c.number(pNext))
	c.add(" THEN ", c.number(pNext), " ELSE next_value END")
	return e.composeIncarnation(c)
}

// composeIncarnation adds the end of an UPDATE that also replaces the row's incarnation
// (a random text), if that is still the one that was read.
func (e *Engine) composeIncarnation(c *composer) Statement {
	c.add(", incarnation = ", c.arg(pVersion), ", updated_at = ", e.Expressions.Now)
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation))
	return c.statement()
}
