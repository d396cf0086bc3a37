package words

// Left is the set of things that a text is known to leave unchanged. Everything else may
// have changed. An unknown word only costs a question to the server.
type Left uint16

const (
	// TablesLeft means that all tables stay as they are: see effects.LeavesTables.
	TablesLeft Left = 1 << iota
	// PlaceLeft means that the session looks for tables in the same schemas: see
	// effects.LeavesPlace.
	PlaceLeft
	// SettingsLeft means that the session's settings stay. Statements about rows change
	// them only by functions. MySQL and MariaDB restore sql_mode after a function (8.4
	// manual, section 15.1.17; seen on MariaDB 10.11). PostgreSQL's set_config does not,
	// and keyfill does not notice a trigger that calls it.
	SettingsLeft
	// CatalogLeft means that the definitions of all objects stay, and that the text takes no
	// lock on a table as a change of its definition does. Functions that the text calls are
	// not considered.
	CatalogLeft
	// TransactionLeft means that an open transaction stays open and keeps all its changes: the
	// text has only statements about rows.
	TransactionLeft
	// NamesLeft means that no object is made, renamed or dropped: see effects.MakesNames.
	NamesLeft
	// RowsLeft means that no table gets the name of another table: see effects.Renames.
	RowsLeft

	// OneLeft means that the text runs as one transaction, or within the open transaction.
	OneLeft
	// WayLeft means the same as PlaceLeft, except that functions which a definition calls,
	// and statements which EXPLAIN runs, are ignored: see effects.MovesPlace.
	WayLeft
)

// AllLeft is the full set: the text changes nothing.
const AllLeft = WayLeft<<1 - 1

// AnyWay is PlaceLeft and WayLeft together.
const AnyWay = PlaceLeft | WayLeft

// UnknownLeft is what a statement leaves unchanged if its first word is unknown. All words
// that change names or exchange rows are known.
const UnknownLeft = NamesLeft | RowsLeft
