package board

import (
	"errors"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestKeyringOfWebhooks checks that without the keyring no webhook can be created and no secret changed, and that with
// the keyring the sealed samples of the database can be opened.
func TestKeyringOfWebhooks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		var ringErr error
		s := newSite(t, db, kernel.Options{NoFlood: true, Keyring: func() (keyring.Keyring, error) { return ring, ringErr }})
		ctx, ada := t.Context(), s.actor("admin")
		id, secret, err := s.service.Admin.AddWebhook(ctx, ada, "https://example.com/hook", []string{kernel.TopicPostHeld})
		if err != nil {
			t.Fatal(err)
		}
		sample, err := admin.Sealed.Sample(ctx, db)
		if err != nil || len(sample) != 1 {
			t.Fatalf("%+v %v", sample, err)
		}
		if plain, err := ring.Open(ctx, sample[0].Sealed, []byte(sample[0].Associated)); err != nil || string(plain) != secret {
			t.Errorf("%q %v", plain, err)
		}
		ringErr = errors.New("another keyring")
		for name, err := range map[string]error{
			"add": func() error {
				_, _, err := s.service.Admin.AddWebhook(ctx, ada, "https://example.com/", kernel.Topics)
				return err
			}(),
			"rotate": func() error { _, err := s.service.Admin.RotateWebhook(ctx, ada, id); return err }(),
		} {
			if e, ok := apierror.From(err); !ok || e.Status != 503 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
