package stores_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// cause is something that is wrong with a store, and the words by which a user knows it.
type cause struct {
	name    string
	arrange func(t *testing.T) policy.Store

	// words are in what the INSERT, the log and the check say. insert, log and check are for
	// those that are not in all of them.
	words              string
	insert, log, check string
}

// TestCauses: what is wrong with a store is named by the INSERT and by the log, and by
// keyfill check where that can look at the store, in words of keyfill's own. None of them
// holds the password, the tenant in the name of the state, or an address's user.
func TestCauses(t *testing.T) {
	t.Parallel()
	certs := makeCertificates(t)
	for _, c := range testturn.Some(t, concat(causesOfRedis(certs), causesOfEtcd(certs), causesOfDatabases(certs)), 24) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := c.arrange(t)
			faults := c.faults(t, at)
			for range 4 {
				// On a slow machine a server may not have answered in time, and then its
				// cause is not known yet.
				if !slices.ContainsFunc(faults, func(fault string) bool {
					return strings.Contains(fault, "no answer in time") || strings.Contains(fault, "cannot be reached")
				}) {
					break
				}
				faults = c.faults(t, at)
			}
			for _, fault := range faults {
				t.Error(fault)
			}
		})
	}
}

// faults returns what is wrong with what an INSERT, the log and keyfill check say of a store.
func (c cause) faults(t *testing.T, at policy.Store) (faults []string) {
	t.Helper()
	s := harness.SQLiteFile.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	cfg := harness.InPlace(policy.Source{Kind: policy.KindSequence, Store: "central", Name: "numbers-{value:tenant}", Start: 1, Create: new(true), EnsureSchema: at.Endpoints == nil})
	cfg.Stores = map[string]policy.Store{"central": at}
	cfg.StoreWait = 4 * time.Second
	log := new(lines)
	db, m := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: log.logger()})
	ctx := keyfill.WithValue(context.Background(), "tenant", tenant)
	said := ""
	down := log.await(t, "store down", func() { said = failing(ctx, t, db) })
	found, err := m.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	checked := fmt.Sprint(found)
	t.Logf("\nINSERT %s\nlog    %s\ncheck  %s", said, down.attrs["error"], checked)
	for _, one := range []struct{ where, said, words string }{
		{"the INSERT", said, c.insert}, {"the log", down.attrs["error"], c.log}, {"keyfill check", checked, c.check},
	} {
		for _, words := range []string{c.words, one.words} {
			if !strings.Contains(one.said, words) {
				faults = append(faults, fmt.Sprintf("%s says %q, want %q", one.where, one.said, words))
			}
		}
	}
	for _, secret := range []string{tenant, password} {
		for _, text := range []string{log.texts(), said, checked, figuresOf(t, m)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is told: %s", secret, text)
			}
		}
	}
	return faults
}

func concat(all ...[]cause) (joined []cause) {
	for _, some := range all {
		joined = append(joined, some...)
	}
	return joined
}

// failing returns what an INSERT fails with.
func failing(ctx context.Context, t *testing.T, db *sql.DB) string {
	t.Helper()
	_, err := db.ExecContext(ctx, harness.InsertT)
	if err == nil {
		t.Fatal("the INSERT has stored a row")
	}
	return err.Error()
}

// redisWith starts a server of Redis with options and returns it as a store of fields.
func redisWith(options ...string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		return policy.Store{Driver: "redis", Endpoints: []string{testdb.StartRedis(t, options...).Addr()}}
	}
}

// redisDSN starts a server of Redis, changes it by commands, and returns it as a store whose
// DSN is a format for its address.
func redisDSN(format string, commands ...string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		server := testdb.StartRedis(t)
		for _, c := range commands {
			server.Command(t, strings.Fields(c)...)
		}
		return policy.Store{Driver: "redis", DSN: fmt.Sprintf(format, server.Addr())}
	}
}

const rights = "~keyfill/* -@all +eval +evalsha +info +time +exists +hmget +hget +hgetall +hset +hdel"

func causesOfRedis(certs *certificates) []cause {
	onTLS := func(certificate, clients string, e policy.Store) func(t *testing.T) policy.Store {
		return func(t *testing.T) policy.Store {
			_, port, _ := net.SplitHostPort(freeAddress(t))
			testdb.StartRedis(t, "--tls-port", port, "--tls-cert-file", certs.path(certificate+".pem"), "--tls-key-file", certs.path(certificate+".key"),
				"--tls-ca-cert-file", certs.path("ca.pem"), "--tls-auth-clients", clients)
			e.Driver, e.Endpoints = "redis", []string{"127.0.0.1:" + port}
			return e
		}
	}
	secured := policy.Store{TLS: certs.tls("ca", "")}
	return []cause{
		{name: "redis/nobody", words: "the server of Redis cannot be reached: look at endpoints or the DSN, at tls and at the network: connecting: 127.0.0.1:", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", Endpoints: []string{freeAddress(t)}}
		}},
		{name: "redis/a host that is not there", words: "the server of Redis cannot be reached: look at endpoints or the DSN, at tls and at the network: connecting: the host is not found", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", DSN: "redis://shop:" + password + "@" + password + ".invalid:6379/0"}
		}},
		{name: "redis/full", words: "its memory is used up: raise maxmemory", arrange: redisWith("--maxmemory", "1", "--maxmemory-policy", "noeviction")},
		{name: "redis/full disk", words: "it cannot write to its disk", arrange: func(t *testing.T) policy.Store {
			// It may not write into its folder, which it takes for the same.
			server := testdb.StartRedis(t)
			server.Command(t, "CONFIG", "SET", "save", "3600 1")
			answer := server.Command(t, "CONFIG", "GET", "dir")
			folder := answer[strings.LastIndexByte(answer, '\n')+1:]
			if err := os.Chmod(folder, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
			_, _ = server.Ask("BGSAVE") // it may answer that it cannot
			server.Await(t, "a dump that fails", func() bool {
				return strings.Contains(server.Command(t, "INFO", "persistence"), "rdb_last_bgsave_status:err")
			})
			return policy.Store{Driver: "redis", Endpoints: []string{server.Addr()}}
		}},
		{name: "redis/too few replicas", words: "fewer replicas are connected than min-replicas-to-write asks for", arrange: redisWith("--min-replicas-to-write", "1")},
		{name: "redis/EVALSHA renamed", words: "Redis does not know a command that keyfill needs", arrange: redisWith("--rename-command", "EVALSHA", "")},
		{name: "redis/EVAL renamed", words: "Redis does not know a command that keyfill needs", arrange: redisWith("--rename-command", "EVAL", "")},
		{name: "redis/INFO renamed", words: "Redis does not know a command that keyfill needs", arrange: redisWith("--rename-command", "INFO", "")},
		{name: "redis/HSET renamed", words: "Redis does not know a command that keyfill needs", arrange: redisWith("--rename-command", "HSET", "")},
		{name: "redis/maxclients", words: "maxclients", arrange: func(t *testing.T) policy.Store {
			server := testdb.StartRedis(t)
			server.Command(t, "CONFIG", "SET", "maxclients", "1")
			conn, err := net.Dial("tcp", server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return policy.Store{Driver: "redis", Endpoints: []string{server.Addr()}}
		}},
		{name: "redis/replica", words: "the server of Redis is a replica, and takes no changes", arrange: func(t *testing.T) policy.Store {
			primary, replica := testdb.StartRedis(t), testdb.StartRedis(t)
			replica.Follow(t, primary)
			return policy.Store{Driver: "redis", Endpoints: []string{replica.Addr()}}
		}},
		{name: "redis/wrong password in a DSN", words: "Redis refuses the user or the password: mend the DSN, or the account", arrange: redisDSN("redis://shop:"+password+"@%s/0", "ACL SETUSER shop on >other "+rights)},
		{name: "redis/no password", words: "Redis refuses the user or the password: mend the DSN, or the account", arrange: redisDSN("redis://%s/0", "CONFIG SET requirepass other")},
		{name: "redis/no right", words: "the user may not use the keys of the store in Redis, or the commands of its scripts", arrange: redisDSN("redis://shop:"+password+"@%s/0", "ACL SETUSER shop on >"+password+" "+strings.Replace(rights, "+hset", "", 1))},
		{name: "redis/no right to SELECT", words: "the user may not use the keys of the store in Redis, or the commands of its scripts: grant what docs/operating.md lists", arrange: redisDSN("redis://shop:"+password+"@%s/1", "ACL SETUSER shop on >"+password+" "+rights)},
		{name: "redis/no such database", words: "the DSN names a database that Redis does not have", arrange: redisDSN("redis://%s/99")},
		{name: "redis/one node of a cluster", words: "the cluster of Redis has no primary for the key of the state", arrange: func(t *testing.T) policy.Store {
			node := testdb.StartRedis(t, "--cluster-enabled", "yes")
			return policy.Store{Driver: "redis", Endpoints: []string{node.Addr()}}
		}},
		{name: "redis/no cluster", words: "the servers are no Redis Cluster", arrange: func(t *testing.T) policy.Store {
			server := testdb.StartRedis(t)
			return policy.Store{Driver: "redis", Endpoints: []string{server.Addr(), server.Addr()}}
		}},
		{name: "redis/no sentinel", words: "the server of Redis cannot be reached", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", DSN: "redis://" + freeAddress(t) + "/0?master_name=main"}
		}},
		{name: "redis/no such primary", words: "the sentinels do not know the primary: mend master_name", arrange: func(t *testing.T) policy.Store {
			sentinel := testdb.StartRedisSentinel(t, testdb.StartRedis(t))
			return policy.Store{Driver: "redis", DSN: "redis://" + sentinel.Addr() + "/0?master_name=" + password}
		}},
		{name: "redis/TLS at a plain port", words: "the server of Redis does not answer what TLS begins with: leave TLS out", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "redis", Endpoints: []string{testdb.StartRedis(t).Addr()}, TLS: certs.tls("ca", "")}
		}},
		{name: "redis/plain at a port of TLS", words: "look whether the port is one of TLS", arrange: onTLS("server", "no", policy.Store{})},
		{name: "redis/another authority", words: "connecting: TLS: the certificate is signed by an unknown authority", arrange: onTLS("server", "no", policy.Store{TLS: certs.tls("other", "")})},
		{name: "redis/another host", words: "connecting: TLS: the certificate is for another host", arrange: onTLS("host", "no", secured)},
		{name: "redis/an old certificate", words: "connecting: TLS: the certificate is not valid", arrange: onTLS("old", "no", secured)},
		{name: "redis/no certificate", words: "connecting: TLS: the server answers with the alert \"certificate required\"", arrange: onTLS("server", "yes", secured)},
		{name: "redis/another client", words: "connecting: TLS: the server answers with the alert \"unknown certificate authority\"", arrange: onTLS("server", "yes", policy.Store{TLS: certs.tls("ca", "other")})},
	}
}

// etcdOf starts a member of etcd with options and returns it as a store of fields.
func etcdWith(options ...string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		return policy.Store{Driver: "etcd", Endpoints: []string{testdb.StartEtcd(t, 1, options...)[0].URL()}}
	}
}

// etcdAs starts a member of etcd with the users root and shop, and returns it as a store that
// a user opens by a password. shop may read and write below a prefix.
func etcdAs(user, secret, prefix string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		at := etcdWith()(t)
		client, err := clientv3.New(clientv3.Config{Endpoints: at.Endpoints})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx := t.Context()
		for _, do := range []func() error{
			func() error { _, err := client.UserAdd(ctx, "root", "other"); return err },
			func() error { _, err := client.UserGrantRole(ctx, "root", "root"); return err },
			func() error { _, err := client.RoleAdd(ctx, "shop"); return err },
			func() error {
				_, err := client.RoleGrantPermission(ctx, "shop", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
				return err
			},
			func() error { _, err := client.UserAdd(ctx, "shop", password); return err },
			func() error { _, err := client.UserGrantRole(ctx, "shop", "shop"); return err },
			func() error { _, err := client.AuthEnable(ctx); return err },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		if user == "" {
			return at
		}
		at.UserEnv, at.PasswordEnv = variable(t, user), variable(t, secret)
		return at
	}
}

// variable returns the name of a variable of the environment that no other one has.
func variable(t *testing.T, value string) string {
	t.Helper()
	name := "KEYFILL_TEST_" + rand.Text()
	if err := os.Setenv(name, value); err != nil { // t.Setenv is for tests that are not parallel
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Unsetenv(name) })
	return name
}

func causesOfEtcd(certs *certificates) []cause {
	onTLS := func(certificate string, e policy.Store, options ...string) func(t *testing.T) policy.Store {
		return func(t *testing.T) policy.Store {
			address := "https://" + freeAddress(t)
			testdb.StartEtcd(t, 1, append([]string{"--listen-client-urls=CLIENT," + address,
				"--cert-file=" + certs.path(certificate+".pem"), "--key-file=" + certs.path(certificate+".key")}, options...)...)
			e.Driver, e.Endpoints = "etcd", []string{address}
			return e
		}
	}
	secured := policy.Store{TLS: certs.tls("ca", "")}
	asksClients := []string{"--client-cert-auth", "--trusted-ca-file=" + certs.path("ca.pem")}
	return []cause{
		{name: "etcd/nobody", words: "a server of etcd cannot be reached: look at endpoints or the DSN, at tls and at the network: connecting: the server: connection refused", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "etcd", Endpoints: []string{freeAddress(t)}}
		}},
		{name: "etcd/nobody, with a user", words: "connecting: the server: connection refused", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "etcd", Endpoints: []string{freeAddress(t)}, UserEnv: variable(t, "shop"), PasswordEnv: variable(t, password)}
		}},
		{name: "etcd/nobody, three times", words: "connecting: the server: connection refused", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "etcd", Endpoints: []string{freeAddress(t), freeAddress(t), freeAddress(t)}}
		}},
		{name: "etcd/a host that is not there", words: "connecting: the host is not found", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "etcd", DSN: password + ".invalid:2379"}
		}},
		{name: "etcd/no leader", words: "the cluster of etcd has no leader", arrange: func(t *testing.T) policy.Store {
			members := testdb.StartEtcd(t, 2)
			members[1].Kill(t)
			harness.Eventually(t, func() error {
				answer, err := http.Get(members[0].URL() + "/metrics")
				if err != nil {
					return err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err == nil && !strings.Contains(string(text), "\netcd_server_has_leader 0\n") {
					err = errors.New("it has a leader still")
				}
				return err
			})
			return policy.Store{Driver: "etcd", Endpoints: []string{members[0].URL()}}
		}},
		{name: "etcd/full", words: "etcd takes no changes, since its space is used up", arrange: etcdWith("--quota-backend-bytes=1")},
		{name: "etcd/no user", words: "etcd wants a user and a password, and this store has none", arrange: etcdAs("", "", "keyfill/")},
		{name: "etcd/wrong password", words: "etcd refuses the user, the password or the certificate", arrange: etcdAs("shop", "wrong", "keyfill/")},
		{name: "etcd/no such user", words: "etcd refuses the user, the password or the certificate", arrange: etcdAs("nobody", password, "keyfill/")},
		{name: "etcd/no right", words: "the user may not use the keys of the store in etcd", arrange: etcdAs("shop", password, "other/")},
		{name: "etcd/TLS at a plain port", words: "a server of etcd ends each connection when TLS begins: leave TLS out", arrange: func(t *testing.T) policy.Store {
			at := etcdWith()(t)
			at.Endpoints[0], at.TLS = strings.TrimPrefix(at.Endpoints[0], "http://"), certs.tls("ca", "")
			return at
		}},
		{name: "etcd/plain at a port of TLS", words: "a server of etcd ends each connection before its first answer: write tls: or https://", arrange: func(t *testing.T) policy.Store {
			at := onTLS("server", policy.Store{})(t)
			at.Endpoints[0] = strings.TrimPrefix(at.Endpoints[0], "https://")
			return at
		}},
		{name: "etcd/another authority", words: "connecting: TLS: the certificate is signed by an unknown authority", arrange: onTLS("server", policy.Store{TLS: certs.tls("other", "")})},
		{name: "etcd/another host", words: "connecting: TLS: the certificate is for another host", arrange: onTLS("host", secured)},
		{name: "etcd/an old certificate", words: "connecting: TLS: the certificate is not valid", arrange: onTLS("old", secured)},
		{name: "etcd/no certificate", words: "connecting: TLS: the server answers with the alert \"bad certificate\"", arrange: onTLS("server", secured, asksClients...)},
		{name: "etcd/another client", words: "connecting: TLS: the server answers with the alert \"bad certificate\"", arrange: onTLS("server", policy.Store{TLS: certs.tls("ca", "other")}, asksClients...)},
	}
}

// mariaStore makes a database on a server, changes the server by statements in which $DB stands
// for the database, and returns it as a store of a user.
func mariaStore(server *testdb.Server, database, params string, statements ...string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		name := server.Database(t, "mysql")
		user := strings.ToLower("u" + rand.Text()[:20])
		raw := harness.Open(t, "mysql", server.DSN(name))
		for _, query := range append([]string{"CREATE USER $USER IDENTIFIED BY '" + password + "'"}, statements...) {
			harness.Exec(t, raw, strings.NewReplacer("$DB", name, "$USER", user).Replace(query))
		}
		t.Cleanup(func() { harness.Exec(t, harness.Open(t, "mysql", server.DSN("")), "DROP USER "+user) })
		if database == "" {
			database = name
		}
		dsn := user + ":" + password + "@tcp(" + server.Addr() + ")/" + database + params
		return policy.Store{Driver: "mysql", DSN: dsn}
	}
}

// postgresStore is mariaStore on PostgreSQL.
func postgresStore(server *testdb.Server, database, params string, statements ...string) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		name := server.Database(t, "pgx")
		user := strings.ToLower("u" + rand.Text()[:20])
		raw := harness.Open(t, "pgx", server.DSN(name))
		for _, query := range append([]string{"CREATE ROLE $USER LOGIN PASSWORD '" + password + "'"}, statements...) {
			harness.Exec(t, raw, strings.NewReplacer("$DB", name, "$USER", user).Replace(query))
		}
		if database == "" {
			database = name
		}
		return policy.Store{Driver: "pgx", DSN: "postgres://" + user + ":" + password + "@" + server.Addr() + "/" + database + params}
	}
}

// holding keeps a connection open to a store that is arranged.
func holding(arrange func(t *testing.T) policy.Store) func(t *testing.T) policy.Store {
	return func(t *testing.T) policy.Store {
		at := arrange(t)
		db := harness.Open(t, at.Driver, at.DSN)
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return at
	}
}

// refusedUser is the text for a user that a database refuses.
const refusedUser = "the store's server refuses the user, the password or the client's address: mend the DSN, or the account"

func causesOfDatabases(certs *certificates) []cause {
	const all = "GRANT ALL ON $DB.* TO $USER"
	return []cause{
		{name: "mariadb/nobody", words: "connecting: 127.0.0.1:", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "mysql", DSN: "shop:" + password + "@tcp(" + freeAddress(t) + ")/shop"}
		}},
		{name: "mariadb/wrong password", words: refusedUser, arrange: mariaStore(mariaDB, "", "", all, "ALTER USER $USER IDENTIFIED BY 'other'")},
		{name: "mariadb/no such database", words: "the store's database is not there: create it, or mend the DSN", arrange: mariaStore(mariaDB, "nowhere", "", "GRANT ALL ON nowhere.* TO $USER")},
		{name: "mariadb/no right to the database", words: "the store's user may not connect to the store's database", arrange: mariaStore(mariaDB, "", "")},
		{name: "mariadb/no right to create", insert: "the store's user may not use the state tables", log: "the store's user may not use the state tables", arrange: mariaStore(mariaDB, "", "", "GRANT SELECT ON $DB.* TO $USER")},
		{name: "mariadb/locked", words: refusedUser, arrange: mariaStore(mariaDB, "", "", all, "ALTER USER $USER ACCOUNT LOCK")},
		{name: "mariadb/an old password", insert: refusedUser, log: refusedUser, check: "error 1820", arrange: mariaStore(mariaDB, "", "", all, "ALTER USER $USER PASSWORD EXPIRE")},
		{name: "mariadb/one connection", words: "error 1226", arrange: holding(mariaStore(mariaDB, "", "", all, "ALTER USER $USER WITH MAX_USER_CONNECTIONS 1"))},
		{name: "mariadb/one question an hour", words: "1226", arrange: mariaStore(mariaDB, "", "", all, "ALTER USER $USER WITH MAX_QUERIES_PER_HOUR 1")},
		{name: "mariadb/read-only transactions", insert: "the store is read-only: name the server that takes changes", log: "the store is read-only: name the server that takes changes", arrange: mariaStore(mariaDB, "", "?tx_read_only=1", all)},
		{name: "mariadb/TLS without it", words: "connecting: TLS: the server does not speak it", arrange: mariaStore(mariaDB, "", "?tls=true", all)},
		{name: "mariadb/read-only", insert: "the store is read-only: name the server that takes changes", log: "the store is read-only: name the server that takes changes", arrange: func(t *testing.T) policy.Store {
			return mariaStore(testdb.Start(t, testdb.MariaDB().With("--read-only")), "", "", all)(t)
		}},
		{name: "mariadb/another authority", words: "connecting: TLS: the certificate is signed by an unknown authority", arrange: func(t *testing.T) policy.Store {
			return mariaStore(testdb.Start(t, testdb.MariaDB().With("--ssl-cert="+certs.path("server.pem"), "--ssl-key="+certs.path("server.key"))), "", "?tls=true", all)(t)
		}},
		{name: "mariadb/TLS asked for", words: refusedUser, arrange: func(t *testing.T) policy.Store {
			return mariaStore(testdb.Start(t, testdb.MariaDB().With("--ssl-cert="+certs.path("server.pem"), "--ssl-key="+certs.path("server.key"))), "", "", all, "ALTER USER $USER REQUIRE SSL")(t)
		}},
		{name: "mariadb/full disk", insert: "No more room in record file", log: fullDisk, arrange: mariaFull},
		{name: "postgresql/nobody", words: "connecting: 127.0.0.1:", arrange: func(t *testing.T) policy.Store {
			return policy.Store{Driver: "pgx", DSN: "postgres://shop:" + password + "@" + freeAddress(t) + "/shop"}
		}},
		{name: "postgresql/wrong password", words: refusedUser, arrange: func(t *testing.T) policy.Store {
			path := certs.path("pg_hba.conf")
			server := testdb.Start(t, testdb.PostgreSQL().With("-c", "hba_file="+path))
			return postgresStore(server, "", "", "ALTER ROLE $USER PASSWORD 'other'")(t)
		}},
		{name: "postgresql/no such database", words: "the store's database is not there: create it, or mend the DSN", arrange: postgresStore(postgreSQL, "nowhere", "")},
		{name: "postgresql/no right to connect", words: "the store's user may not connect to the store's database", arrange: postgresStore(postgreSQL, "", "", "REVOKE CONNECT ON DATABASE $DB FROM PUBLIC")},
		{name: "postgresql/no right to create", insert: "the store's user may not use the state tables", log: "the store's user may not use the state tables", arrange: postgresStore(postgreSQL, "", "")},
		{name: "postgresql/no login", words: refusedUser, arrange: postgresStore(postgreSQL, "", "", "ALTER ROLE $USER NOLOGIN")},
		{name: "postgresql/one connection", words: "SQLSTATE 53300", arrange: holding(postgresStore(postgreSQL, "", "", "GRANT ALL ON SCHEMA public TO $USER", "ALTER ROLE $USER CONNECTION LIMIT 1"))},
		{name: "postgresql/read-only", insert: "the store is read-only: name the server that takes changes", log: "the store is read-only: name the server that takes changes", arrange: postgresStore(postgreSQL, "", "?default_transaction_read_only=on", "GRANT ALL ON SCHEMA public TO $USER")},
		{name: "postgresql/full disk", insert: "No space left on device", log: fullDisk, arrange: postgresFull},
		{name: "postgresql/TLS without it", words: "connecting: TLS: the server does not speak it", arrange: postgresStore(postgreSQL, "", "?sslmode=require")},
	}
}

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
