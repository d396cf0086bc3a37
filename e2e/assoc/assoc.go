// Package assoc has the types in which the programs in its folders report: what an
// application with associations of every kind stores through GORM, and which ids its
// structs have then.
package assoc

// Struct is a struct with an id, or a reference to one ("-> name").
type Struct struct {
	Table, Name string
	ID          any
}

// Outcome is the result of a step of a program.
type Outcome struct {
	Step    string
	Failed  bool
	Structs []Struct

	Labels []string // for each id of the structs: the name of the row with that id, "0", or "unstored"
	Rows   []string // the rows of the tables, with references as names
}
