package limits

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

const alertSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// pager is a receiver of webhooks that does not answer until it is opened.
type pager struct {
	*httptest.Server
	opened     chan struct{}
	mu         sync.Mutex
	came, took []gjson.Result
	faults     []string
}

func newPager(t *testing.T) *pager {
	t.Helper()
	p := &pager{opened: make(chan struct{})}
	secret, err := webhook.ParseStandardSecret(alertSecret)
	if err != nil {
		t.Fatal(err)
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("webhook-id")
		timestamp, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		want := webhook.StandardHeader(secret, id, time.Unix(timestamp, 0), string(body)).Get("webhook-signature")
		message := gjson.ParseBytes(body)
		p.mu.Lock()
		p.came = append(p.came, message)
		if err != nil || r.Header.Get("webhook-signature") != want || message.Get("data.id").Str != id {
			p.faults = append(p.faults, fmt.Sprint(r.Header, message))
		}
		p.mu.Unlock()
		select {
		case <-p.opened:
			p.mu.Lock()
			p.took = append(p.took, message)
			p.mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// TestAlerts checks that one of two nodes reports that a budget is spent, even if both are killed while they report it,
// and that operators see the report.
func TestAlerts(t *testing.T) {
	t.Parallel()
	up, hook := e2e.NewUpstream(t), newPager(t)
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	service := e2e.Administration(t, pg.DSN())
	nodes := make([]*e2e.Gateway, 2)
	for i := range nodes {
		nodes[i] = e2e.Clustered(t, pg.DSN(), redis.URL())
		nodes[i].Env = append(nodes[i].Env, "ALERT_SECRET="+alertSecret)
		nodes[i].Configure(e2e.Swap(t, nodes[i].Config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\toperators {\n\t\t\tuser root\n\t\t}\n"+
			"\t\talerts {\n\t\t\tthresholds 50 100\n\t\t\twebhook "+hook.URL+"/secret-path {env.ALERT_SECRET}\n\t\t}\n\t}\n"))
	}
	key := e2e.AddUser(t, service, "ada", up, "scripted")
	if _, err := service.Impose(t.Context(), keychain.OnUser, "ada", keychain.KeyChange{Limits: func(l *keychain.Limits) { l.Budgets = keychain.Budgets{TokensPerMonth: new(int64(1))} }}); err != nil {
		t.Fatal(err)
	}
	start := func() {
		for _, n := range nodes {
			n.Start()
			n.Healthy()
		}
	}
	start()
	e2e.Ask(t.Context(), nodes[0].Base, key, e2e.Prompt("keychain-high", false)).Text(t)
	count := func(list *[]gjson.Result) int {
		hook.mu.Lock()
		defer hook.mu.Unlock()
		return len(*list)
	}
	e2e.Eventually(t, e2e.WaitLimit, "a node reports the budget", func() error {
		if count(&hook.came) == 0 {
			return fmt.Errorf("nothing came")
		}
		return nil
	})
	for _, n := range nodes {
		n.Kill()
	}
	close(hook.opened)
	start()
	e2e.Eventually(t, e2e.WaitLimit, "a node sends the unanswered alert again", func() error {
		if count(&hook.took) == 0 {
			return fmt.Errorf("nothing came")
		}
		return nil
	})
	operator := e2e.NewDocumented(t, nodes[1].Base).As(strings.TrimSpace(nodes[1].Tool("keychain", "token", "root")))
	var list gjson.Result
	e2e.Eventually(t, e2e.WaitLimit, "the alert is recorded as sent", func() error {
		list = gjson.Parse(operator.Call("GET", "/operator/alerts", "", 200).Body)
		if state := list.Get("data.0.messages.0.state").Str; state != "sent" {
			return fmt.Errorf("its state is %q", state)
		}
		return nil
	})
	if list.Get("data.#").Int() != 1 || list.Get("data.0.threshold").Int() != 100 || list.Get("data.0.messages.0.target").Str != hook.URL {
		t.Errorf("the alerts are %s", list)
	}
	operator.Call("POST", "/operator/alerts/test", "", 204)
	e2e.Eventually(t, e2e.WaitLimit, "the test comes", func() error {
		if count(&hook.took) < 2 {
			return fmt.Errorf("the webhook got no test")
		}
		return nil
	})
	hook.mu.Lock()
	defer hook.mu.Unlock()
	if len(hook.took) != 2 || hook.took[0].Get("data.id").Str != list.Get("data.0.id").Str || hook.took[0].Raw != hook.came[0].Raw ||
		hook.took[0].Get("type").Str != "budget.threshold" || hook.took[1].Get("type").Str != "test" {
		t.Errorf("the webhook took %v", hook.took)
	}
	if len(hook.faults) > 0 {
		t.Errorf("not signed correctly: %q", hook.faults)
	}
	if text := nodes[0].Tool("keychain", "alerts", "--json"); gjson.Get(text, "#").Int() != 2 || strings.Contains(text, "secret-path") {
		t.Errorf("the command says %s", text)
	}
}
