package management

import (
	"context"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
)

// TestOffer checks the prices, keys and limits of a model that operators see while these change.
func TestOffer(t *testing.T) {
	t.Parallel()
	rt, s, team := newOperatorRouter(t)
	source, err := catalog.NewSource("", "", catalog.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Catalog = source.Current
	s.Reprice = func(ctx context.Context) error {
		prices, _, err := ownprices.Read(ctx, s.Keychain.DB())
		source.UsePrices(prices)
		return err
	}
	send := func(want int, method, path, body string) gjson.Result {
		t.Helper()
		status, answer := requestAs(t, rt, "operator", method, path, body)
		if status != want {
			t.Fatalf("%s %s: status %d, %s", method, path, status, answer.Raw)
		}
		return answer
	}
	model := func() gjson.Result {
		t.Helper()
		return send(200, "GET", "/operator/models", "").Get(`data.#(id=="openai/gpt-5.4-nano")`)
	}
	before := model()
	if before.Get("own_price").Type != gjson.Null || before.Get("price.input").Float() <= 0 ||
		before.Get("health").Type != gjson.Null || !before.Get("access.organisation").Bool() {
		t.Errorf("at first it is %s", before.Raw)
	}

	send(200, "PUT", "/operator/prices/openai/*", `{"discount":50}`)
	if m := model(); m.Get("own_price").Str != "openai/*" || m.Get("price.output").Float() != before.Get("price.output").Float()/2 {
		t.Errorf("with a discount it is %s", m.Raw)
	}
	unpriced := send(200, "GET", "/operator/models", "").Get(`data.#(price==null)#`)
	for _, m := range unpriced.Array() {
		if m.Get("own_price").Type != gjson.Null {
			t.Errorf("a discount on no price: %s", m.Raw)
		}
	}
	send(204, "DELETE", "/operator/prices/openai%2F*", "")
	send(404, "DELETE", "/operator/prices/openai/*", "")
	if m := model(); m.Get("price").Raw != before.Get("price").Raw {
		t.Errorf("without the discount it is %s", m.Raw)
	}

	send(201, "POST", "/operator/organisation/provider-keys", `{"provider":"openai","api_key":"sk-0123456789"}`)
	send(200, "PUT", "/operator/teams/"+team+"/limits", `{"allowed_models":["groq/*"]}`)
	m := model()
	if m.Get("health.status").Str != "untested" || m.Get("access.keys.organisation").Int() != 1 ||
		m.Get("access.refused_teams.0.name").Str != "red" {
		t.Errorf("with a key and a limit it is %s", m.Raw)
	}
}
