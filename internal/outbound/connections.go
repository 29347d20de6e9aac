package outbound

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// ErrShutdown is the error of a connection that Connections.Cut has closed.
var ErrShutdown = errors.New("the gateway is shutting down")

// Connections tracks the connections of transports, so that Cut can close all of them at once. Exchanges with upstreams
// then fail, while the requests of clients that caused them go on. A context per request could do the same but would
// cost memory for each request.
type Connections struct {
	isCut atomic.Bool
	mu    sync.Mutex
	open  map[*connection]struct{}
}

// Watch tracks all later connections of a transport. It must be called before the transport is used.
func (c *Connections) Watch(t *http.Transport) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.track(conn)
	}
}

// track adds a connection to the set. After Cut it closes the connection and returns ErrShutdown.
func (c *Connections) track(conn net.Conn) (net.Conn, error) {
	tracked := &connection{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut.Load() {
		_ = conn.Close()
		return nil, ErrShutdown
	}
	if c.open == nil {
		c.open = make(map[*connection]struct{})
	}
	c.open[tracked] = struct{}{}
	return tracked, nil
}

// Cut closes all connections. New connections are refused from then on.
func (c *Connections) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut.Store(true)
	for conn := range c.open {
		_ = conn.Conn.Close()
	}
	clear(c.open)
}

// connection is a tracked connection.
type connection struct {
	net.Conn
	all *Connections
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.reason(err)
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.reason(err)
}

// ReadFrom implements io.ReaderFrom for request bodies. It copies r in large writes through a pooled buffer.
func (c *connection) ReadFrom(r io.Reader) (int64, error) {
	buffer := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, *buffer)
}

// bodyBufferSize is the size of the largest write of a body, in bytes.
const bodyBufferSize = 128 << 10

var bodyBuffers = sync.Pool{New: func() any { b := make([]byte, bodyBufferSize); return &b }}

// reason returns ErrShutdown instead of err after Cut, and err otherwise.
func (c *connection) reason(err error) error {
	if err != nil && c.all.isCut.Load() {
		return ErrShutdown
	}
	return err
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
