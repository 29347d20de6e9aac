package jobs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

func (s *site) exec(query string, args ...any) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), func(c store.Conn) error {
		_, err := c.Exec(query, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestDeliver checks that the job delivers an event that was written with a change, even after a restart of the
// process, and that the request has the headers of boards.
func TestDeliver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		got := make(chan http.Header, 1)
		var body []byte
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			got <- r.Header
		}))
		defer server.Close()
		_, secret, err := s.service.Admin.AddWebhook(t.Context(), s.as("admin"), server.URL, kernel.Topics)
		if err != nil {
			t.Fatal(err)
		}
		s.reply("Hello to the hook")
		s.service.Close() // before anything was sent
		s.service = s.node()
		sender := webhook.NewSender([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, zap.NewNop())
		defer sender.Close()
		work := s.service.Work(sender, nil, zap.NewNop())
		for _, j := range jobs.List(func() *jobs.Work { return work }) {
			if j.Name != jobs.JobWebhooks {
				continue
			}
			if n, err := j.Run(t.Context()); n != 1 || err != nil {
				t.Fatalf("%d delivered, %v", n, err)
			}
		}
		h := <-got
		if h.Get("X-Board-Signature") != webhook.Sign([]byte(secret), h.Get("X-Board-Timestamp"), string(body)) || h.Get("X-Board-Topic") != kernel.TopicPostCreated ||
			h.Get("X-Board-Delivery") == "" || h.Get("User-Agent") != "Tollgate-Board" || !strings.Contains(string(body), `"threadTitle":"Public thread"`) {
			t.Errorf("%v %s", h, body)
		}
	})
}
