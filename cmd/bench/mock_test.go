package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestMock sends what the rows send, through the client that they use.
func TestMock(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(server.Close)
	to := site{strings.TrimPrefix(server.URL, "http://"), "key"}
	ctx := t.Context()

	c := &client{address: to.address}
	t.Cleanup(c.close)
	for ask, check := range map[string]func(reply) error{askWhole: isWhole, askBurst: isStream, askPadded: isStream, askPaced: isStream} {
		got, err := c.do(ctx, to.request(chat(ask, ask != askWhole, 1<<10)))
		if err == nil {
			err = check(got)
		}
		if err != nil {
			t.Errorf("%s: %v", ask, err)
		}
	}
	got, err := c.do(ctx, to.request(`{"messages":[]}`))
	if err != nil || got.status != http.StatusBadRequest {
		t.Errorf("asked for nothing: status %d and error %v, want 400", got.status, err)
	}
	for ask, events := range map[string]int{askIdle: 1, askFlood + "2000": 2000} {
		held := &client{address: to.address}
		if err := held.hold(ctx, to.request(chat(ask, true, 1<<10)), events); err != nil {
			t.Errorf("%s: %v", ask, err)
		}
		held.close() // lets the mock's handler end
	}
}

// TestLoad: a load counts what failed and ends by itself.
func TestLoad(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(server.Close)
	to := site{strings.TrimPrefix(server.URL, "http://"), ""}
	good := load{to: to, request: to.request(chat(askWhole, false, 1<<10)), check: isWhole, conns: 2}
	if o := good.run(t.Context(), 20*time.Millisecond); o.failure != nil || o.requests == 0 || len(o.latency) != o.requests {
		t.Errorf("good requests: %d, latencies: %d, error: %v", o.requests, len(o.latency), o.failure)
	}
	bad := load{to: to, request: to.request("{}"), check: isWhole, conns: 2}
	if o := bad.run(t.Context(), time.Hour); o.failure == nil || o.requests != 0 || o.failed != 2*maxFailures {
		t.Errorf("bad requests: %d answered, %d failed, error: %v", o.requests, o.failed, o.failure)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if o := good.run(over, time.Hour); o.failed != 0 {
		t.Errorf("a load that is over: %v", o.failure)
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	if len(wholeReply) != 1024 {
		t.Errorf("the reply has %d bytes, want 1024", len(wholeReply))
	}
	for _, size := range []int{1 << 10, 200 << 10} {
		if body := chat(askWhole, false, size); len(body) != size || asked([]byte(body)) != askWhole {
			t.Errorf("a body of %d bytes, want %d, that asks %q", len(body), size, asked([]byte(body)))
		}
	}
}
