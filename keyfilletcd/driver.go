package keyfilletcd

import (
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// Name is the name by which this package registers [Driver] with database/sql.
const Name = "etcd"

// DefaultPrefix begins all keys in etcd if the policy names no prefix.
const DefaultPrefix = "keyfill/"

// connecting sets when gRPC tries again to reach a member. By default it would wait for up
// to two minutes, even if the member is back.
var connecting = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 3 * time.Second,
}

func init() { sql.Register(Name, Driver{}) }

// Driver opens stores in etcd for the policy. It knows no SQL.
type Driver struct{}

var _ keysource.EndpointsDriver = Driver{}

// errSQL is returned if a program opens a database/sql database with the driver.
var errSQL = anchor.Last("driver", "keyfilletcd: etcd is no database of SQL: name the driver under stores: of the policy")

// Errors about the fields of a store.
var (
	errAddress  = anchor.New("driver", "endpoints: want host:port of each server, separated by commas, and no other scheme than http:// and https://")
	errMixed    = anchor.New("driver", "endpoints: some say http:// and others https://, or tls: is given: write the same for all")
	errTLS      = anchor.New("driver", "tls: the files cannot be used: name files in PEM that this process may read in ca, cert and key")
	errPassword = anchor.New("driver", "user_env: etcd has no user without a password and no password without a user: write both user_env and password_env")
)

// Open returns an error: etcd knows no SQL.
func (Driver) Open(string) (driver.Conn, error) { return nil, errSQL }

// OpenStore opens the store that dsn names: the addresses of the servers, with commas
// between them, such as "etcd-1:2379,etcd-2:2379". https:// before each of them means TLS
// with the system's certificate authorities. "/" and a prefix for all keys may follow the
// last one. OpenStore does no I/O.
func (d Driver) OpenStore(dsn string) (keysource.Store, error) {
	e := keysource.Endpoints{}
	scheme := ""
	if i := strings.LastIndex(dsn, "://"); i >= 0 {
		scheme, dsn = dsn[:i+3], dsn[i+3:]
	}
	dsn, e.Prefix, _ = strings.Cut(dsn, "/")
	e.Addresses = strings.Split(scheme+dsn, ",")
	return d.OpenEndpoints(e)
}

// OpenEndpoints opens the store that the fields of the policy name. It reads the files of
// TLS, which are read again for each connection. It sends nothing to a server.
func (Driver) OpenEndpoints(e keysource.Endpoints) (keysource.Store, error) {
	c := clientv3.Config{
		Username: e.User, Password: e.Password,
		// A member that stops answering is noticed within 13 seconds, which is the least
		// that gRPC and etcd let a client ask for.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialTimeout: 5 * time.Second, // the limit for getting a token, the proof of a login
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(connecting)},
	}
	if (e.User == "") != (e.Password == "") {
		return nil, errPassword
	}
	var err error
	if c.TLS, err = tlsOf(e); err != nil {
		return nil, err
	}
	if e.TLS != nil && e.TLS.ServerName != "" {
		// Without this option the client takes the server's name from each address.
		c.DialOptions = append(c.DialOptions, grpc.WithAuthority(e.TLS.ServerName))
	}
	if c.Endpoints, err = addresses(e.Addresses, c.TLS != nil); err != nil {
		return nil, err
	}
	prefix := e.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return newStore(c, prefix), nil
}

// tlsOf returns the TLS configuration of connections, or nil if connections do not use TLS.
func tlsOf(e keysource.Endpoints) (*tls.Config, error) {
	secured := false
	for _, address := range e.Addresses {
		secured = secured || strings.HasPrefix(address, "https://")
	}
	if e.TLS == nil && !secured {
		return nil, nil
	}
	var files keysource.StoreTLS
	if e.TLS != nil {
		files = *e.TLS
	}
	info := transport.TLSInfo{
		TrustedCAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key, ServerName: files.ServerName,
		Logger: zap.NewNop(),
	}
	config, err := info.ClientConfig()
	if err != nil {
		return nil, errors.Join(errTLS, err)
	}
	return config, nil
}

// addresses returns the servers in the form that the client expects. The client reads the
// scheme of the first address only, so all addresses get the same scheme.
func addresses(given []string, secured bool) ([]string, error) {
	scheme := "http://"
	if secured {
		scheme = "https://"
	}
	var all []string
	for _, address := range given {
		own, host, found := strings.Cut(strings.TrimSpace(address), "://")
		if !found {
			own, host = strings.TrimSuffix(scheme, "://"), own
		}
		u, err := url.Parse(own + "://" + host)
		if err != nil || u.Hostname() == "" || u.User != nil || u.Host != host || own != "http" && own != "https" {
			return nil, errAddress
		}
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		switch {
		case err != nil, port == 0:
			return nil, errAddress
		case own+"://" != scheme:
			return nil, errMixed
		}
		all = append(all, scheme+host)
	}
	if len(all) == 0 {
		return nil, errAddress
	}
	return all, nil
}
