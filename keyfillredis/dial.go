package keyfillredis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// dialLimit is how long a connection may take to open. It is less than the time that a
// source waits for its store.
const dialLimit = 5 * time.Second

// dialler opens connections as the client does by default. It also records whether a server
// does not answer the TLS handshake, since a port without TLS does not: it waits for the
// end of a line.
type dialler struct {
	config  *tls.Config  // the TLS configuration; nil if the connection does not use TLS
	shaking atomic.Int32 // how many attempts wait for an answer to their TLS handshake
	silent  atomic.Bool  // whether the TLS handshake of the last attempt got no answer
}

func (d *dialler) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	// These are the times that the client uses by default.
	alive := net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}
	conn, err := (&net.Dialer{KeepAliveConfig: alive}).DialContext(ctx, network, addr)
	if err != nil || d.config == nil {
		return conn, err
	}
	config := d.config
	if config.ServerName == "" {
		config = config.Clone()
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			_ = conn.Close() // err is returned, so an error of Close adds nothing
			return nil, err
		}
	}
	secured := tls.Client(conn, config)
	d.shaking.Add(1)
	err = secured.HandshakeContext(ctx)
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	d.silent.Store(silent)
	d.shaking.Add(-1)
	if err == nil {
		return secured, nil
	}
	_ = conn.Close() // nothing was sent yet, so an error of Close loses nothing
	if silent {
		return nil, fmt.Errorf("%w: %w", errShake, err)
	}
	return nil, err
}

// late returns the error of a request that took too long. The error also wraps errShake if
// a TLS handshake got no answer.
func (d *dialler) late(err error) error {
	if d != nil && (d.shaking.Load() > 0 || d.silent.Load()) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errShake, err)
	}
	return err
}
