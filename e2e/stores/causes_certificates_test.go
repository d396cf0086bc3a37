package stores_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

// certificates are files in PEM: NAME.pem with the key NAME.key.
//
//   - ca has signed all others but other, which has signed itself
//   - server is for 127.0.0.1, host for elsewhere, and old for 127.0.0.1 until an hour ago
//   - client is a client's
//
// pg_hba.conf lets PostgreSQL ask all users but its own for a password.
type certificates struct{ folder string }

func (c *certificates) path(name string) string { return filepath.Join(c.folder, name) }

// tls returns the fields of a store that trusts an authority, and may have a certificate
// of its own.
func (c *certificates) tls(authority, own string) *keysource.StoreTLS {
	t := &keysource.StoreTLS{CA: c.path(authority + ".pem")}
	if own != "" {
		t.Cert, t.Key = c.path(own+".pem"), c.path(own+".key")
	}
	return t
}

// makeCertificates makes them in a folder that the users of the servers may read.
func makeCertificates(t *testing.T) *certificates {
	t.Helper()
	folder, err := os.MkdirTemp("", "keyfill-certificates")
	if err == nil {
		err = os.Chmod(folder, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	c := &certificates{folder}
	const login = "local all all trust\nhost all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(c.path("pg_hba.conf"), []byte(login), 0o644); err != nil {
		t.Fatal(err)
	}
	here, year := net.IPv4(127, 0, 0, 1), time.Now().AddDate(1, 0, 0)
	authority, key := c.make(t, "ca", &x509.Certificate{NotAfter: year, IsCA: true}, nil, nil)
	c.make(t, "other", &x509.Certificate{NotAfter: year, IsCA: true}, nil, nil)
	c.make(t, "server", &x509.Certificate{NotAfter: year, IPAddresses: []net.IP{here}}, authority, key)
	c.make(t, "host", &x509.Certificate{NotAfter: year, DNSNames: []string{"elsewhere"}}, authority, key)
	c.make(t, "old", &x509.Certificate{NotAfter: time.Now().Add(-time.Hour), IPAddresses: []net.IP{here}}, authority, key)
	c.make(t, "client", &x509.Certificate{NotAfter: year}, authority, key)
	return c
}

// make makes a certificate that an authority signs, nil for itself.
func (c *certificates) make(t *testing.T, name string, as, authority *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	as.SerialNumber, as.Subject, as.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}, true
	as.NotBefore = time.Now().AddDate(0, 0, -2)
	as.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign
	as.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if authority == nil {
		authority, signer = as, key
	}
	made, err := x509.CreateCertificate(rand.Reader, as, authority, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: made},
		name + ".key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(c.path(file), pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(made)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, key
}
