package webhook

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// site is a service that sends events.
type site struct {
	*Hooks
	t     *testing.T
	db    *store.DB
	ring  keyring.Keyring
	away  error        // the error of the keyring, if it is away
	ahead atomic.Int64 // how far the test has moved the clock
}

var databases = storetest.Fixture{Schemas: []store.Schema{Schema("test")}}

func onBoth(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := &site{t: t, db: db}
		s.use(oldKey)
		s.Hooks = s.node()
		test(t, s)
	})
}

var oldKey, newKey = []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")

// use sets the keys of the keyring.
func (s *site) use(keys ...[]byte) {
	s.t.Helper()
	var err error
	if s.ring, err = keyring.NewAES(keys...); err != nil {
		s.t.Fatal(err)
	}
}

// node returns another Hooks on the same database, as in a further process.
func (s *site) node() *Hooks {
	return New(Options{
		DB: s.db, Prefix: "test", Headers: "X-Test", Agent: "Test", Topics: []string{"thing.made", "thing.lost"}, Max: 5,
		Keyring: func() (keyring.Keyring, error) { return s.ring, s.away },
		Now:     func() time.Time { return time.Unix(1_700_000_000, s.ahead.Load()) },
	})
}

func (s *site) write(fn func(c store.Conn) error) {
	s.t.Helper()
	if err := s.db.Write(s.t.Context(), fn); err != nil {
		s.t.Fatal(err)
	}
}

// webhook creates a webhook for all topics.
func (s *site) webhook(address string) (id int64, secret string) {
	s.t.Helper()
	secret, sealed, err := s.NewSecret(s.t.Context(), address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(func(c store.Conn) (err error) {
		id, err = s.Add(c, address, s.Topics, sealed, "admin")
		return err
	})
	return id, secret
}

// tell writes an event that a thing was created.
func (s *site) tell(text string) {
	s.t.Helper()
	s.write(func(c store.Conn) error {
		return s.Emit(c, "thing.made", map[string]string{"text": text})
	})
}

func (s *site) test(id int64) {
	s.t.Helper()
	s.write(func(c store.Conn) error { return s.Test(c, id) })
}

func (s *site) list() (list []Webhook, err error) {
	err = s.db.Read(s.t.Context(), func(c store.Conn) error {
		list, err = s.List(c)
		return err
	})
	return list, err
}

// last returns the last delivery of a webhook.
func (s *site) last(id int64) (last Delivery) {
	s.t.Helper()
	err := s.db.Read(s.t.Context(), func(c store.Conn) error {
		list, err := s.Deliveries(c, id, 1)
		if err == nil && len(list) == 1 {
			last = list[0]
		}
		return err
	})
	if err != nil || last.ID == 0 {
		s.t.Fatal("no delivery", err)
	}
	return last
}

// TestOutbox checks that an event goes to the webhooks of its topic, with the change or not at all.
func TestOutbox(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.tell("nobody listens")
		id, _ := s.webhook("https://example.com/one")
		_, topics, err := s.Check("https://example.com/", []string{"thing.lost", "thing.lost"})
		if err != nil {
			t.Fatal(err)
		}
		var other int64
		s.write(func(c store.Conn) (err error) {
			other, err = s.Add(c, "https://example.com/other", topics, plainPrefix+"x", "admin")
			return err
		})
		s.tell("one listens")
		broken := errors.New("broken")
		err = s.db.Write(t.Context(), func(c store.Conn) error {
			return errors.Join(s.Emit(c, "thing.made", nil), broken)
		})
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		list, err := s.list()
		if err != nil || len(list) != 2 || list[0].Pending != 1 || list[1].Pending != 0 || list[1].ID != other || !slices.Equal(list[1].Topics, []string{"thing.lost"}) || list[0].CreatedBy != "admin" {
			t.Errorf("got the webhooks %+v with the error %v, want two, the first with a pending delivery", list, err)
		}
		if last := s.last(id); last.Topic != "thing.made" || last.State != "pending" || !strings.Contains(last.Body, `"data":{"text":"one listens"}`) {
			t.Errorf("got the delivery %+v, want it pending with the data", last)
		}
		s.write(func(c store.Conn) error { return s.Enable(c, id, false) })
		s.tell("it is off")
		if due, err := s.due(t.Context()); err != nil || len(due) != 0 {
			t.Errorf("a delivery of a disabled webhook is due: %v %v", due, err)
		}
		if err := s.db.Write(t.Context(), func(c store.Conn) error { return s.Test(c, id) }); !errors.Is(err, ErrOff) {
			t.Errorf("a disabled webhook is tested: %v", err)
		}
		s.write(func(c store.Conn) error { return s.Enable(c, id, true) })
		if due, err := s.due(t.Context()); err != nil || !slices.Equal(due, []int64{id}) {
			t.Errorf("the waiting delivery is not due: %v %v", due, err)
		}
		s.write(func(c store.Conn) error { return s.Delete(c, id) })
		for range s.Max - 1 {
			s.webhook("https://example.com/")
		}
		if err := s.db.Write(t.Context(), func(c store.Conn) error {
			_, err := s.Add(c, "https://example.com/", topics, "", "admin")
			return err
		}); !errors.Is(err, ErrMany) {
			t.Errorf("the number of webhooks is not limited: %v", err)
		}
	})
}

// TestSecrets checks that a secret is stored sealed and bound to the URL, and that each attempt uses the current one.
func TestSecrets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		const address = "https://example.com/hook?key=k"
		id, secret := s.webhook(address)
		s.test(id)
		sample, err := Sealed("test").Sample(ctx, s.db)
		if err != nil || len(sample) != 1 || strings.Contains(sample[0].Sealed, secret[len(secretPrefix):]) {
			t.Fatalf("got the sample %+v with the error %v, want one encrypted secret", sample, err)
		}
		if plain, err := s.ring.Open(ctx, sample[0].Sealed, []byte(sample[0].Associated)); err != nil || string(plain) != secret {
			t.Errorf("got %q with the error %v, want the secret", plain, err)
		}
		first, err := s.claim(ctx, id)
		if err != nil || first == nil || string(first.secret) != secret || first.topic != TestTopic || first.url != address {
			t.Fatalf("claimed %+v with the error %v, want the test delivery with its secret", first, err)
		}
		if second, err := s.claim(ctx, id); second != nil || err != nil {
			t.Errorf("a delivery was claimed twice: %+v %v", second, err)
		}
		s.ahead.Add(int64(lease))
		if second, err := s.claim(ctx, id); err != nil || second == nil || second.event != first.event || second.attempts != 2 {
			t.Errorf("after the lease: %+v %v", second, err)
		}
		fresh, sealed, err := s.NewSecret(ctx, address)
		if err != nil || fresh == secret {
			t.Error(fresh == secret, err)
		}
		s.write(func(c store.Conn) error { return s.SetSecret(c, id, sealed) })
		s.ahead.Add(int64(lease))
		if o, err := s.claim(ctx, id); err != nil || o == nil || string(o.secret) != fresh {
			t.Errorf("after the rotation: %+v %v", o, err)
		}
		s.write(func(c store.Conn) error {
			_, err := c.Exec("UPDATE test_webhooks SET url = 'https://evil.example.com/'")
			return err
		})
		s.ahead.Add(int64(lease))
		if o, err := s.claim(ctx, id); err == nil || o != nil {
			t.Errorf("a moved secret opens: %+v", o)
		}
		if last := s.last(id); last.State != "pending" || !strings.Contains(last.Answer, "secret") {
			t.Errorf("got %+v, want it pending with a reason that names the secret", last)
		}
	})
}

// TestKeyring checks that without the keyring secrets are unavailable and nothing is delivered, and that the secrets
// are sealed again with a newer first key.
func TestKeyring(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		id, secret := s.webhook("https://example.com/hook")
		s.test(id)
		s.away = errors.New("another keyring")
		if _, _, err := s.NewSecret(ctx, "https://example.com/"); !errors.Is(err, s.away) {
			t.Error(err)
		}
		if ids, err := s.due(ctx); err != nil || len(ids) != 0 {
			t.Errorf("due: %v %v", ids, err)
		}
		s.away = nil
		if ids, err := s.due(ctx); err != nil || len(ids) != 1 {
			t.Errorf("due: %v %v", ids, err)
		}

		s.use(newKey, oldKey)
		reseal := func() (sealed.Result, error) {
			ring, err := s.Keyring()
			if err != nil {
				return sealed.Result{}, err
			}
			return Sealed(s.Prefix).Reseal(ctx, s.DB, ring, zap.NewNop(), nil)
		}
		for _, want := range []int{1, 0} {
			if done, err := reseal(); err != nil || done.Resealed != want || done.Unreadable != 0 {
				t.Errorf("%+v, want %d resealed, error %v", done, want, err)
			}
		}
		s.use(newKey)
		if o, err := s.claim(ctx, id); err != nil || o == nil || string(o.secret) != secret {
			t.Errorf("claimed %+v with the error %v, want the decrypted secret", o, err)
		}
		s.use(oldKey)
		if done, err := reseal(); err != nil || done.Unreadable != 1 {
			t.Errorf("got %+v with the error %v, want one unreadable secret", done, err)
		}
		s.ring = nil // a service without a keyring stores secrets unsealed
		plain, stored, err := s.NewSecret(ctx, "https://example.com/")
		if opened, openErr := s.openSecret(ctx, "", stored); err != nil || openErr != nil || string(opened) != plain {
			t.Errorf("got %q with the errors %v and %v, want %q", opened, err, openErr, plain)
		}
	})
}

// TestDelivered checks that attempts back off and end, and that 410 switches the webhook off.
func TestDelivered(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		ctx := t.Context()
		id, _ := s.webhook("https://example.com/")
		claim := func() *outgoing {
			t.Helper()
			o, err := s.claim(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		settle := func(o *outgoing, status int) {
			t.Helper()
			if err := s.Hooks.settle(ctx, o, status, "why"); err != nil {
				t.Fatal(err)
			}
		}
		state := func() string {
			t.Helper()
			return s.last(id).State
		}
		s.test(id)
		for attempt := int64(1); attempt <= maxAttempts; attempt++ {
			o := claim()
			if o == nil {
				t.Fatalf("attempt %d is not due", attempt)
			}
			settle(o, 500)
			if claim() != nil {
				t.Errorf("attempt %d is due at once", attempt+1)
			}
			s.ahead.Add(int64(jobs.Backoff(attempt)))
		}
		if claim() != nil || state() != "failed" {
			t.Error("the delivery does not fail after its last attempt")
		}
		s.test(id)
		o := claim()
		if err := s.giveBack(ctx, o); err != nil {
			t.Fatal(err)
		}
		if o = claim(); o == nil || o.attempts != 1 {
			t.Fatalf("an interrupted attempt counts: %+v", o)
		}
		settle(o, 204)
		if claim() != nil || state() != "delivered" {
			t.Error("it is not delivered")
		}
		for range 2 {
			s.test(id)
		}
		settle(claim(), 410)
		if list, err := s.list(); err != nil || list[0].Enabled || !strings.Contains(list[0].DisabledReason, "410") || list[0].Pending != 0 {
			t.Errorf("got %+v with the error %v, want a webhook disabled after 410", list, err)
		}
		s.ahead.Add(int64(keepFinished))
		if n, err := s.Purge(ctx); err != nil || n != 4 {
			t.Errorf("%d purged, %v", n, err)
		}
	})
}
