package mock

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/bench/load"
)

// TestMock sends the requests of the rows through the client that the rows use.
func TestMock(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(server.Close)
	site := load.Site{Address: strings.TrimPrefix(server.URL, "http://"), Key: "key"}
	ctx := t.Context()

	c := &load.Client{Address: site.Address}
	t.Cleanup(c.Close)
	for ask, check := range map[string]func(load.Reply) error{Whole: IsWhole, Burst: IsStream, Padded: IsStream, Paced: IsStream} {
		got, err := c.Do(ctx, site.Chat(Chat(ask, ask != Whole, 1<<10)))
		if err == nil {
			err = check(got)
		}
		if err != nil {
			t.Errorf("%s: %v", ask, err)
		}
	}
	got, err := c.Do(ctx, site.Chat(`{"messages":[]}`))
	if err != nil || got.Status != http.StatusBadRequest {
		t.Errorf("asked for nothing: status %d and error %v, want 400", got.Status, err)
	}
	for ask, events := range map[string]int{Idle: 1, Flood + "2000": 2000} {
		held := &load.Client{Address: site.Address}
		if err := held.Hold(ctx, site.Chat(Chat(ask, true, 1<<10)), events); err != nil {
			t.Errorf("%s: %v", ask, err)
		}
		held.Close() // the mock's handler ends when its client is gone
	}
}

func TestPayload(t *testing.T) {
	t.Parallel()
	if len(wholeReply) != 1024 {
		t.Errorf("the reply has %d bytes, want 1024", len(wholeReply))
	}
	for _, size := range []int{1 << 10, 200 << 10} {
		if body := Chat(Whole, false, size); len(body) != size || asked([]byte(body)) != Whole {
			t.Errorf("a body of %d bytes, want %d, that asks %q", len(body), size, asked([]byte(body)))
		}
	}
}
