package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// errUnanswered is returned if a new connection ends before the first byte of a response.
var errUnanswered = errors.New("the connection ended without an answer")

// patience is the time that a client waits for a response.
const patience = 60 * time.Second

// Client is one keep-alive connection to a site. Only one goroutine may use it.
type Client struct {
	Address string // host:port
	Keep    bool   // whether the text of responses is kept

	conn   net.Conn
	reader replyReader
	used   bool // whether a response has arrived on conn
}

// dial opens the connection.
func (c *Client) dial(ctx context.Context) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	c.conn, c.used = conn, false
	c.reader = replyReader{in: bufio.NewReaderSize(conn, 16<<10), keep: c.Keep}
	return nil
}

// Close closes the connection. The next exchange opens a new one.
func (c *Client) Close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// send writes the request and reads the head of the response. A server may close an idle connection at any time, for
// example during a reload. If the connection ends before the first byte of the response, send repeats the request on a
// new connection.
func (c *Client) send(ctx context.Context, request []byte, got *Reply) error {
	for {
		if c.conn == nil {
			if err := c.dial(ctx); err != nil {
				return fmt.Errorf("connecting: %w", err)
			}
		}
		if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, err := c.conn.Write(request)
		if err == nil {
			_, err = c.reader.in.Peek(1)
		}
		if err == nil {
			return c.reader.head(got)
		}
		c.Close()
		if !c.used {
			return fmt.Errorf("%w: %w", errUnanswered, err)
		}
	}
}

// Do sends a request and reads the response.
func (c *Client) Do(ctx context.Context, request []byte) (got Reply, err error) {
	if err = c.send(ctx, request, &got); err == nil {
		err = c.reader.body(&got, 0)
	}
	c.used = true
	if err != nil || got.closes {
		c.Close()
	}
	return got, err
}

// Hold sends a request and reads the response until a number of events have arrived. The stream stays open until the
// client is closed.
func (c *Client) Hold(ctx context.Context, request []byte, events int) error {
	var got Reply
	if err := c.send(ctx, request, &got); err != nil {
		return err
	}
	if err := c.reader.body(&got, 2*events); err != nil {
		return fmt.Errorf("after %d events: %w", got.Lines/2, err)
	}
	if got.Status != 200 || got.Lines < 2*events {
		return fmt.Errorf("status %d with %d events instead of 200 with %d", got.Status, got.Lines/2, events)
	}
	return nil
}

// FirstByte sends a request, reads the response, and returns the time until the first byte of the response.
func (c *Client) FirstByte(ctx context.Context, request []byte) (took time.Duration, got Reply, err error) {
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return 0, got, fmt.Errorf("connecting: %w", err)
		}
	}
	began := time.Now()
	if err := c.send(ctx, request, &got); err != nil {
		return 0, got, err
	}
	took = time.Since(began)
	if err := c.reader.body(&got, 0); err != nil {
		return 0, got, err
	}
	if got.closes {
		c.Close()
	}
	return took, got, nil
}
