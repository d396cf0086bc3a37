// Package table has the configured tables of a policy in one dialect: the [Engine] with
// the plan of each text, a [Table] with its rule and key columns, and the facts about a
// table that come from the engine's catalog.
package table
