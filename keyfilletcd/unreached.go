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

// link notes the connection of one client. clientv3.New already uses the connection, for a
// token, and waits until its deadline without reporting why no server is connected.
type link struct {
	conn atomic.Pointer[grpc.ClientConn]
	last atomic.Pointer[error] // the last reason why no server was connected
}

// option returns the option by which a client notes its connection in the link.
func (l *link) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		l.conn.Store(conn)
		err := invoke(ctx, method, request, reply, conn, opts...)
		if method == etcdserverpb.Auth_Authenticate_FullMethodName && status.Code(err) == codes.DeadlineExceeded {
			_ = l.reached(context.DeadlineExceeded) // noted here, since the client closes its connection after that
		}
		return err
	})
}

// faultLimit is how long a request may take that should fail at once if no server is
// connected.
const faultLimit = 300 * time.Millisecond

// reached returns an error for a request that took too long: the reason if no server is
// connected, otherwise err itself.
func (l *link) reached(err error) error {
	conn := l.conn.Load()
	if conn == nil || !errors.Is(err, context.DeadlineExceeded) || conn.GetState() == connectivity.Ready {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), faultLimit)
	defer cancel()
	_, fault := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(false))
	if status.Code(fault) == codes.Unavailable {
		why := unreached(status.Convert(fault).Message())
		l.last.Store(&why)
	}
	if why := l.last.Load(); why != nil {
		return *why // the reason of the last attempt, while another attempt is under way
	}
	return errReach
}

// networkFaults maps parts of gRPC's texts, in which it hides the errors of packages net,
// crypto/tls and x509, to errors of the same meaning.
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
