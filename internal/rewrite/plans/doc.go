// Package plans holds the plan of a text: which INSERT in it lacks a key, where in the text
// and among the arguments the key belongs, or why it cannot be put there exactly.
//
// A [Draft] collects the findings while a text is read, and makes a [Plan], which never
// changes. Package bind gives the plan the arguments of an execution, and package rowcount
// asks the engine about the rows of its query. A [Cache] holds plans by their texts.
//
// Package plans builds on packages selects, effects and reader.
package plans
