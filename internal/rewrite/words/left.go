package words

// Left is a set of what a text leaves as it is. What is not in it may have changed: a word
// that keyfill does not know costs a question to the server, and no more.
type Left uint16

const (
	// TablesLeft says so of the tables: see effects.LeavesTables.
	TablesLeft Left = 1 << iota
	// PlaceLeft says so of where the session looks for tables: see effects.LeavesPlace.
	PlaceLeft
	// SettingsLeft says so of the settings of the session. Statements about rows change
	// them only by functions. A function of MySQL or MariaDB puts sql_mode back (8.4
	// manual, section 15.1.17; seen on MariaDB 10.11). PostgreSQL's set_config does not,
	// and a trigger that calls it is not seen.
	SettingsLeft
	// CatalogLeft says so of the catalog, without a lock on a table as a change of it
	// takes. A function that is called is not looked into.
	CatalogLeft
	// TransactionLeft says so of a transaction that is open, and of all that was done in
	// it: the text has statements about rows alone.
	TransactionLeft
	// NamesLeft says that nothing is made, renamed or dropped: see effects.MakesNames.
	NamesLeft
	// RowsLeft says that no table gets the name of another one: see effects.Renames.
	RowsLeft

	// OneLeft says that the text runs as one transaction, or within the one that is open.
	OneLeft
	// WayLeft says what PlaceLeft does, but for what a definition calls, and what EXPLAIN
	// runs: see effects.MovesPlace.
	WayLeft
)

// AllLeft says that nothing has changed.
const AllLeft = WayLeft<<1 - 1

// AnyWay holds both bits of the place.
const AnyWay = PlaceLeft | WayLeft

// UnknownLeft is what a statement leaves whose first word is not known: only known words
// change it.
const UnknownLeft = NamesLeft | RowsLeft
