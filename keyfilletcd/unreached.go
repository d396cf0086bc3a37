package keyfilletcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/keyfill/keyfill/internal/sqlcode"
)

// link holds the connection of one client, to find out why no server is connected.
// clientv3.New does not report that: it uses the connection to get a token, and waits until
// its deadline.
type link struct {
	conn atomic.Pointer[grpc.ClientConn]
	last atomic.Pointer[error] // the last reason why no server was connected
}

// option returns the option with which a client stores its connection in the link.
func (l *link) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		l.conn.Store(conn)
		err := invoke(ctx, method, request, reply, conn, opts...)
		if err == nil {
			l.last.Store(nil)
		}
		if method == etcdserverpb.Auth_Authenticate_FullMethodName && status.Code(err) == codes.DeadlineExceeded {
			_ = l.reached(context.DeadlineExceeded) // called for its effect: it stores the reason in l.last, since the client closes its connection afterwards
		}
		return err
	})
}

// faultLimit is how long a request may take that should fail at once if no server is
// connected.
const faultLimit = 300 * time.Millisecond

// reached returns the reason why no server is connected, if err says that a request took
// too long and no server is. Otherwise it returns err.
func (l *link) reached(err error) error {
	if why := l.last.Load(); why != nil && err == errReach {
		return *why
	}
	conn := l.conn.Load()
	if conn == nil || !errors.Is(err, context.DeadlineExceeded) || conn.GetState() == connectivity.Ready {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), faultLimit)
	defer cancel()
	_, fault := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(false))
	if status.Code(fault) == codes.Unavailable {
		l.note(unreached(status.Convert(fault).Message()))
	}
	if why := l.last.Load(); why != nil {
		return *why // another attempt is under way, so return the reason of the last one
	}
	return errReach
}

// note stores the reason why no server is connected. A text that names no cause does not
// replace a cause: a server that ends TLS with an alert also resets the connection, and
// either may arrive first.
func (l *link) note(why error) {
	if why != errReach || l.last.Load() == nil {
		l.last.Store(&why)
	}
}

// networkFaults maps parts of gRPC's error texts to errors of the same meaning. gRPC keeps
// only the texts of the errors of packages net, crypto/tls and x509.
var networkFaults = []struct {
	text string
	err  error
	tls  bool
}{
	{"certificate signed by unknown authority", x509.UnknownAuthorityError{}, true},
	{"certificate is valid for", x509.HostnameError{}, true},
	{"certificate is not valid for any names", x509.HostnameError{}, true},
	{"cannot validate certificate for", x509.HostnameError{}, true},
	{"x509: ", x509.CertificateInvalidError{}, true},
	{"first record does not look like a TLS handshake", tls.RecordHeaderError{}, true},
	{"connection refused", syscall.ECONNREFUSED, false},
	{"no such host", &net.DNSError{}, false},
	{"no route to host", syscall.EHOSTUNREACH, false},
	{"network is unreachable", syscall.ENETUNREACH, false},
	{"i/o timeout", syscall.ETIMEDOUT, false},
}

// alert matches the text of an error with which the server has ended the TLS connection.
var alert = regexp.MustCompile(`remote error: (tls: [a-z ]{1,40})`)

// unreached returns an error for gRPC's text about a server that is not connected.
func unreached(text string) error {
	for _, f := range networkFaults {
		switch {
		case !strings.Contains(text, f.text):
		case f.tls:
			return fmt.Errorf("%w: %w", errHandshake, sqlcode.Connecting(f.err))
		default:
			return fmt.Errorf("%w: %w", errReach, sqlcode.Connecting(f.err))
		}
	}
	if found := alert.FindStringSubmatch(text); found != nil {
		return fmt.Errorf("%w: %w", errHandshake, sqlcode.Connecting(&net.OpError{Op: "remote error", Err: errors.New(found[1])}))
	}
	switch {
	case strings.Contains(text, "handshake failed: EOF"), strings.Contains(text, "handshake failed: read"):
		return errShake
	case strings.Contains(text, "handshake"):
		return errHandshake
	case strings.Contains(text, "server preface"):
		return errPreface
	}
	return errReach
}
