package statements_test

import (
	"slices"
)

// The rows of docs/deviations.md, by their first cells.
const (
	devSession      = "`LAST_INSERT_ID()` keeps its old value after an INSERT with IGNORE or an upsert clause, or with one of its keys as an expression. LastInsertId is the key."
	devFails        = "`LAST_INSERT_ID()` is a key that is not stored after an INSERT of one row that failed."
	devFailsBetween = "`LAST_INSERT_ID()` keeps its old value after an INSERT of several rows that failed after the first row and before the last. The plain driver gives the number of the first row, which is not stored."
	devUpsert       = "LastInsertId is 0 after an upsert that inserted no row. An upsert of one row gives the id of the updated row if the table has just one other unique index, the values for its columns are arguments or plain literals, and the upsert does not change them."
	devUpsertBeside = "LastInsertId is 0 after an INSERT of several rows that has stored none of the filled ones, unless its last row brought its key as a number and is stored, or has changed the row of that key."
	devIdiom        = "LastInsertId and `LAST_INSERT_ID()` are the id of the last updated row after an upsert of several rows with `LAST_INSERT_ID(id)`."
	devOwnKey       = "LastInsertId is 0 after an INSERT that brings all its keys."
	devLaterTrigger = "A trigger created after the first filled INSERT that reads `LAST_INSERT_ID()` for the last row gets the key of the first row instead of the value before. LastInsertId is 0 then."
	devRowID        = "`last_insert_rowid()` is the rowid, which is not the key."
	devOwnRowID     = "LastInsertId is the rowid, which is not the key, after an INSERT that brings all its keys."
	devOwnLast      = "LastInsertId is 0 after an INSERT whose last row brings its key and another one does not."
	devStale        = "LastInsertId is 0 after an INSERT that stored no new row. The plain driver gives the id of an earlier INSERT."
	devTrigger      = "`LAST_INSERT_ID()` keeps its old value after an INSERT into a table with INSERT triggers, with triggers that the user may not see, or with `@@last_insert_id` in a default. LastInsertId is the key."
)

// The ends of upserts.
const (
	update = " ON DUPLICATE KEY UPDATE n = VALUES(n)"
	idiom  = " ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)"
	leave  = " ON DUPLICATE KEY UPDATE `id`=`id`"
)

// lastIDCells are the cells for MariaDB.
var lastIDCells = slices.Concat(plainCells, listedCells, ignoreCells, upsertCells, leaveCells, idiomCells, replaceCells, parentCells)

// plainCells do not name the key.
var plainCells = []lastIDCell{
	{name: "one row", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a"},
	{name: "many rows", query: "INSERT INTO {t} (code) VALUES (?), (?), (?)", args: []any{"a", "b", "c"},
		native: "a a"},
	{name: "SET", query: "INSERT INTO {t} SET code = ?", args: []any{"a"},
		native: "a a"},
	{name: "VALUE", query: "INSERT {t} (code) VALUE (?)", args: []any{"a"},
		native: "a a"},
	{name: "no columns", query: "INSERT INTO {t} () VALUES ()",
		native: "null null"},
	{name: "functions", query: "INSERT INTO {t} (code, n) VALUES (CONCAT(?, 'x'), LENGTH(?))", args: []any{"a", "b"},
		native: "ax ax"},
	{name: "fails", query: "INSERT INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "error parent", filled: "error unstored", deviation: devFails},
	{name: "fails in the first row", query: "INSERT INTO {t} (code) VALUES (?), (?)", args: []any{"old", "a"},
		native: "error parent"},
	{name: "fails between", query: "INSERT INTO {t} (code) VALUES (?), (?), (?)", args: []any{"a", "old", "b"},
		native: "error unstored", filled: "error parent", deviation: devFailsBetween},
	{name: "fails in the second row", query: "INSERT INTO {t} (code) VALUES (?), (?)", args: []any{"a", "old"},
		native: "error unstored"},
}

// listedCells have the key among their columns.
var listedCells = []lastIDCell{
	{name: "listed null", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{nil, "a"},
		native: "a a"},
	{name: "listed zero", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{0, "a"},
		native: "a a"},
	{name: "listed default", query: "INSERT INTO {t} (id, code) VALUES (DEFAULT, ?)", args: []any{"a"},
		native: "a a"},
	{name: "listed nulls", query: "INSERT INTO {t} (code, id) VALUES (?, NULL), (?, ?), (?, ?)", args: []any{"a", "b", nil, "c", 0},
		native: "a a"},
	{name: "listed SET", query: "INSERT INTO {t} SET id = ?, code = ?", args: []any{nil, "a"},
		native: "a a"},
	{name: "own key", query: "INSERT INTO {t} (id, code) VALUES (?, ?)", args: []any{900, "a"},
		native: "a parent", filled: "none parent", deviation: devOwnKey},
	{name: "own keys", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{900, "a", 901, "b"},
		native: "b parent", filled: "none parent", deviation: devOwnKey},
	{name: "own key first", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{400, "a", nil, "b"},
		native: "b b"},
	{name: "own key last", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", 400, "b"},
		native: "a a"},
	{name: "own key between", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, LENGTH(?)), (?, ?, 2), (?, ?, 3)", args: []any{nil, "a", "xyz", 400, "b", nil, "c"},
		native: "a a"},
	{name: "own key as text", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "a", "401", "b"},
		native: "a a"},
	{name: "listed in the middle", query: "INSERT INTO {t} (code, id, n) VALUES (?, ?, ?)", args: []any{"a", nil, 3},
		native: "a a"},
	{name: "listed last", query: "INSERT INTO {t} (code, id) VALUES (?, ?)", args: []any{"a", nil},
		native: "a a"},
	{name: "listed in brackets", query: "INSERT INTO {t} (id, code) VALUES ((?), ?), (CAST(? AS SIGNED), ?)", args: []any{nil, "a", nil, "b"},
		native: "a a"},
	{name: "listed beside itself", query: "INSERT INTO {t} (id, code, n) VALUES (NULL, ?, id * 2)", args: []any{"a"},
		native: "a a"},
	{name: "listed without columns", query: "INSERT INTO {t} VALUES (?, ?, 2, 3, 4)", args: []any{nil, "a"},
		native: "a a"},
	{name: "listed with an expression", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (400 + 1, ?)", args: []any{nil, "a", "b"},
		native: "a a", filled: "a parent", deviation: devSession},
}

// ignoreCells leave rows out.
var ignoreCells = []lastIDCell{
	{name: "IGNORE", query: "INSERT IGNORE INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "IGNORE many", query: "INSERT IGNORE INTO {t} (code) VALUES (?), (?)", args: []any{"a", "b"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "IGNORE alone", query: "INSERT IGNORE INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "none parent"},
	{name: "IGNORE first", query: "INSERT IGNORE INTO {t} (code) VALUES (?), (?), (?)", args: []any{"old", "a", "b"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "IGNORE last", query: "INSERT IGNORE INTO {t} (code) VALUES (?), (?), (?)", args: []any{"a", "b", "old"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "IGNORE all", query: "INSERT IGNORE INTO {t} (code) VALUES (?), (?)", args: []any{"old", "old"},
		native: "none parent"},
	{name: "IGNORE own key alone", query: "INSERT IGNORE INTO {t} (id, code) VALUES (?, ?), (?, ?)", args: []any{nil, "old", 400, "b"},
		native: "b parent"},
	{name: "IGNORE own keys alone", query: "INSERT IGNORE INTO {t} (id, code) VALUES (400, ?), (NULL, ?), ('401', ?)", args: []any{"a", "old", "b"},
		native: "b parent"},
	{name: "IGNORE listed", query: "INSERT IGNORE INTO {t} (id, code) VALUES (?, ?)", args: []any{nil, "a"},
		native: "a a", filled: "a parent", deviation: devSession},
}

// upsertCells insert or update, without showing which row it was.
var upsertCells = []lastIDCell{
	{name: "upsert inserts", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + update, args: []any{"a", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert inserts many", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"a", 2, "b", 3},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert updates", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + update, args: []any{"old", 2},
		native: "old parent"},
	{name: "upsert updates twice", query: "INSERT INTO {t} (n, code) VALUES (1 + ?, ?)" + update, args: []any{2, "old"},
		native: "old parent"},
	{name: "upsert updates the unique column", query: "INSERT INTO {t} (code, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE code = 'new'", args: []any{"old", 2},
		native: "new parent", filled: "none parent", deviation: devUpsert},
	{name: "upsert updates by an expression", query: "INSERT INTO {t} (code, n) VALUES (LOWER(?), ?)" + update, args: []any{"OLD", 2},
		native: "old parent", filled: "none parent", deviation: devUpsert},
	{name: "upsert updates by another spelling", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + update, args: []any{"OLD", 2},
		native: "old parent"},
	{name: "upsert updates of SET", query: "INSERT INTO {t} SET n = ?, code = ? ON DUPLICATE KEY UPDATE n = n + 1", args: []any{2, "old"},
		native: "old parent"},
	{name: "upsert listed updates", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, ?)" + update, args: []any{nil, "old", 2},
		native: "old parent"},
	{name: "upsert updates many", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"old", 2, "old", 3},
		native: "old parent", filled: "none parent", deviation: devUpsert},
	{name: "upsert leaves", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + update, args: []any{"old", 1},
		native: "none parent"},
	{name: "upsert leaves many", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"old", 1, "old", 1},
		native: "none parent"},
	{name: "upsert updates first", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"old", 2, "a", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert updates last", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"a", 2, "old", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert leaves first", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?), (?, ?)" + update, args: []any{"old", 1, "a", 2, "b", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert updates and leaves", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"old", 2, "old", 2},
		native: "old parent", filled: "none parent", deviation: devUpsert},
	// A row of NULLs counts as changed by an upsert that sets them again.
	{name: "upsert of NULL over NULL", query: "INSERT INTO {t} (code, n, empty) VALUES (?, ?, NULL)" + update + ", empty = VALUES(empty)", args: []any{"old", 1},
		native: "old parent"},
	{name: "upsert of NULL over NULL many", query: "INSERT INTO {t} (code, n, empty) VALUES (?, ?, NULL), (?, ?, NULL)" + update + ", empty = VALUES(empty)", args: []any{"old", 1, "old", 1},
		native: "old parent", filled: "none parent", deviation: devUpsert},
	{name: "upsert listed inserts", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, ?)" + update, args: []any{nil, "a", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "upsert of IGNORE inserts last", query: "INSERT IGNORE INTO {t} (code, n) VALUES (?, ?), (?, ?)" + update, args: []any{"old", 2, "a", 2},
		native: "a a", filled: "a parent", deviation: devSession},
}

// leaveCells are upserts that leave a row as it is.
var leaveCells = []lastIDCell{
	{name: "id=id inserts", query: "INSERT INTO {t} (code) VALUES (?)" + leave, args: []any{"a"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "id=id leaves", query: "INSERT INTO {t} (code) VALUES (?)" + leave, args: []any{"old"},
		native: "none parent"},
	{name: "id=id inserts many", query: "INSERT INTO {t} (code) VALUES (?), (?), (?)" + leave, args: []any{"a", "b", "c"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "id=id leaves last", query: "INSERT INTO {t} (code) VALUES (?), (?)" + leave, args: []any{"a", "old"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "id=id leaves first", query: "INSERT INTO {t} (code) VALUES (?), (?)" + leave, args: []any{"old", "a"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "id=id leaves all", query: "INSERT INTO {t} (code) VALUES (?), (?)" + leave, args: []any{"old", "old"},
		native: "none parent"},
	{name: "id=id own key alone", query: "INSERT INTO {t} (id, code) VALUES (?, ?), (?, ?)" + leave, args: []any{nil, "old", 400, "b"},
		native: "b parent"},
	{name: "id=id own key is there", query: "INSERT INTO {t} (id, code) VALUES (400, ?), (NULL, ?), (?, ?)" + leave, args: []any{"a", "old", 500, "b"},
		native: "old parent"},
	{name: "update own key alone", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, 7), (?, ?, 8)" + update, args: []any{nil, "old", 400, "b"},
		native: "b parent"},
	{name: "update own key is there", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, 7), (?, ?, 8)" + update, args: []any{nil, "old", 500, "b"},
		native: "old parent"},
	{name: "update own key left out", query: "INSERT INTO {t} (id, code, n) VALUES (401, ?, 6), (?, ?, 7), (?, ?, 8)" + update, args: []any{"a", nil, "old", 400, "old"},
		native: "old parent", filled: "none parent", deviation: devUpsertBeside},
	{name: "id=id of one twice", query: "INSERT INTO {t} (code) VALUES (?), (?), (?)" + leave, args: []any{"a", "a", "b"},
		native: "a a", filled: "a parent", deviation: devSession},
}

// idiomCells show it by the manual's idiom: MySQL 8.4, section 15.2.7.2.
var idiomCells = []lastIDCell{
	{name: "idiom inserts", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + idiom + ", n = VALUES(n)", args: []any{"a", 2},
		native: "a a"},
	{name: "idiom inserts many", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + idiom + ", n = VALUES(n)", args: []any{"a", 2, "b", 3},
		native: "a a"},
	{name: "idiom updates", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + idiom + ", n = VALUES(n)", args: []any{"old", 2},
		native: "old old"},
	{name: "idiom leaves", query: "INSERT INTO {t} (code, n) VALUES (?, ?)" + idiom, args: []any{"old", 2},
		native: "old old"},
	{name: "idiom updates first", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + idiom + ", n = VALUES(n)", args: []any{"old", 2, "a", 2},
		native: "a a", filled: "old old", deviation: devIdiom},
	{name: "idiom updates last", query: "INSERT INTO {t} (code, n) VALUES (?, ?), (?, ?)" + idiom + ", n = VALUES(n)", args: []any{"a", 2, "old", 2},
		native: "a a", filled: "old old", deviation: devIdiom},
	{name: "idiom listed inserts", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, ?)" + idiom, args: []any{nil, "a", 2},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "idiom listed updates", query: "INSERT INTO {t} (id, code, n) VALUES (?, ?, ?)" + idiom, args: []any{nil, "old", 2},
		native: "old old"},
}

// replaceCells delete what is in their way.
var replaceCells = []lastIDCell{
	{name: "REPLACE inserts", query: "REPLACE INTO {t} (code) VALUES (?)", args: []any{"a"},
		native: "a a"},
	{name: "REPLACE replaces", query: "REPLACE INTO {t} (code) VALUES (?)", args: []any{"old"},
		native: "old old"},
	{name: "REPLACE many", query: "REPLACE INTO {t} (code) VALUES (?), (?), (?)", args: []any{"a", "old", "b"},
		native: "a a"},
	{name: "REPLACE first", query: "REPLACE INTO {t} (code) VALUES (?), (?)", args: []any{"old", "a"},
		native: "old old"},
	{name: "REPLACE itself", query: "REPLACE INTO {t} (code) VALUES (?), (?)", args: []any{"a", "a"},
		native: "unstored unstored"},
	{name: "REPLACE SET", query: "REPLACE INTO {t} SET code = ?", args: []any{"old"},
		native: "old old"},
	{name: "REPLACE listed", query: "REPLACE INTO {t} (id, code) VALUES (?, ?)", args: []any{nil, "a"},
		native: "a a"},
}

// parentCells read the parent's id in the statement that makes the child: it
// must be the parent's in every row.
var parentCells = []lastIDCell{
	{name: "parent", query: "INSERT INTO {t} (code, parent) VALUES (?, LAST_INSERT_ID())", args: []any{"a"},
		native: "a a"},
	{name: "parent of many", query: "INSERT INTO {t} (code, parent) VALUES (?, LAST_INSERT_ID()), (?, LAST_INSERT_ID()), (?, LAST_INSERT_ID())", args: []any{"a", "b", "c"},
		native: "a a"},
	{name: "parent in front", query: "INSERT INTO {t} (parent, code) VALUES (LAST_INSERT_ID(), ?), (LAST_INSERT_ID(), ?)", args: []any{"a", "b"},
		native: "a a"},
	{name: "parent in SET", query: "INSERT INTO {t} SET parent = LAST_INSERT_ID(), code = ?", args: []any{"a"},
		native: "a a"},
	{name: "parent in a variable", query: "INSERT INTO {t} (parent, code) VALUES (@@last_insert_id, ?), (@@identity, ?)", args: []any{"a", "b"},
		native: "a a"},
	{name: "parent in a subquery", query: "INSERT INTO {t} (parent, code) VALUES ((SELECT LAST_INSERT_ID()), ?), ((SELECT MAX(id) FROM parents WHERE id = LAST_INSERT_ID()), ?)", args: []any{"a", "b"},
		native: "a a"},
	{name: "parent of a listed key", query: "INSERT INTO {t} (id, parent, code) VALUES (?, LAST_INSERT_ID(), ?), (NULL, LAST_INSERT_ID(), ?)", args: []any{nil, "a", "b"},
		native: "a a"},
	{name: "parent set and read", query: "INSERT INTO {t} (id, parent, n, code) VALUES (NULL, LAST_INSERT_ID(777), LAST_INSERT_ID(), ?)", args: []any{"a"},
		native: "a a"},
	{name: "parent set and read twice", query: "INSERT INTO {t} (parent, n, code) VALUES (LAST_INSERT_ID(777), LAST_INSERT_ID(), ?), (LAST_INSERT_ID(778), LAST_INSERT_ID(), ?)", args: []any{"a", "b"},
		native: "a a"},
	{name: "parent with ROW_COUNT", query: "INSERT INTO {t} (n, code) VALUES (ROW_COUNT(), ?)", args: []any{"a"},
		native: "a a"},
	{name: "unknown functions", query: "INSERT INTO {t} (n, code) VALUES (abs (-5), ?), (ST_X(POINT(3, 4)), ?), (JSON_VALUE('{\"n\": 7}', '$.n'), ?)", args: []any{"a", "b", "c"},
		native: "a a"},
	{name: "subquery of the rows", query: "INSERT INTO {t} (n, code) VALUES ((SELECT MAX(n) FROM parents), ?)", args: []any{"a"},
		native: "a a"},
	{name: "parent with IGNORE", query: "INSERT IGNORE INTO {t} (parent, code) VALUES (LAST_INSERT_ID(), ?), (LAST_INSERT_ID(), ?)", args: []any{"a", "b"},
		native: "a a", filled: "a parent", deviation: devSession},
	{name: "parent with REPLACE", query: "REPLACE INTO {t} (parent, code) VALUES (LAST_INSERT_ID(), ?), (LAST_INSERT_ID(), ?)", args: []any{"a", "old"},
		native: "a a"},
	{name: "parent in an upsert", query: "INSERT INTO {t} (parent, code) VALUES (LAST_INSERT_ID(), ?) ON DUPLICATE KEY UPDATE parent = LAST_INSERT_ID()", args: []any{"old"},
		native: "old parent"},
	{name: "parent with the idiom", query: "INSERT INTO {t} (parent, code) VALUES (LAST_INSERT_ID(), ?)" + idiom, args: []any{"a"},
		native: "a a", filled: "a parent", deviation: devSession},
}
