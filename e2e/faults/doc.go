// Package faults proves that no key comes out twice and no committed row is lost when
// something fails. "make soak" runs the same for longer.
//
//   - faults: processes and servers are killed, connections are cut, clocks step back, a
//     node leaves its cluster. The processes are this test binary, started again with a
//     job in its environment.
//   - retry: a transaction that is made again stores its rows once, with the keys of its
//     first attempt, and the answer is right: connections are cut at the COMMIT, before
//     the server has it, after it, and while the server still works on it; engines undo
//     transactions in favour of others. "make soak" cuts 100,000 times.
//   - loss: the state of a source is lost, and INSERTs then have the results in
//     docs/guarantees.md: see TestLosses. "make losses" writes that table.
//   - replica: a standby is promoted under load, or gets the reads of a proxy: see
//     TestPromoted. "make replicas" writes the table in docs/replicas.md.
//
// The name of a file begins with its topic; the files of faults have no prefix.
package faults
