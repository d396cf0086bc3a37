package keyfillredis

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Name is the name by which this package registers [Driver] with database/sql.
const Name = "redis"

// DefaultPrefix begins all keys in Redis if the policy names no prefix.
const DefaultPrefix = "keyfill/"

func init() { sql.Register(Name, Driver{}) }

// Driver opens stores in Redis for the policy. It knows no SQL.
type Driver struct{}

var _ keysource.EndpointsDriver = Driver{}

// Errors about the fields of a store.
var (
	errSQL      = anchor.Last("driver", "keyfillredis: Redis is no database of SQL: name the driver under stores: of the policy")
	errAddress  = anchor.New("driver", "endpoints: want host:port of each server, separated by commas, and no other scheme than redis:// and rediss://")
	errMixed    = anchor.New("driver", "endpoints: some say redis:// and others rediss://, or tls: is given: write the same for all")
	errTLS      = anchor.New("driver", "tls: the files cannot be used: name files in PEM that this process may read in ca, cert and key")
	errPassword = anchor.New("driver", "user_env: a user of Redis needs a password: write both user_env and password_env, or password_env alone")
	errDSN      = anchor.New("driver", "want redis://user:password@host:port/0, with more servers after commas, and master_name, cluster and prefix after a question mark")
	errGiven    = anchor.New("driver", "the program has given the client of this driver: write dsn with the prefix of the keys instead of endpoints")
)

// Errors of [Register].
var (
	errNoClient = anchor.Last("options", "keyfillredis: Register is given no client: make one with package redis")
	errRing     = anchor.Last("options", "keyfillredis: a redis.Ring moves states when a server is down, so that numbers come twice: give a Client or a ClusterClient")
)

// Register registers a driver with database/sql by a name, which the policy uses as driver:
// under stores:. The stores of the driver use the program's own client: a Client of one
// server or of sentinels, or a ClusterClient. Their dsn is the prefix of the keys, such as
// "keyfill/". The client may have any options, may retry commands, and is not closed by a
// store. Call Register before the database is opened. A name can be registered once.
func Register(name string, client redis.UniversalClient) error {
	switch c := client.(type) {
	case nil:
		return errNoClient
	case *redis.Client:
		if c == nil {
			return errNoClient
		}
	case *redis.ClusterClient:
		if c == nil {
			return errNoClient
		}
	case *redis.Ring:
		return errRing
	}
	if slices.Contains(sql.Drivers(), name) {
		return anchor.Lastf("options", "keyfillredis: a driver named %q is registered already: choose another name", name)
	}
	sql.Register(name, given{client})
	return nil
}

// given is a driver whose stores use a client of the program.
type given struct{ client redis.UniversalClient }

var _ keysource.EndpointsDriver = given{}

// Open returns an error: Redis knows no SQL.
func (given) Open(string) (driver.Conn, error) { return nil, errSQL }

// OpenStore opens a store by the prefix of its keys.
func (g given) OpenStore(prefix string) (keysource.Store, error) {
	return newStore(g.client, byClient, prefix), nil
}

// OpenEndpoints returns an error: the program's client has the addresses of the servers.
func (given) OpenEndpoints(keysource.Endpoints) (keysource.Store, error) { return nil, errGiven }

// Open returns an error: Redis knows no SQL.
func (Driver) Open(string) (driver.Conn, error) { return nil, errSQL }

// OpenStore opens a store by a URL:
//
//	redis://user:password@host:6379/0               one server, and the number of its database
//	redis://host-1:6379,host-2:6379,host-3:6379     some nodes of a Redis Cluster
//	redis://host:6379?cluster=true                  the one address of a Redis Cluster
//	redis://host-1:26379,host-2:26379/0?master_name=main
//	                                                sentinels, and the name of the primary
//
// rediss:// stands for TLS with the authorities of the system. prefix=shop%2F begins all
// keys with shop/. The user and the password are sent to the servers, and not to the
// sentinels: a program with other needs makes the client and calls [Register]. OpenStore
// does no I/O.
func (Driver) OpenStore(dsn string) (keysource.Store, error) {
	scheme, rest, _ := strings.Cut(dsn, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	user, hosts := "", rest[:end]
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user, hosts = hosts[:at+1], hosts[at+1:]
	}
	// The hosts are replaced by one host, since url.Parse accepts only one.
	u, err := url.Parse("redis://" + user + "host" + rest[end:])
	if err != nil || scheme != "redis" && scheme != "rediss" {
		return nil, errDSN
	}
	e := keysource.Endpoints{Addresses: strings.Split(hosts, ","), User: u.User.Username()}
	e.Password, _ = u.User.Password()
	if scheme == "rediss" {
		e.TLS = &keysource.StoreTLS{}
	}
	o, err := optionsOf(e)
	if err != nil {
		return nil, err
	}
	if number := strings.Trim(u.Path, "/"); number != "" {
		if o.DB, err = strconv.Atoi(number); err != nil || o.DB < 0 {
			return nil, errDSN
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errDSN
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "master_name":
			o.MasterName = value
		case "cluster":
			o.IsClusterMode = value == "true"
		case "prefix":
			e.Prefix = value
		default:
			return nil, errDSN
		}
	}
	if clustered := o.MasterName == "" && (o.IsClusterMode || len(o.Addrs) > 1); clustered && o.DB != 0 {
		return nil, errDSN // a cluster has no numbered databases
	}
	return dialled(o, byDSN, e.Prefix), nil
}

// OpenEndpoints opens the store that the fields of the policy name: one server by one
// address, a Redis Cluster by the addresses of two or more of its nodes. Sentinels need a
// DSN. It reads the files of TLS. It sends nothing to a server.
func (Driver) OpenEndpoints(e keysource.Endpoints) (keysource.Store, error) {
	o, err := optionsOf(e)
	if err != nil {
		return nil, err
	}
	return dialled(o, byFields, e.Prefix), nil
}

// longest is the time limit of one request. It is more than the time that a source waits
// for an answer.
const longest = 10 * time.Second

// optionsOf returns the options of a client for the endpoints.
func optionsOf(e keysource.Endpoints) (*redis.UniversalOptions, error) {
	o := &redis.UniversalOptions{
		Username: e.User, Password: e.Password,
		// The client must not retry, because a source does, and only the source knows for
		// how long. A script that is sent twice does no harm, but its second run reserves
		// numbers that are never used. A ClusterClient still sends a script again if it has
		// to follow a slot to another node.
		MaxRetries: -1, DialerRetries: 1,
		ContextTimeoutEnabled: true, ReadTimeout: longest, WriteTimeout: longest,
		PoolSize: 8, PipelinePoolSize: -1,
		// Without these settings the client sends commands that are of no use here and need
		// rights that a user may not have.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if e.User != "" && e.Password == "" {
		return nil, errPassword
	}
	var err error
	if o.TLSConfig, err = tlsOf(e); err != nil {
		return nil, err
	}
	if o.Addrs, err = addresses(e.Addresses, o.TLSConfig != nil); err != nil {
		return nil, err
	}
	return o, nil
}

// tlsOf returns the TLS configuration of connections, or nil if connections do not use TLS.
func tlsOf(e keysource.Endpoints) (*tls.Config, error) {
	secured := slices.ContainsFunc(e.Addresses, func(a string) bool { return strings.HasPrefix(a, "rediss://") })
	if e.TLS == nil && !secured {
		return nil, nil
	}
	var files keysource.StoreTLS
	if e.TLS != nil {
		files = *e.TLS
	}
	config := &tls.Config{ServerName: files.ServerName, MinVersion: tls.VersionTLS12}
	if files.CA != "" {
		text, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, errors.Join(errTLS, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, errTLS
		}
	}
	if files.Cert == "" && files.Key == "" {
		return config, nil
	}
	read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		return &pair, err
	}
	if _, err := read(nil); err != nil {
		return nil, errors.Join(errTLS, err)
	}
	config.GetClientCertificate = read // read the certificate again for each connection, since certificates are renewed
	return config, nil
}

// addresses returns the servers in the form that the client expects.
func addresses(given []string, secured bool) ([]string, error) {
	scheme := "redis"
	if secured {
		scheme = "rediss"
	}
	var all []string
	for _, address := range given {
		own, host, found := strings.Cut(strings.TrimSpace(address), "://")
		if !found {
			own, host = scheme, own
		}
		name, port, err := net.SplitHostPort(host)
		number, numberErr := strconv.ParseUint(port, 10, 16)
		switch {
		case err != nil, numberErr != nil, name == "", number == 0, strings.ContainsAny(name, "@/?#"), own != "redis" && own != "rediss":
			return nil, errAddress
		case own != scheme:
			return nil, errMixed
		}
		all = append(all, host)
	}
	if len(all) == 0 {
		return nil, errAddress
	}
	return all, nil
}
