// Package stores holds the tests of the stores that a policy can name, etcd and Redis among
// them, and of the reports about them. The processes of stores and rollout are this test
// binary, started again with a job in its environment.
//
//   - stores: every store survives faults. No key is drawn twice, a numbering without gaps
//     has no hole, and each process continues soon, while processes are killed and
//     stopped for longer than their leases, servers are killed, stopped and cut off,
//     and clocks are moved. "make soak" runs 64 processes, "make test" six.
//   - rollout: processes of one application begin and end while others run, as the pods of
//     Kubernetes do. No two of them have the same worker number, and the cost of a rolling
//     restart is measured for docs/kubernetes.md.
//   - seen: an operator sees faults while keyfill runs: a store that is stopped, a lease that
//     is stolen, an entry with a typo, a source near its end, and refused statements.
//   - causes: what is wrong with a store is named by the INSERT, the log and keyfill check, in
//     words that hold no secret.
//
// The name of a file begins with its topic; the files of stores have no prefix.
package stores
