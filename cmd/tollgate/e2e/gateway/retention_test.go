package gateway

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestRequestLogIsCut checks that requests older than the retention are deleted after the start, and after a reload
// with a shorter retention, while the daily sums stay.
func TestRequestLogIsCut(t *testing.T) {
	t.Parallel()
	g := e2e.Prepare(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\trequest_log 200d\n\t}\n")
	g.User("ada", e2e.NewUpstream(t), "m")
	ledger := spending.NewLedger(g.DB(), zap.NewNop(), time.Now)
	log := spending.NewLog(ledger, g.KeyUses(), zap.NewNop()).Start()
	for _, days := range []int{300, 150, 1} {
		log.Add(spending.Record{At: time.Now().AddDate(0, 0, -days), RequestID: fmt.Sprint(days), UserID: "ada", KeyID: "gk", Provider: "p", Model: "m", Status: 200})
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := func(want ...string) {
		t.Helper()
		e2e.Eventually(t, e2e.WaitLimit, fmt.Sprint("the log has ", want), func() error {
			records, err := ledger.Recent(t.Context(), "ada", 0, 10)
			if err != nil {
				return err
			}
			got := make([]string, 0, len(records))
			for _, r := range records {
				got = append(got, r.RequestID)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("the log has %v", got)
			}
			return nil
		})
	}
	left("1", "150", "300")
	g.Start()
	g.Healthy()
	left("1", "150")
	g.AwaitLog(`"deleted old requests from the usage log"`, `"requests":1`)

	// A refused configuration deletes nothing.
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refused := e2e.Swap(t, g.Config, "request_log 200d", "request_log 1h") + "\nhttp://" + listener.Addr().String() + " {\n\trespond ok\n}\n"
	if _, err := g.Admin(http.MethodPost, "/load", "text/caddyfile", refused); err == nil {
		t.Fatal("a port that is in use was no obstacle")
	}

	g.Load(e2e.Swap(t, g.Config, "request_log 200d", "request_log 90d"))
	left("1")
	report, err := ledger.Usage(t.Context(), "ada", spending.UsageQuery{From: time.Now().AddDate(0, 0, -301)})
	if err != nil || report.Totals.Requests != 3 {
		t.Errorf("%+v, error %v", report, err)
	}
}
