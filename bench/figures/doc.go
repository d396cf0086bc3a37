// Package figures measures what keyfill costs beside named rivals: time, allocations,
// memory and the size of a program. Each figure has a bar, which is the limit that it has
// to keep.
//
//	make bench                     all figures, under 20 minutes on two cores
//	make bench ONLY='null|keys'    the groups that match: null, keys, compile, cache,
//	                               blocked, size, engines, selects, starts, proofs,
//	                               numbers
//	make bench ROUNDS=5            fewer rounds, for a look
//
//	make profiles                  where the time goes, for the groups null, keys and
//	                               engines
//
// # How
//
// All variants run in one process. A round runs each variant once, in an order that rotates
// from round to round. A figure is the median, over the rounds, of the ratio of two
// variants of the same round, with its 95 % confidence interval (order statistics). The
// rival runs twice in each round: the ratio of the two, "A/A", shows the noise of the
// machine. CPU time is the time of the process, with one processor for Go (GOMAXPROCS=1)
// unless a figure says otherwise. A variant's time includes the collection of its garbage;
// a collection before each turn lets every variant start with the same heap.
//
// The clients and the servers of the engines share the machine. The servers do not sync
// commits.
//
// # What is written
//
// All figures are written to a JSON file. The table in docs/performance.md is updated only
// by a full run on a quiet machine.
package figures

//row:changes | what `make bench` measures, its rival and its bar | `bench/figures`: a file for each group; of `make profiles`: `ways.go` and `profilerows.go`
