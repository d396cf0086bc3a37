// Package bind gives a plan the arguments of one execution:
//
//	holes, err := bind.FindHoles(plan, args)            // how many keys it takes
//	args = bind.Arguments(plan, args, holes, keys, false) // the arguments to send
//	query = bind.Text(plan, false)                      // with this text
//
// A text without placeholders gets its keys as literals, by [Inline]. The texts of
// [ProvenText] and [InlineProven] prove that a transaction is open, or which table a name
// means.
//
// Every filled INSERT goes through this package. It builds on package plans.
package bind
