package cms_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, Content: settings.ContentWrite}, func(s *site) {
		id, bearer := s.album()
		var mu sync.Mutex
		var got []*http.Request
		var bodies []string
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				s.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got, bodies = append(got, r), append(bodies, string(body))
		}))
		s.Cleanup(receiver.Close)
		call := func(method, path, payload string, status int, result any) {
			s.Helper()
			w := s.expect(method, "/api/content/webhooks"+path, payload, status, "*", bearer...)
			if result != nil {
				if err := json.Unmarshal(w.Body.Bytes(), result); err != nil {
					s.Fatalf("%s: %v", w.Body, err)
				}
			}
		}
		call("POST", "", `{"url":"ftp://x","topics":["page.changed"]}`, 422, nil)
		call("POST", "", `{"url":"https://example.com","topics":["page.none"]}`, 422, nil)
		call("POST", "", `{"url":"https://example.com","topics":"page.changed"}`, 400, nil)
		var hook struct {
			ID     int64
			Secret string
		}
		call("POST", "", fmt.Sprintf(`{"url":%q,"topics":["page.changed"]}`, receiver.URL), 201, &hook)
		hookPath := fmt.Sprintf("/%d", hook.ID)
		var sealed string
		err := s.db.Read(s.Context(), func(c store.Conn) error { return c.Row("SELECT secret FROM cms_webhooks").Scan(&sealed) })
		if err != nil || strings.Contains(sealed, hook.Secret) || strings.HasPrefix(sealed, "plain.") {
			s.Errorf("the secret is stored as %s, error %v", sealed, err)
		}
		if w := s.expect("GET", "/api/content/webhooks", "", 200, "*", bearer...); strings.Contains(w.Body.String(), "whsec_") {
			s.Errorf("a secret is shown again: %s", w.Body)
		}
		s.expect("PATCH", fmt.Sprintf("/api/content/pages/%d", id), `{"title":"Other"}`, 200, "*", bearer...)

		// A sender connects only to public addresses, unless the configuration allows others.
		public := webhook.NewSender(nil, zap.NewNop())
		defer public.Close()
		if n, err := s.server.Webhooks().Hooks.Deliver(s.Context(), public); n != 0 || err != nil || len(got) != 0 {
			s.Errorf("delivered %d to a private address, error %v", n, err)
		}
		var tried struct {
			Deliveries []struct{ State, Answer, Topic string }
		}
		call("GET", hookPath+"/deliveries", "", 200, &tried)
		if len(tried.Deliveries) != 1 || tried.Deliveries[0].State != "pending" || tried.Deliveries[0].Answer == "" || tried.Deliveries[0].Topic != "page.changed" {
			s.Errorf("%+v", tried)
		}
		s.clock.Add(int64(3600e9))
		allowed := webhook.NewSender([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, zap.NewNop())
		defer allowed.Close()
		if n, err := s.server.Webhooks().Hooks.Deliver(s.Context(), allowed); n != 1 || err != nil {
			s.Fatalf("delivered %d, error %v", n, err)
		}
		if !strings.Contains(bodies[0], `"title":"Other"`) || got[0].Header.Get("X-CMS-Topic") != "page.changed" {
			s.Errorf("%s %v", bodies[0], got[0].Header)
		}
		if sign := webhook.Sign([]byte(hook.Secret), got[0].Header.Get("X-CMS-Timestamp"), bodies[0]); got[0].Header.Get("X-CMS-Signature") != sign {
			s.Errorf("signature %s, want %s", got[0].Header.Get("X-CMS-Signature"), sign)
		}

		var next struct{ Secret string }
		call("POST", hookPath+"/secret", "", 200, &next)
		if !strings.HasPrefix(next.Secret, "whsec_") || next.Secret == hook.Secret {
			s.Errorf("secret %s", next.Secret)
		}
		call("POST", hookPath+"/test", "", 204, nil)
		call("PATCH", hookPath, `{}`, 400, nil)
		call("PATCH", hookPath, `{"enabled":false}`, 204, nil)
		call("POST", hookPath+"/test", "", 409, nil)
		for _, c := range [][2]string{{"GET", ""}, {"POST", ""}, {"PATCH", hookPath}, {"DELETE", hookPath}, {"POST", hookPath + "/secret"}, {"POST", hookPath + "/test"}, {"GET", hookPath + "/deliveries"}} {
			if c[0] == "PATCH" {
				s.expect(c[0], "/api/content/webhooks"+c[1], `{"enabled":true}`, 401, "*")
				continue
			}
			s.expect(c[0], "/api/content/webhooks"+c[1], "", 401, "*")
		}
		reader := bob(s)
		s.expect("GET", "/api/content/webhooks", "", 403, "*", reader...)
		s.expect("DELETE", "/api/content/webhooks"+hookPath, "", 403, "*", reader...)
		s.expect("POST", "/api/content/webhooks", fmt.Sprintf(`{"url":%q,"topics":["page.changed"]}`, receiver.URL), 403, "*", reader...)
		call("DELETE", hookPath, "", 204, nil)
		call("DELETE", hookPath, "", 404, nil)
	})
}
