package limits

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestAlertOfErrors checks that the failed requests of two nodes together cause one alert, which one of the nodes sends
// once.
func TestAlertOfErrors(t *testing.T) {
	t.Parallel()
	up, hook := e2e.NewUpstream(t), newPager(t)
	close(hook.opened)
	up.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	service := e2e.Administration(t, pg.DSN())
	nodes := make([]*e2e.Gateway, 2)
	for i := range nodes {
		n := e2e.Clustered(t, pg.DSN(), redis.URL())
		n.Env = append(n.Env, "ALERT_SECRET="+alertSecret)
		n.Configure(
			e2e.Swap(t, n.Config, "\ttollgate gateway\n", "\ttollgate gateway {\n\t\toperators {\n\t\t\tuser root\n\t\t}\n"+
				"\t\talerts {\n\t\t\twebhook "+hook.URL+" {env.ALERT_SECRET}\n\t\t\terrors 50\n\t\t\trequests 4\n\t\t}\n\t}\n"),
		)
		nodes[i] = n
	}
	key := e2e.AddUser(t, service, "ada", up, "scripted")
	for _, n := range nodes {
		n.Start()
		n.Healthy()
	}
	for i := range 4 {
		if answer := e2e.Ask(
			t.Context(),
			nodes[i%2].Base,
			key,
			e2e.Prompt("keychain-high", false),
		); answer.Status != http.StatusBadGateway {
			t.Fatalf("%+v", answer)
		}
	}
	operator := e2e.NewDocumented(t, nodes[1].Base).As(strings.TrimSpace(nodes[1].Tool("keychain", "token", "root")))
	var list gjson.Result
	e2e.Eventually(t, e2e.WaitLimit, "a node reports the errors", func() error {
		list = gjson.Parse(operator.Call("GET", "/operator/alerts", "", 200).Body)
		if state := list.Get("data.0.messages.0.state").Str; state != "sent" {
			return fmt.Errorf("its state is %q", state)
		}
		return nil
	})
	if a := list.Get(
		"data.0",
	); list.Get("data.#").Int() != 1 || a.Get("type").Str != "errors.over" || a.Get("on").Str != "organisation" ||
		a.Get("requests").Int() != 4 || a.Get("errors").Int() != 4 ||
		a.Get("threshold").Int() != 50 {
		t.Errorf("the alerts are %s", list)
	}
	if text := nodes[0].Tool("keychain", "alerts"); !strings.Contains(text, "errors.over") {
		t.Errorf("the command says %s", text)
	}
	hook.mu.Lock()
	defer hook.mu.Unlock()
	if len(hook.took) != 1 || hook.took[0].Get("type").Str != "errors.over" ||
		hook.took[0].Get("data.errors").Int() != 4 ||
		len(hook.faults) > 0 {
		t.Errorf("the webhook took %v, with faults %q", hook.took, hook.faults)
	}
}
