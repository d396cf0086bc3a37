// Package keyfillredis keeps the states of keyfill's sources in Redis: the next integer of
// a sequence, the series of a recycled source, the time marks and the leased numbers of a
// snowflake's workers. A program imports the package, and its policy names the server:
//
//	import _ "github.com/keyfill/keyfill/keyfillredis"
//
//	stores:
//	  central:
//	    driver: redis
//	    endpoints_env: APP_REDIS   # redis-1:6379
//	    password_env: APP_REDIS_PASSWORD
//	    tls: {ca: /etc/keyfill/ca.pem}
//	tables:
//	  orders: {column: id, source: {kind: sequence, store: central, ensure_schema: true}}
//
// Two endpoints or more are nodes of a Redis Cluster. Sentinels need a DSN, see
// [Driver.OpenStore]. A program that has a client, or needs one with other options, gives
// it: see [Register].
//
// # What is promised
//
// Keys are unique on one node with appendfsync always, best effort after a failover. Redis
// sends changes to replicas after it has answered, and so a replica that becomes the
// primary may lack the last of them: use package keyfilletcd if that must not repeat a key.
//
// Each change is one script, which the server runs alone and which compares what it
// changes. It changes one hash by one command, so that a kill of the server leaves nothing
// half done, and touches one key, as a Redis Cluster wants. A script whose answer was lost
// may have run: its integers are never handed out, which is a gap. A script that a client
// has sent twice leaves such a gap too. The client that this package makes repeats a script
// only to a Redis Cluster.
//
// A lease is a time by the clock of the server. The owner of a series is in the state, with
// a count of its owners, and every reservation compares both: a process that was stopped
// for longer than its lease finds another owner there, or goes on where it stopped if no
// process has taken the series.
//
// The scripts handle integers as texts, since Lua has only doubles. So they are exact up to
// the greatest integer of 64 bits.
//
// # What is stored
//
// All keys begin with keyfill/, or with the prefix in the policy. Names of states and
// columns are escaped as in the path of a URL. Each key is a hash.
//
//	keyfill/states/orders.id            kind, parameters, next (integer), incarnation
//	                                    series:1001 = last next owners lease-ends owner
//	keyfill/marks/flakes (workers)/7    parameters, until (the time that worker 7 has
//	                                    reserved), owner
//	keyfill/columns/orders.id           state (that fills the column), parameters
//
// No key has a time to live. Do not set one, and do not let the server remove keys when its
// memory is full: maxmemory-policy noeviction, or one that begins with volatile-.
//
// # The settings of the server
//
// Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no. A store asks the
// server once for these settings and for maxmemory-policy, and logs by slog's default
// logger the settings that may lose numbers.
//
// # When the store goes back
//
// A process knows the server by its run id and the id of its replication, and the state by
// its incarnation. If one of these has changed, after a restart, a failover or a restore,
// its source compares the state with the keys in the table, and on_store_rollback of the
// policy decides what happens if the state stands below them. Integers that other processes
// have reserved and not stored yet are not found: raise the states after a restore, before
// programs start.
//
// # Lines of the client
//
// go-redis writes to stderr whenever it cannot connect. The package gives it a logger that
// writes these lines to slog's default logger at level debug, without names and addresses.
// A program that calls redis.SetLogger has them again; what is wrong with a store is in the
// log of keyfill anyway.
//
// # Versions
//
// The tests run on Redis 7.0: one server, a primary with a replica and a sentinel, and a
// Redis Cluster of three nodes.
package keyfillredis
