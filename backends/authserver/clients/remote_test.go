package clients

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// TestRemotes: what is kept of addresses that others have set is bounded, and so is how
// many requests wait for them.
func TestRemotes(t *testing.T) {
	t.Parallel()
	r := newRemotes(nil, zap.NewNop)
	defer r.end()
	for i := range sourcesMost + 10 {
		uri := fmt.Sprintf("https://c%d.example/keys", i)
		if at := r.at(uri); at != r.at(uri) || at.JWKS != uri || len(r.sources) > sourcesMost {
			t.Fatalf("%d sources", len(r.sources))
		}
	}
	for range fetchesMost {
		r.waiting <- struct{}{}
	}
	if _, err := (published{r, "https://c.example/keys"}).Find(t.Context(), "k", "ES256"); !errors.Is(err, jwks.ErrUnknownKey) {
		t.Errorf("error %v", err)
	}
}
