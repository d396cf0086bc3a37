// Package shopent is the shop as ent generates it from the schema, which "go generate"
// in the folder of the example does.
package shopent
