package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// redisDatabases is the number of databases of the server that the tests of a process share.
const redisDatabases = 4096

// RedisServer is a Redis or Valkey server with one database for the test. A private server loses its data when it is
// stopped.
type RedisServer struct {
	testServer
	number int64 // of the database
}

// sharedRedis starts the server that all tests of the process share.
var sharedRedis = sync.OnceValues(startRedis)

// numbers counts the databases on the shared server.
var numbers atomic.Int64

// Redis returns a new, empty database on the server that all tests of the process share. Commands that affect all
// databases (FLUSHALL, SCRIPT FLUSH) affect other tests.
func Redis(tb testing.TB) *RedisServer {
	tb.Helper()
	shared, err := sharedRedis()
	if err != nil {
		tb.Fatal(err)
	}
	n := numbers.Add(1)
	if n >= redisDatabases {
		tb.Fatalf("testenv: more than %d databases in one process", redisDatabases-1)
	}
	return &RedisServer{testServer{tb: tb, server: shared}, n}
}

// NewRedis returns a private server, which the test may stop and start.
func NewRedis(tb testing.TB) *RedisServer {
	tb.Helper()
	return &RedisServer{testServer: privateServer(tb, startRedis)}
}

// URL returns the URL of the database, redis://host:port/number.
func (r *RedisServer) URL() string {
	return "redis://" + r.server.address() + "/" + strconv.FormatInt(r.number, 10)
}

// startRedis starts a server without persistence.
func startRedis() (*server, error) {
	program, ok := lookUp("redis-server")
	if !ok {
		program, ok = lookUp("valkey-server")
	}
	if !ok {
		return nil, errors.New("testenv: neither redis-server nor valkey-server is installed: apt-get install redis-server")
	}
	s, err := newServer("redis", "TERM", nil)
	if err != nil {
		return nil, err
	}
	s.command = []string{
		program, "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--databases", strconv.Itoa(redisDatabases),
	}
	s.answers = func() error { return pingRedis(s.address()) }
	if err := s.start(); err != nil {
		_ = s.stop(false)
		return nil, err
	}
	return s, nil
}

// pingRedis uses just enough of the protocol to check that a server is ready.
func pingRedis(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(conn, 64).ReadSlice('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(line), "+PONG") {
		return fmt.Errorf("unexpected answer %q", line)
	}
	return nil
}
