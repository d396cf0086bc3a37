// Package figures measures what keyfill costs beside named rivals: time, allocations,
// memory and the size of a program. Each figure has the bar that it is held to.
//
//	make bench                     all figures, under 20 minutes on two cores
//	make bench ONLY='null|keys'    the groups that match: null, keys, compile, cache,
//	                               blocked, size, engines, selects, starts, proofs
//	make bench ROUNDS=5            fewer rounds, for a look
//
//	make profiles                  where the time goes, for the groups null, keys and
//	                               engines
//
// # How
//
// Variants are measured in one process, by turns: a round has each variant once, and
// which one is first goes round. A figure is the median over the rounds of the ratio
// of two variants of the same round, with the interval that holds the true median with
// 95 % (order statistics). The rival is in every round twice: the ratio of the two,
// "A/A", says what the machine adds. CPU time is the time of the process, with one
// processor for Go (GOMAXPROCS=1) unless a figure says otherwise. The garbage that a
// variant makes is collected within its time; before each turn a collection makes the
// heap alike.
//
// The clients and the servers of the engines share the machine. The servers do not
// sync commits.
//
// # What is written
//
// All figures go to a file of JSON. docs/performance.md gets the table from a whole
// run on a quiet machine alone.
package figures
