package cascade

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// serveLoop returns an HTTP server in front of the rig's gateway.
func (r *rig) serveLoop(count *atomic.Int32) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if count.Add(1) > 20 { // ends an endless loop
			w.WriteHeader(http.StatusTeapot)
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			r.t.Error(err)
		}
		chat, err := native.Parse(body)
		if err != nil {
			r.t.Error(err)
			return
		}
		_, err = r.engine.Answer(req.Context(), w, &Request{ID: "req_1", Chat: chat, Account: r.account, Via: req.Header["Via"]})
		if e, ok := apierror.From(err); ok {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(e.Status)
			_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"code":%q}}`, e.Message, e.Code)
		}
	}))
	r.t.Cleanup(s.Close)
	return s
}

func (r *rig) useCustomModel(url string) {
	r.account = newAccount(r.t, r.catalog, setup{custom: []keychain.CustomModel{{Entry: "loop/x", BaseURL: url, Model: "loop/x", Tier: catalog.Low}}})
}

// TestLoop checks that a model whose base URL is the gateway's own address is asked only once.
func TestLoop(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{false, true} {
		var count atomic.Int32
		r := newRig(t, setup{})
		r.engine.Mark = NewMark([]byte("12345678"))
		r.useCustomModel(r.serveLoop(&count).URL)
		e := r.send(t.Context(), "loop/x", streams, nil)
		e.wantError(t, http.StatusLoopDetected, "loop_detected")
		if !e.err.NoRetry || count.Load() != 1 || e.Attempts != 1 {
			t.Errorf("%+v after %d requests", e.err, count.Load())
		}
		if state := r.engine.Memory.Health.Provider(r.account.RoutingFor(r.catalog, r.account.Team()).Tier(catalog.Low)[0].Provider.BaseURL, r.account.UserID); !state.LastFailure.IsZero() {
			t.Errorf("the server is blamed: %+v", state)
		}
	}
}

// TestLoopOfTwo checks that two gateways do not send a request back and forth.
func TestLoopOfTwo(t *testing.T) {
	t.Parallel()
	var count atomic.Int32
	a, b := newRig(t, setup{}), newRig(t, setup{})
	a.engine.Mark, b.engine.Mark = NewMark(), NewMark()
	b.useCustomModel(a.serveLoop(&count).URL)
	a.useCustomModel(b.serveLoop(&count).URL)
	e := a.ask("loop/x")
	e.wantError(t, http.StatusLoopDetected, "loop_detected")
	if count.Load() != 2 {
		t.Errorf("%d requests", count.Load())
	}
}

// TestLoopFailsOver checks that a request whose first candidate is the gateway itself fails over to the next candidate.
func TestLoopFailsOver(t *testing.T) {
	t.Parallel()
	var count atomic.Int32
	r := newRig(t, setup{})
	r.engine.Mark = NewMark()
	r.account = newAccount(t, r.catalog, setup{
		keys:   []string{"alpha"},
		custom: []keychain.CustomModel{{Entry: "loop/x", BaseURL: r.serveLoop(&count).URL, Model: "loop/x", Tier: catalog.Low}},
		prefer: keychain.Preferences{PreferredProviders: []string{keychain.CustomProvider}},
	})
	r.alpha.addSteps(reply(200, completion("hi")))
	e := r.ask("keychain-low")
	e.wantAnswer(t, "alpha/a-low", "hi")
	if e.Attempts != 2 || count.Load() != 1 {
		t.Errorf("%d attempts, %s", e.Attempts, e.failedList())
	}
	if got := r.alpha.requests()[0].header["Via"]; got != nil {
		t.Errorf("a provider of the catalog is sent Via %v", got)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	m := NewMark([]byte("abcdefghijkl"), []byte("retired."))
	const own, old = "tollgate-6162636465666768", "tollgate-726574697265642e"
	for _, c := range []struct {
		name    string
		via     []string
		refused bool
		custom  string // Via header for a user's own server
		other   string // Via header for a provider of the catalog
	}{
		{"none", nil, false, "1.1 " + own, ""},
		{"own", []string{"1.1 " + own}, true, "", ""},
		{"made with an older key", []string{"1.1 a.example, HTTP/2.0 " + old + " (comment)"}, true, "", ""},
		{"in a later line", []string{"1.1 a.example", "1.0 fred,1.1  " + own}, true, "", ""},
		{"of others", []string{"1.1 proxy.internal (secret)", "1.1 tollgate-x"}, false, "1.1 tollgate-x, 1.1 " + own, "1.1 tollgate-x, 1.1 " + own},
		{"of no gateway", []string{"1.1 proxy.internal"}, false, "1.1 " + own, ""},
		{"nonsense", []string{"", ",", " , tollgate-x", "1.1", "1.1 tollgate-" + strings.Repeat("x", 100)}, false, "1.1 " + own, ""},
		{"many", []string{strings.Repeat("1.1 tollgate-x,", 16)}, false, strings.Repeat("1.1 tollgate-x, ", 16) + "1.1 " + own, strings.Repeat("1.1 tollgate-x, ", 16) + "1.1 " + own},
		{"too many", []string{strings.Repeat("1.1 tollgate-x,", 10), strings.Repeat("1.1 tollgate-x,", 1_000_000)}, true, "", ""},
	} {
		err := m.checkLoop(c.via)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.refused {
			continue
		}
		if custom, other := m.via(c.via, true), m.via(c.via, false); custom != c.custom || other != c.other {
			t.Errorf("%s: %q and %q", c.name, custom, other)
		}
	}
	var none *Mark
	if none.checkLoop([]string{"1.1 " + own}) != nil || none.via(nil, true) != "" {
		t.Error("no mark does something")
	}
	if a, b := NewMark(), NewMark(); a.names[0] == b.names[0] || a.checkLoop([]string{b.via(nil, true)}) != nil || a.checkLoop([]string{a.via(nil, true)}) == nil {
		t.Errorf("marks of processes: %v, %v", a, b)
	}
}

// TestStatus508OfOthers checks that a provider's own status 508 is an ordinary failure, not a loop.
func TestStatus508OfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	r.alpha.addSteps(refusal(508, "", "resource limit reached"))
	r.ask("keychain-low").wantError(t, 502, "all_providers_failed")
}
