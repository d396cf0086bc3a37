// Package keyfilletcd keeps the states of keyfill's sources in etcd: the next integer of a
// sequence, the series of a recycled source, the time marks and the leased numbers of a
// snowflake's workers. A program imports the package, and its policy names the servers:
//
//	import _ "github.com/keyfill/keyfill/keyfilletcd"
//
//	stores:
//	  central:
//	    driver: etcd
//	    endpoints_env: APP_ETCD   # etcd-1:2379,etcd-2:2379,etcd-3:2379
//	    tls: {ca: /etc/keyfill/ca.pem}
//	tables:
//	  orders: {column: id, source: {kind: sequence, store: central, ensure_schema: true}}
//
// Use this store if rows are sharded, or if an application has several databases: etcd
// answers only when a majority of its members has the answer on disk, so that no failover
// loses a number.
//
// # What is promised
//
// Each change is one transaction of etcd. A sequence reserves by writing keys whose number
// of writes etcd counts, and reads their sum in the same transaction, so that hundreds of
// processes reserve at once and each gets the integers after the others'. Every other
// change compares the key that it changes with the value and the revision that were read,
// and reads again what another process has changed in between. A new series, or worker's
// number, changes the key of the state: a process that finds it changed writes a key that
// says that it waits, and the next process that makes a series makes one for each waiting
// process, in one transaction. The kind and the parameters of a state are in its value,
// which all of these compare. A transaction whose answer was lost may have happened: its
// integers are never handed out, which is a gap, and no transaction repeats an earlier one,
// whether this package or the client of etcd sends it again.
//
// A lease is a lease of etcd, by the clock of its leader. The owner of a series is in the
// series' own key, too, with a count of its owners, and every reservation compares both: a
// process that was stopped for longer than its lease finds another owner there, or goes on
// where it stopped if no process has taken the series.
//
// # What is stored
//
// All keys begin with keyfill/, or with the prefix in the policy. Names of states and
// columns are escaped as in the path of a URL.
//
//	keyfill/states/orders.id             the base, the kind, the parameters and which counts there are
//	keyfill/counts/orders.id/1000        counts 1000 integers of a sequence at each write
//	keyfill/series/orders.id/…0000000001 a series: where it ends and stands, and its owner
//	keyfill/leases/orders.id/…0000000001 is there while the lease of the series lasts
//	keyfill/waiting/orders.id/pod-7%2F…  an owner that waits for a new series
//	keyfill/marks/flakes (workers)/7     the time that worker 7 has reserved
//	keyfill/columns/orders.id            the state that fills a column
//
// The next integer is the base and, for a sequence, the versions of its counts, each times
// the name of the count. The value of a count is where the sequence stood at the last write
// of it, or lower. To raise a state, raise its base.
//
// A store sends its requests to one member, chosen at random, until that member does not
// answer, and then to the next one.
//
// A user of etcd with roles needs the right to read and to write under that prefix.
//
// # When the store goes back
//
// The states of a cluster that was restored from a snapshot are lower than they were. A
// process notices that by the revision of etcd, which otherwise only grows, by the id of
// the cluster, and by the state itself: its source then compares the state with the keys in
// the table, and on_store_rollback of the policy decides what happens. Integers that
// another process had reserved since the snapshot are not found: raise the states after a
// restore, before programs start. A copy that etcdctl make-mirror has made lacks the
// versions of keys. A sequence that stands below the value of one of its counts is an
// error, and so is one that lacks a count.
//
// # Versions
//
// The tests run on etcd 3.4, on one member and on three, and on one member of etcd 3.7.
package keyfilletcd
