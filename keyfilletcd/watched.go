package keyfilletcd

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// watched is the TLS of one client's connections. It reports to the link why TLS fails, when it
// fails: on a slow machine gRPC connects again before it can be asked for the reason.
type watched struct {
	credentials.TransportCredentials
	link *link
}

func (w watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	switch {
	case err == nil:
		return watchedConn{conn, w.link}, info, nil
	case ctx.Err() == nil:
		w.link.note(unreached("handshake failed: " + err.Error()))
	}
	return nil, nil, err
}

func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.link}
}

// watchedConn is a connection after its handshake. In TLS 1.3 a server refuses a client's
// certificate only then, with an alert that the client reads (RFC 8446, section 4.4.2.4).
type watchedConn struct {
	net.Conn
	link *link
}

func (c watchedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" {
		c.link.note(unreached(err.Error()))
	}
	return n, err
}
