package keys

// Drawing is what keys are drawn for: a key column, on a connection.
type Drawing struct {
	db    *Tables
	on    *Conn // nil where states have connections of their own
	table *Table
	index int // of the key
	key   *Column
}

// DrawingFor returns the drawing for the key column of index i of a table. The
// connection may be nil where states have connections of their own.
func (db *Tables) DrawingFor(g *Conn, t *Table, i int) Drawing {
	return Drawing{db: db, on: g, table: t, index: i, key: &t.KeyColumns[i]}
}

// making is a drawing whose counter is made, for a state of a name.
type making struct {
	Drawing
	state string
}
