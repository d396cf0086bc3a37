// Package plans holds the plan of a text: which INSERT in it lacks a key, where in
// the text and among the arguments the key belongs, or why it cannot be put there
// exactly.
//
// A [Draft] collects what is found while a text is read, and becomes a [Plan]. A plan
// does not change any more. Package bind gives it the arguments of an execution, and
// package rowcount asks the engine about the rows of its query. A [Cache] keeps plans
// by their texts.
//
// It stands on packages selects, effects and reader.
package plans
