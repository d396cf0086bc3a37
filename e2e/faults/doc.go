// Package faults proves that no key comes out twice and no committed row is lost when
// something fails: processes and servers are killed, connections are cut, clocks step
// back, a node leaves its cluster. The processes are this test binary, started again
// with a job in its environment. "make soak" runs the same for longer.
package faults
