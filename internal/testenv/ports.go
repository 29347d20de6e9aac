package testenv

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// The ports for tests are below those that the system uses for outgoing connections. Each process has a block of them.
const (
	firstPort  = 15_000
	portBlocks = 35
	blockSize  = 500
)

// ports reserves the block of this process. It listens on the port before the block's first port, so that no other
// process uses the block at the same time.
var ports = sync.OnceValue(func() *portBlock {
	for range 100 * portBlocks {
		reserved := firstPort + blockSize*rand.Int64N(portBlocks) //nolint:gosec // G404: only where to begin
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", loopback(reserved))
		if err != nil {
			continue
		}
		b := &portBlock{listener: l}
		b.last.Store(reserved)
		return b
	}
	panic("no ports are free")
})

// portBlock is a block of ports.
type portBlock struct {
	listener net.Listener // reserves the block until the process ends
	last     atomic.Int64 // the last port that was tried
}

// loopback returns the loopback address with a port.
func loopback(port int64) string { return net.JoinHostPort("127.0.0.1", strconv.FormatInt(port, 10)) }

// freePort returns a loopback port on which nobody listens. No other process gets the port while this process runs, so
// a server may stop and start on the same port again.
func freePort() (int, error) {
	for range blockSize - 1 {
		port := ports().last.Add(1)
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", loopback(port))
		if err != nil {
			continue
		}
		return int(port), l.Close()
	}
	return 0, errors.New("no port is free")
}

// FreePort returns a loopback port on which nobody listens. No other process gets the port while this process runs.
func FreePort(tb testing.TB) string {
	tb.Helper()
	port, err := freePort()
	if err != nil {
		tb.Fatal(err)
	}
	return strconv.Itoa(port)
}
