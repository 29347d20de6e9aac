package board

import (
	"context"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestAdoptActor checks that an adopted actor has the settings of the service that adopts it, without another read of
// the database unless the rights have changed since.
func TestAdoptActor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		other := s.service.With(kernel.Options{Offline: true})
		none, cancel := context.WithCancel(t.Context())
		cancel()
		find := func() []*rights.Actor {
			guest, err := s.service.Rights.Guest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return []*rights.Actor{guest, s.actor("alice")}
		}
		adopt := func(ctx context.Context, a *rights.Actor) *rights.Actor {
			adopted, err := other.Rights.Adopt(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			if adopted.User != a.User || !adopted.Rights.Settings.Offline || a.Rights.Settings.Offline {
				t.Errorf("adopted %+v of %+v", adopted, a)
			}
			return adopted
		}
		for _, a := range find() {
			adopt(t.Context(), a)
			if !adopt(none, a).May(rights.ForumView) {
				t.Errorf("%+v lacks a right", a)
			}
		}
		s.exec("UPDATE board_groups SET allow_mask = 0")
		if err := s.service.kernel.Write(t.Context(), rights.BumpPermissions); err != nil {
			t.Fatal(err)
		}
		for _, a := range find() {
			if adopt(t.Context(), a).May(rights.ForumView) {
				t.Errorf("%+v has a right that was taken", a)
			}
		}
	})
}
