// Package joined holds the tests of numberings without gaps.
//
//   - joined: keys that are drawn in the transaction of the application have no gaps. A
//     number and its row commit together or not at all, whatever ends the transaction, and
//     also where the numbers start again in each scope or period.
//   - series: the numberings that give numbers back, and the programs of the articles on
//     sequential keys, which work on the same state tables as keyfill at the same time.
//
// The name of a file begins with its topic; the files of joined have no prefix.
package joined
