// Package catalog proves that keyfill reads the tables of an engine as the engine knows
// them: the columns of an INSERT that names none, types, defaults and keys, and that
// policies which do not fit the tables are refused.
package catalog
