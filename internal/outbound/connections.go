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

// ErrShutdown is the error of a connection that Connections has cut.
var ErrShutdown = errors.New("the gateway is shutting down")

// Connections are those of transports, kept so that all can be cut at once: the
// exchanges on them end by an error, while their requests go on. A context for
// each request could do the same and would cost each request memory.
type Connections struct {
	isCut atomic.Bool
	mu    sync.Mutex
	open  map[*connection]struct{}
}

// Watch keeps the connections that a transport makes from now on. It is called
// before the transport is used.
func (c *Connections) Watch(t *http.Transport) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c.keep(conn)
	}
}

func (c *Connections) keep(conn net.Conn) (net.Conn, error) {
	kept := &connection{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut.Load() {
		_ = conn.Close()
		return nil, ErrShutdown
	}
	if c.open == nil {
		c.open = make(map[*connection]struct{})
	}
	c.open[kept] = struct{}{}
	return kept, nil
}

// Cut closes all connections and refuses new ones.
func (c *Connections) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut.Store(true)
	for conn := range c.open {
		_ = conn.Conn.Close()
	}
	clear(c.open)
}

// connection is one that is kept.
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

// ReadFrom implements io.ReaderFrom for bodies that a transport sends: what comes from r goes
// out by large writes, through a buffer that is used again.
func (c *connection) ReadFrom(r io.Reader) (int64, error) {
	buffer := bodies.Get().(*[]byte)
	defer bodies.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, *buffer)
}

// bodyBuffer is the size of the largest write of a body, in bytes.
const bodyBuffer = 128 << 10

var bodies = sync.Pool{New: func() any { b := make([]byte, bodyBuffer); return &b }}

// reason is why an exchange failed.
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
