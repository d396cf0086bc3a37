package store

// Statements about rows of keyfill_sequences that every engine has, but for the words.

// markRow returns the UPDATE that gives a row another incarnation, where it still has the
// one that was read, and has reserved no integer from a limit on.
func (e *engine) markRow() statement {
	c := &composer{words: &e.words}
	c.add("UPDATE keyfill_sequences", c.words.hint, "\nSET incarnation = ", c.arg(pVersion))
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value <= ", c.number(pLimit))
	return c.statement()
}

// settleCandidate returns the UPDATE that makes a candidate, as it was read, a bound row.
func (e *engine) settleCandidate() statement {
	c := e.updateCandidate()
	return c.add("next_value = 1").ifCandidate()
}

// changeCandidate returns the UPDATE that gives a candidate, as it was read, another column.
func (e *engine) changeCandidate() statement {
	c := e.updateCandidate()
	c.add("table_name = ", c.arg(pTable), ", column_name = ", c.arg(pColumn), ", incarnation = ", e.random)
	return c.ifCandidate()
}

func (e *engine) updateCandidate() *composer {
	c := &composer{words: &e.words}
	return c.add("UPDATE keyfill_sequences", c.words.hint, "\nSET ")
}

// ifCandidate ends an UPDATE of a candidate.
func (c *composer) ifCandidate() statement {
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = 0")
	return c.statement()
}

// removeRow returns the DELETE of a row, if it is as it was read.
func (e *engine) removeRow() statement {
	c := &composer{words: &e.words}
	c.add("DELETE FROM keyfill_sequences")
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation), " AND next_value = ", c.number(pNext))
	return c.statement()
}

// rowsBetween returns the query for the rows whose names are not below Name, and below
// Binding: name, next_value, table_name, column_name.
func (e *engine) rowsBetween() statement {
	c := &composer{words: &e.words}
	c.add("SELECT name, ", wrap(c.words.digits, "next_value"), ", table_name, column_name FROM keyfill_sequences")
	c.add("\nWHERE name >= ", c.arg(pName), " AND name < ", c.arg(pBinding))
	return c.statement()
}

// firstLook returns the query for all that is to be known of a sequence before it is used:
// the greatest key of a column, whether rows are hidden, the six values of read, and the
// name of another state's row for the column, or NULL.
func (e *engine) firstLook(column, table, hides string) statement {
	c := &composer{words: &e.words}
	c.add("SELECT k.greatest, k.hidden, s.next_value, s.incarnation, {server}, s.table_name, s.column_name, s.parameters,\n")
	c.add("(SELECT MIN(o.name) FROM keyfill_sequences o WHERE o.table_name = ", c.arg(pTable), " AND o.column_name = ", c.arg(pColumn),
		" AND o.name NOT IN (", c.arg(pName), ", ", c.arg(pBinding), "))\n")
	c.add("FROM (SELECT MAX(", column, ") AS greatest, ", hides, " AS hidden FROM ", table, ") k\n")
	c.add("LEFT JOIN keyfill_sequences s ON s.name = ", c.arg(pRow))
	return c.statement()
}

// composeInstall returns the UPDATE that writes a block into the second row.
func (e *engine) composeInstall() statement {
	c := &composer{words: &e.words}
	c.add("UPDATE keyfill_sequences", e.words.hint, "\nSET next_value = ", c.number(pNext))
	return e.composeIncarnation(c)
}

// composeTurn returns the UPDATE that puts a block into use. The row goes on above where it
// was raised to meanwhile.
func (e *engine) composeTurn() statement {
	c := &composer{words: &e.words}
	c.add("UPDATE keyfill_sequences", e.words.hint, "\nSET next_value = CASE WHEN next_value < ", c.number(pNext))
	c.add(" THEN ", c.number(pNext), " ELSE next_value END")
	return e.composeIncarnation(c)
}

// composeIncarnation ends an UPDATE that replaces an incarnation by another one.
func (e *engine) composeIncarnation(c *composer) statement {
	c.add(", incarnation = ", c.arg(pVersion), ", updated_at = ", e.now)
	c.add("\nWHERE name = ", c.arg(pName), " AND incarnation = ", c.arg(pIncarnation))
	return c.statement()
}
