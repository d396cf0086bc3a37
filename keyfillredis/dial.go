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

// dialLimit is how long a connection may take to open. It is less than a source waits for.
const dialLimit = 5 * time.Second

// dialler opens connections as the client would without it. It also notes whether a server
// leaves the TLS handshake without an answer: a port without TLS waits for the end of a
// line.
type dialler struct {
	config  *tls.Config  // nil if there is no TLS
	shaking atomic.Int32 // attempts whose TLS handshake has no answer yet
	silent  atomic.Bool  // the TLS handshake of the last attempt had no answer
}

func (d *dialler) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	// The client uses the same times.
	alive := net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}
	conn, err := (&net.Dialer{KeepAliveConfig: alive}).DialContext(ctx, network, addr)
	if err != nil || d.config == nil {
		return conn, err
	}
	config := d.config
	if config.ServerName == "" {
		config = config.Clone()
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			_ = conn.Close() // err is the error to return
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
	_ = conn.Close() // nothing was sent yet
	if silent {
		return nil, fmt.Errorf("%w: %w", errShake, err)
	}
	return nil, err
}

// late returns the error of a request that took too long. It is errShake too if a TLS
// handshake had no answer.
func (d *dialler) late(err error) error {
	if d != nil && (d.shaking.Load() > 0 || d.silent.Load()) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errShake, err)
	}
	return err
}
