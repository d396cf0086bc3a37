package newest_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/keyfill/keyfill/keyfilletcd"
	"github.com/keyfill/keyfill/keysource"
)

// authority signs certificates for one test.
type authority struct {
	folder string
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{folder: t.TempDir()}
	a.ca, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue writes a certificate and its key into files of a name.
func (a *authority) issue(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		t.Fatal(err)
	}
	c.Subject = pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.ca, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issued, key
}

func (a *authority) file(name string) string { return filepath.Join(a.folder, name) }

// TestTLS: a store is reached with the authority and the certificate of the policy, and
// without them says what is wrong with TLS.
func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.issue(t, "server", &x509.Certificate{
		DNSNames: []string{"etcd.internal"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	a.issue(t, "client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	address := startWith(t, func(c *embed.Config) {
		c.ListenClientUrls[0].Scheme = "https"
		c.ClientTLSInfo = transport.TLSInfo{
			CertFile: a.file("server.pem"), KeyFile: a.file("server.key"), TrustedCAFile: a.file("ca.pem"), ClientCertAuth: true,
		}
	})
	address = strings.TrimPrefix(address, "http://")
	whole := keysource.StoreTLS{CA: a.file("ca.pem"), Cert: a.file("client.pem"), Key: a.file("client.key")}
	named := whole
	named.ServerName = "etcd.internal"
	for _, tls := range []keysource.StoreTLS{whole, named} {
		if err := onceWithin(t, keysource.Endpoints{Addresses: []string{address}, TLS: &tls}, time.Minute); err != nil {
			t.Errorf("with %+v: %v", tls, err)
		}
	}
	misnamed := whole
	misnamed.ServerName = "elsewhere.internal"
	for said, e := range map[string]keysource.Endpoints{
		"write tls: or https://":         {Addresses: []string{address}},
		"signed by an unknown authority": {Addresses: []string{"https://" + address}},
		"certificate required":           {Addresses: []string{address}, TLS: &keysource.StoreTLS{CA: a.file("ca.pem")}},
		"for another host":               {Addresses: []string{address}, TLS: &misnamed},
	} {
		// A server that closes the connection before it has read all may take its alert along,
		// since it resets the connection: RFC 1122, section 4.2.2.13.
		err := once(t, e)
		for tries := 1; tries < 20 && err != nil && !strings.Contains(err.Error(), said); tries++ {
			err = once(t, e)
		}
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%v, want %q", err, said)
		}
	}
}

// TestUser: a store is used as the user of the policy, whose role has to have the prefix.
func TestUser(t *testing.T) {
	address := startWith(t, func(c *embed.Config) { c.BcryptCost = 4 }) // a busy machine would need seconds for a password
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	ctx := t.Context()
	const prefix = "shop/keyfill/"
	_, err1 := admin.UserAdd(ctx, "root", "rootsecret")
	_, err2 := admin.UserGrantRole(ctx, "root", "root")
	if err2 != nil { // not each series has the role from the beginning
		_, err2 = admin.RoleAdd(ctx, "root")
		if err2 == nil {
			_, err2 = admin.UserGrantRole(ctx, "root", "root")
		}
	}
	_, err3 := admin.RoleAdd(ctx, "keys")
	_, err4 := admin.RoleGrantPermission(ctx, "keys", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
	_, err5 := admin.UserAdd(ctx, "shop", "shopsecret")
	_, err6 := admin.UserGrantRole(ctx, "shop", "keys")
	_, err7 := admin.AuthEnable(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		t.Fatal(err)
	}
	e := keysource.Endpoints{Addresses: []string{address}, Prefix: prefix, User: "shop", Password: "shopsecret"}
	if err := onceWithin(t, e, time.Minute); err != nil {
		t.Errorf("as its user: %v", err)
	}
	other := e
	other.Prefix = "other/"
	wrong := e
	wrong.Password = "guess"
	for what, e := range map[string]keysource.Endpoints{
		"another prefix": other, "another password": wrong, "no user": {Addresses: []string{address}, Prefix: prefix},
	} {
		err := onceWithin(t, e, time.Minute)
		if !errors.Is(err, keysource.ErrStoreState) || !errors.Is(err, keysource.ErrStoreRefused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want an error that etcd refuses", what, err)
		}
	}
}

// once is onceWithin two seconds, or more where that was too short to try to connect.
func once(t *testing.T, e keysource.Endpoints) (err error) {
	t.Helper()
	for limit := 2 * time.Second; limit < 2*time.Minute; limit *= 4 {
		if err = onceWithin(t, e, limit); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return err
}

// onceWithin reserves an integer, opens a series and moves that.
func onceWithin(t *testing.T, e keysource.Endpoints, limit time.Duration) error {
	t.Helper()
	s, err := keyfilletcd.Driver{}.OpenEndpoints(e)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	st := keysource.State{Name: "orders", Max: 1000, First: func(context.Context) (int64, error) { return 1, nil }}
	if _, err := s.Reserver(st).Reserve(ctx, 1, 0); err != nil {
		return err
	}
	st.Name = "lines"
	rows := s.Series(st, keysource.SeriesOwner{Size: 10, Lease: 5 * time.Second, Owner: "a"})
	one, err := rows.Open(ctx, 0)
	if err != nil {
		return err
	}
	_, _, err = rows.Move(ctx, one, one.Next+1)
	return err
}
