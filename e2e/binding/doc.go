// Package binding proves which state the keys of a table come from: tables that share
// one, patterns of names, schemas and databases of tenants, names in other cases, and
// states or tables that are dropped and created again.
package binding
