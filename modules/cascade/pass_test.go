package cascade_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/modules/cascade"
)

// TestChargeBatches checks that a batch that nobody asks for again is charged once, when it is done.
func TestChargeBatches(t *testing.T) { //nolint:paralleltest // Caddy runs one configuration
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
	_, app := startSite(t, "route {\n\t\tapi_auth gateway_key\n\t\tcascade\n\t}")
	kept, err := app.Gateway()
	if err != nil {
		t.Fatal(err)
	}
	kept.Providers.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, up.Listener.Addr().String())
	}
	if _, _, _, err := kept.Keychain.InitUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	key, err := kept.Keychain.AddProviderKey(t.Context(), "alice", "openai", "sk-not-a-secret", "", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Keychain.KeepObject(t.Context(), &keychain.Object{
		ID: "batch_1", Kind: keychain.ObjectBatch, UserID: "alice", Provider: "openai", ProviderKey: key.ID,
	}); err != nil {
		t.Fatal(err)
	}
	charges := func() (n int, cost int64) {
		if err := kept.Usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		records, err := kept.Spending.Recent(t.Context(), "alice", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			cost += records[i].CostMicroUSD
		}
		return len(records), cost
	}
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
		t.Errorf("%d charges of %d", n, cost)
	}
}
