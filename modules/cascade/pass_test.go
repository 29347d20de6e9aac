package cascade_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/passthrough"
	"github.com/tollgate-gateway/tollgate/modules/cascade"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

// TestChargeBatches checks that a batch whose client does not ask for it again is charged once, when it is done.
func TestChargeBatches(t *testing.T) { // not parallel: Caddy runs one configuration
	status := "in_progress"
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/batches/batch_1" || r.Header.Get("Authorization") != "Bearer sk-not-a-secret" {
			http.Error(w, "{}", http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"batch_1","status":"`+status+`","model":"gpt-5.4-mini","usage":{"input_tokens":1000000,"output_tokens":0}}`)
	}))
	t.Cleanup(up.Close)
	app, charges := startBatch(t, up)
	later := time.Now().Add(time.Hour)
	cascade.ChargeSome(t.Context(), app, later)
	if n, _ := charges(); n != 0 {
		t.Fatal("charged before it is done")
	}
	status = "completed"
	for range 3 {
		cascade.ChargeSome(t.Context(), app, later)
	}
	if n, cost := charges(); n != 1 || cost != 375_000 { // half of 0.75
		t.Errorf("got %d charges that cost %d, want 1 that costs 375000", n, cost)
	}
}

// startBatch starts a site on which the user alice has created the batch batch_1. charges returns the number of rows in
// her usage log, and their total cost.
func startBatch(t *testing.T, up *httptest.Server) (app *gatewayapp.App, charges func() (n int, cost int64)) {
	t.Helper()
	_, app = startSite(t, "route {\n\t\tapi_auth gateway_key\n\t\tcascade\n\t}")
	gw, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	gw.Providers.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, up.Listener.Addr().String())
	}
	if _, _, _, err := gw.Keychain.InitUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	key, err := gw.Keychain.AddProviderKey(t.Context(), "alice", "openai", "sk-not-a-secret", "", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := gw.Resources.Keep(t.Context(), &passthrough.Resource{
		ID: "batch_1", Kind: passthrough.KindBatch, UserID: "alice", Provider: "openai", ProviderKey: key.ID,
	}); err != nil {
		t.Fatal(err)
	}
	return app, func() (n int, cost int64) {
		if err := gw.Usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		records, err := gw.Spending.Recent(t.Context(), "alice", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			cost += records[i].CostMicroUSD
		}
		return len(records), cost
	}
}

// TestChargeResults checks that a batch whose description has no usage is charged by its results, once, and only if the
// results could be read completely.
func TestChargeResults(t *testing.T) { // not parallel: Caddy runs one configuration
	const result = `{"response":{"body":{"model":"gpt-5.4-mini","usage":{"prompt_tokens":1000000,"completion_tokens":0}}}}` + "\n"
	for _, c := range []struct {
		name    string
		answers []func(w http.ResponseWriter) // the responses with the results, in order
		rows    []int                         // the number of rows after each run
		cost    int64
	}{
		{"results", []func(http.ResponseWriter){
			func(w http.ResponseWriter) { http.Error(w, "{}", http.StatusServiceUnavailable) },
			func(w http.ResponseWriter) {
				w.Header().Set("Content-Length", "100000")
				_, _ = io.WriteString(w, result)
			},
			func(w http.ResponseWriter) { _, _ = io.WriteString(w, result+result) },
		}, []int{0, 0, 1, 1}, 750_000},
		{"results that are gone", []func(http.ResponseWriter){
			func(w http.ResponseWriter) {
				http.Error(w, `{"error":{"message":"no such file"}}`, http.StatusNotFound)
			},
		}, []int{1, 1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch r.URL.Path {
				case "/v1/batches/batch_1":
					_, _ = io.WriteString(w, `{"id":"batch_1","status":"completed","output_file_id":"file-1"}`)
				case "/v1/files/file-1/content":
					c.answers[requests](w)
					requests++
				default:
					t.Errorf("asked for %s", r.URL)
				}
			}))
			t.Cleanup(up.Close)
			app, charges := startBatch(t, up)
			for i, rows := range c.rows {
				cascade.ChargeSome(t.Context(), app, time.Now().Add(time.Hour))
				if n, _ := charges(); n != rows {
					t.Fatalf("got %d rows after run %d, want %d", n, i, rows)
				}
			}
			if _, cost := charges(); cost != c.cost || requests != len(c.answers) {
				t.Errorf("got the cost %d after %d requests for the file, want %d after %d", cost, requests, c.cost, len(c.answers))
			}
		})
	}
}
