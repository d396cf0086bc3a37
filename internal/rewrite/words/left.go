package words

// Left is the set of what a text leaves unchanged. All else may have changed: an unknown
// word only costs a question to the server.
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
	// CatalogLeft means that the catalog stays, and that the text takes no lock on a
	// table as a change of it does. What called functions do is unknown.
	CatalogLeft
	// TransactionLeft means that an open transaction stays, with all its changes: the
	// text has statements about rows alone.
	TransactionLeft
	// NamesLeft means that nothing is made, renamed or dropped: see effects.MakesNames.
	NamesLeft
	// RowsLeft means that no table gets another one's name: see effects.Renames.
	RowsLeft

	// OneLeft means that the text runs as one transaction, or within the open one.
	OneLeft
	// WayLeft is PlaceLeft without regard to what a definition calls and EXPLAIN runs:
	// see effects.MovesPlace.
	WayLeft
)

// AllLeft means that nothing has changed.
const AllLeft = WayLeft<<1 - 1

// AnyWay is PlaceLeft and WayLeft.
const AnyWay = PlaceLeft | WayLeft

// UnknownLeft is what a statement leaves if its first word is unknown: only known words
// change names and rows.
const UnknownLeft = NamesLeft | RowsLeft
