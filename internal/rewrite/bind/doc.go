// Package bind gives a plan the arguments of one execution:
//
//	holes, err := bind.FindHoles(plan, args)            // how many keys it takes
//	args = bind.Arguments(plan, args, holes, keys, false) // the arguments to send
//	query = bind.Text(plan, false)                      // with this text
//
// [Inline] writes the keys as literals into a text without placeholders. [ProvenText] and
// [InlineProven] return texts that prove that a transaction is open, or which table a name
// means.
//
// Every filled INSERT goes through this package. It builds on package plans.
package bind

//row:changes | where a key stands in the text and among the arguments | `internal/rewrite/bind`
