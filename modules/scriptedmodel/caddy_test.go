package scriptedmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite" // handle_path

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestHandlerInCaddy checks that in a Caddy server the faults reach the connection through the server's wrapped
// writers.
func TestHandlerInCaddy(t *testing.T) {
	addr := "127.0.0.1:" + testenv.FreePort(t)
	file := fmt.Sprintf(`{
	admin off
	persist_config off
	grace_period 1s
}
http://%s {
	route {
		handle_path /mock/* {
			route {
				scripted_model
			}
		}
		respond 404
	}
}
`, addr)
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(file), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(adapted, true); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := caddy.Stop(); err != nil {
			t.Error(err)
		}
	}()

	base := "http://" + addr + "/mock/v1"
	send := func(ctx context.Context, script string) (*http.Response, error) {
		body := `{"model":"scripted?text=a+b&` + script + `","messages":[],"stream":true}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(req)
	}
	tests := []struct {
		script, end string
		err         error
	}{
		{"", "data: [DONE]\n\n", nil},
		{"fault=slow_headers&delay=10ms", "data: [DONE]\n\n", nil},
		{"fault=drop_mid", "\n\n", io.ErrUnexpectedEOF},
		{"fault=no_done", "\n\n", nil},
	}
	for _, test := range tests {
		resp, err := send(t.Context(), test.script)
		if err != nil {
			t.Errorf("%s: %v", test.script, err)
			continue
		}
		all, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !errors.Is(err, test.err) || !strings.HasSuffix(string(all), test.end) || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s, error %v", test.script, resp.StatusCode, all, err)
		}
	}
	if resp, err := send(t.Context(), "fault=drop"); err == nil {
		resp.Body.Close()
		t.Errorf("drop: status %d", resp.StatusCode)
	}

	// The role chunk of a stalled stream arrives at once, and the client may disconnect.
	ctx, leave := context.WithCancel(t.Context())
	resp, err := send(ctx, "fault=stall")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data:" {
		t.Errorf("stall: %q, error %v", first, err)
	}
	leave()
}
