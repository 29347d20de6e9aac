package board

import (
	"context"
	"errors"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestKeyringOfWebhooks: without the keyring no webhook is made and none is
// delivered; with a newer key first their secrets move to it.
func TestKeyringOfWebhooks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		oldKey, newKey := []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")
		var ring keyring.Keyring
		use := func(keys ...[]byte) {
			t.Helper()
			var err error
			if ring, err = keyring.NewAES(keys...); err != nil {
				t.Fatal(err)
			}
		}
		var away error
		s := newSite(t, db, kernel.Options{NoFlood: true, Keyring: func() (keyring.Keyring, error) { return ring, away }})
		ctx, admin := context.Background(), s.actor("admin")
		use(oldKey)
		id, secret, err := s.service.AddWebhook(ctx, admin, "https://example.com/hook", []string{TopicPostHeld})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.service.TestWebhook(ctx, admin, id); err != nil {
			t.Fatal(err)
		}
		sample, err := SealedSample(ctx, db)
		if err != nil || len(sample) != 1 {
			t.Fatalf("%+v %v", sample, err)
		}
		if plain, err := ring.Open(ctx, sample[0].Sealed, []byte(sample[0].Associated)); err != nil || string(plain) != secret {
			t.Errorf("%q %v", plain, err)
		}

		away = errors.New("another keyring")
		for what, err := range map[string]error{
			"add": func() error {
				_, _, err := s.service.AddWebhook(ctx, admin, "https://example.com/", Topics)
				return err
			}(),
			"rotate": func() error { _, err := s.service.RotateWebhook(ctx, admin, id); return err }(),
		} {
			if e, ok := apierror.From(err); !ok || e.Status != 503 {
				t.Errorf("%s: %v", what, err)
			}
		}
		if ids, err := s.service.DueWebhooks(ctx); err != nil || len(ids) != 0 {
			t.Errorf("due: %v %v", ids, err)
		}
		away = nil
		if ids, err := s.service.DueWebhooks(ctx); err != nil || len(ids) != 1 {
			t.Errorf("due: %v %v", ids, err)
		}

		use(newKey, oldKey)
		for _, want := range []int{1, 0} {
			if resealed, unreadable, err := s.service.Reencrypt(ctx); err != nil || resealed != want || unreadable != 0 {
				t.Errorf("%d resealed, want %d, %d unreadable, error %v", resealed, want, unreadable, err)
			}
		}
		use(newKey)
		if o, err := s.service.ClaimDelivery(ctx, id); err != nil || o == nil || string(o.Secret) != secret {
			t.Errorf("%+v %v", o, err)
		}
		use(oldKey)
		if _, unreadable, err := s.service.Reencrypt(ctx); err != nil || unreadable != 1 {
			t.Errorf("%d unreadable, error %v", unreadable, err)
		}
	})
}
