// Package assoc is what the programs in its folders say of themselves: what an
// application with associations of every kind stores through GORM, and which ids its
// structs have then.
package assoc

// Struct is a struct with an id, or a reference to one ("-> name").
type Struct struct {
	Table, Name string
	ID          any
}

// Outcome is what a step of a program leaves.
type Outcome struct {
	Step    string
	Failed  bool
	Structs []Struct

	Labels []string // of the ids of structs: the name of the row with that id, "0", or "unstored"
	Rows   []string // of the tables, with references as names
}
