// Package retry proves that a transaction that is made again stores its rows once, with the
// keys of its first attempt, and that the answer is right: connections are cut at the
// COMMIT, before the server has it, behind it, and while the server still works on it;
// engines undo transactions for the sake of others. "make soak" cuts 100,000 times.
package retry
