// Package bind gives a plan the arguments of one execution:
//
//	holes, err := bind.FindHoles(plan, args)            // how many keys it takes
//	args = bind.Arguments(plan, args, holes, keys, false) // the arguments to send
//	query = bind.Text(plan, false)                      // with this text
//
// A text without placeholders gets its keys as literals, by [Inline]. The texts of
// [ProvenText] and [InlineProven] prove something about themselves: that a transaction
// is open, or which table a name means.
//
// This is the way of every filled INSERT. It stands on package plans.
package bind
