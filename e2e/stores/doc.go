// Package stores proves that every store that a policy can name survives faults: no key is
// drawn twice, a numbering without gaps has no hole, and each process goes on soon, while
// processes are killed and stopped for longer than their leases, servers are killed,
// stopped and cut off, and clocks are moved. The processes are this test binary, started
// again with a job in its environment. "make soak" runs 64 of them, "make test" six.
package stores
