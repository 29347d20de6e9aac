package keychain

import (
	"errors"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

func TestSealed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		right, _ := rings(t)
		wrong := testRing(t)
		n := p.start(t)
		check := func(when string, sealed bool, ring keyring.Keyring, want error) {
			t.Helper()
			if got, err := HasSealed(t.Context(), n.db); err != nil || got != sealed {
				t.Errorf("%s: sealed %t, error %v", when, got, err)
			}
			n.ring = ring
			if err := n.CheckSealed(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", when, err, want)
			}
			n.ring = right
		}
		n.ring = right
		n.user(t, "alice")
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/open", BaseURL: "http://h/v1", Model: "x", Tier: 1}); err != nil {
			t.Fatal(err)
		}
		check("without secrets", false, wrong, nil)
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "local/shut", BaseURL: "http://h/v1", Model: "x", Tier: 1, APIKey: "sk-model"}); err != nil {
			t.Fatal(err)
		}
		check("the key of a model", true, right, nil)
		check("the key of a model", true, wrong, keyring.ErrOpen)
		for i := range 2 * checkedTexts {
			n.providerKey(t, "alice", "alpha", secretOf(i))
		}
		check("provider keys", true, right, nil)
		check("provider keys", true, wrong, keyring.ErrOpen)
		n.sql(t, "UPDATE gateway_models SET sealed = 'damaged' WHERE sealed IS NOT NULL")
		check("one is damaged", true, right, nil)
	})
}
