// Command compare measures the figures of "make bench" for two commits in one run, so that
// "no worse than before" says something on a machine that is never the same twice:
//
//	go run ./compare -base 944dd75
//
// It checks BASE out beside the working tree, puts the benchmarks of the working tree into
// it, and builds both. Then three programs take turns: BASE, the working tree, and the
// working tree again. Each round gives one number of each figure and program.
//
// The difference between BASE and the working tree, for a figure, is the median of their
// ratios over the rounds, with its interval of 95 %. The difference between the working
// tree and its second program is the A/A spread. A figure is worse or better if the two
// intervals do not overlap, and compare fails if any figure is worse. A number without any
// spread, such as allocations, is worse as soon as it differs.
//
// # Caveats
//
// If the benchmarks of the working tree do not compile with the packages of BASE, which may
// have moved, BASE is measured by its own: a figure whose benchmark has changed since is
// then not comparable. An adapter adds newer figures to them: a folder in testdata, named
// after a commit, whose files replace files of the commit's benchmarks. The first adapter
// that compiles with the packages of BASE is used. Code that is not yet committed is
// measured too.
package main
