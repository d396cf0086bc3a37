package store

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

const workersTable = "keyfill_workers"

// tables are the names of what the statements of an engine create.
var tables = [...]string{"keyfill_sequences", workersTable, seriesTable}

// DDL returns the statements that create the tables where they are not there,
// each to be run by itself, without semicolons after them. For Oracle they are
// PL/SQL blocks, which SQL*Plus wants followed by a line with a slash.
func DDL(d *dialect.Dialect) []string { return slices.Clone(engineOf(d).tables[:]) }
