package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"time"
)

// sentinels opens idle connections to the servers of the current configuration. A server that shuts down first closes
// its listeners and then its idle connections. So when the opened connections end, new connections reach the servers of
// the next configuration. A connection that a client opens earlier may be reset, see docs/known-limits.md.
func (n *Node) sentinels() (opened []net.Conn) {
	text, err := n.Admin(http.MethodGet, "/config/apps/http/servers", "", "")
	var servers map[string]struct {
		Listen   []string          `json:"listen"`
		Policies []json.RawMessage `json:"tls_connection_policies"`
	}
	if err != nil || json.Unmarshal([]byte(text), &servers) != nil {
		return nil
	}
	for _, server := range servers {
		for _, address := range server.Listen {
			// A server that requires client certificates has no sentinel.
			if c, err := sentinel(n.T.Context(), address, len(server.Policies) > 0); err == nil {
				opened = append(opened, c)
			}
		}
	}
	return opened
}

// sentinel opens a connection and makes it idle by a request that reaches no handler.
func sentinel(ctx context.Context, address string, secure bool) (_ net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, StartLimit)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if secure {
		c = tls.Client(c, &tls.Config{ServerName: "localhost", InsecureSkipVerify: true})
	}
	if err := c.SetDeadline(time.Now().Add(StartLimit)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	return c, answer.Body.Close()
}

// awaitEnd reads each connection to its end or error.
func awaitEnd(opened []net.Conn) {
	for _, c := range opened {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
}
