package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// receiver is the server of a webhook.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status atomic.Int64
}

type received struct {
	header http.Header
	body   string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := new(receiver)
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, received{request.Header, string(body)})
		r.mu.Unlock()
		status := int(r.status.Load())
		if status == http.StatusFound {
			w.Header().Set("Location", r.URL+"/elsewhere")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000)) // nobody reads the whole body
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) taken() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

func (s *site) deliver(sender *Sender) int {
	s.t.Helper()
	n, err := s.Deliver(s.t.Context(), sender)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestDeliver checks that an event that was written with a change is delivered by a later process, signed, and that it
// is the same when it is delivered again.
func TestDeliver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		target := newReceiver(t)
		id, secret := s.webhook(target.URL + "/hook")
		s.tell("Hello to the hook")
		s.Hooks = s.node() // a later process, before anything was sent
		d := NewSender(loopback, zap.NewNop())
		defer d.Close()
		target.status.Store(http.StatusInternalServerError)
		if n := s.deliver(d); n != 0 {
			t.Errorf("%d delivered", n)
		}
		target.status.Store(http.StatusNoContent)
		if n := s.deliver(d); n != 0 {
			t.Error("a failed delivery is retried at once")
		}
		s.ahead.Add(int64(time.Minute))
		if n := s.deliver(d); n != 1 {
			t.Errorf("%d delivered: %+v", n, s.last(id))
		}
		got := target.taken()
		if len(got) != 2 {
			t.Fatalf("%d requests", len(got))
		}
		for _, r := range got {
			timestamp := r.header.Get("X-Test" + HeaderTimestamp)
			if r.header.Get("X-Test"+HeaderSignature) != Sign([]byte(secret), timestamp, r.body) || r.header.Get("X-Test"+HeaderTopic) != "thing.made" || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("got the headers %v, want a signature, the topic and the type of JSON", r.header)
			}
			if r.header.Get("X-Test"+HeaderDelivery) != got[0].header.Get("X-Test"+HeaderDelivery) || r.header.Get("X-Test"+HeaderDelivery) == "" || r.body != got[0].body {
				t.Error("an attempt differs from the first")
			}
		}
		var e struct {
			Event, Topic string
			Data         struct{ Text string }
		}
		if err := json.Unmarshal([]byte(got[0].body), &e); err != nil || e.Topic != "thing.made" || e.Data.Text != "Hello to the hook" || e.Event == "" {
			t.Errorf("got the body %+v with the error %v, want the topic, the data and an event", e, err)
		}
		if last := s.last(id); last.State != "delivered" || last.Answer != "204 No Content" || last.Attempts != 2 {
			t.Errorf("got %+v, want it delivered at the second attempt", last)
		}
	})
}

func TestSign(t *testing.T) {
	t.Parallel()
	// Made with: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
	if got := Sign([]byte("whsec_test"), "1700000000", `{"a":1}`); got != "sha256=38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789" {
		t.Error(got)
	}
}

// TestDeliverOnce checks that several nodes share the work and deliver nothing twice.
func TestDeliverOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		target := newReceiver(t)
		s.webhook(target.URL)
		for range 30 {
			s.tell("One more " + time.Now().String())
		}
		var nodes sync.WaitGroup
		var delivered atomic.Int64
		for range 4 {
			node, d := s.node(), NewSender(loopback, zap.NewNop())
			nodes.Go(func() {
				defer d.Close()
				n, err := node.Deliver(t.Context(), d)
				if err != nil {
					t.Error(err)
				}
				delivered.Add(int64(n))
			})
		}
		nodes.Wait()
		seen := make(map[string]bool)
		for _, r := range target.taken() {
			if key := r.header.Get("X-Test" + HeaderDelivery); seen[key] {
				t.Errorf("%s came twice", key)
			} else {
				seen[key] = true
			}
		}
		if len(seen) != 30 || delivered.Load() != 30 {
			t.Errorf("%d came, %d delivered", len(seen), delivered.Load())
		}
	})
}

// TestDeliverFailures checks that redirects are not followed, that 410 switches a webhook off, that a webhook does not
// delay another, and that private addresses are refused.
func TestDeliverFailures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		bad, good := newReceiver(t), newReceiver(t)
		badID, _ := s.webhook(bad.URL)
		goodID, _ := s.webhook(good.URL)
		closed := httptest.NewServer(http.NotFoundHandler())
		closed.Close()
		closedID, _ := s.webhook(closed.URL + "/?key=geheim")
		unknownID, _ := s.webhook("http://nowhere.invalid/")
		bad.status.Store(http.StatusFound)
		s.tell("To all of them")
		d := NewSender(loopback, zap.NewNop())
		defer d.Close()
		if n := s.deliver(d); n != 1 {
			t.Errorf("%d delivered", n)
		}
		if got := bad.taken(); len(got) != 1 || s.last(badID).Answer != "302 Found" {
			t.Errorf("a redirect was followed: %d requests, %s", len(got), s.last(badID).Answer)
		}
		if s.last(goodID).State != "delivered" {
			t.Errorf("got %+v, want it delivered", s.last(goodID))
		}
		if answer := s.last(closedID).Answer; !strings.Contains(answer, "connection") || strings.Contains(answer, "geheim") {
			t.Error(answer)
		}
		if answer := s.last(unknownID).Answer; !strings.Contains(answer, "name of the host") {
			t.Error(answer)
		}
		bad.status.Store(http.StatusGone)
		s.ahead.Add(int64(time.Hour))
		s.deliver(d)
		list, err := s.list()
		if err != nil || list[0].Enabled || !list[1].Enabled || list[0].DisabledReason == "" {
			t.Errorf("got %+v with the error %v, want only the first webhook disabled", list, err)
		}
		bad.taken()
		s.tell("It hears no more")
		s.deliver(d)
		if len(bad.taken()) != 0 || len(good.taken()) != 2 {
			t.Error("the disabled webhook got an event, or the other webhook did not")
		}
		strict := NewSender(nil, zap.NewNop())
		defer strict.Close()
		s.tell("Not to this machine")
		s.deliver(strict)
		if last := s.last(goodID); last.State != "pending" || last.Answer != outbound.ErrNotAllowed.Error() || len(good.taken()) != 0 {
			t.Errorf("a private address was connected to: %+v", last)
		}
	})
}

// TestDeliverSlow checks that a slow receiver delays neither the other receivers nor the end of a run. The next run
// delivers the remaining events of the slow receiver.
func TestDeliverSlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		const posts = 3
		var ahead, took atomic.Int64
		all := make(chan struct{}) // closed when the fast receiver has everything
		var fastGot, slowGot atomic.Int64
		fast := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if fastGot.Add(1) == posts {
				close(all)
			}
		}))
		defer fast.Close()
		slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-all:
			case <-r.Context().Done():
			}
			slowGot.Add(1)
			ahead.Add(took.Load())
		}))
		defer slow.Close()
		s.webhook(slow.URL)
		s.webhook(fast.URL)
		for _, text := range []string{"The first of three", "The second of three", "The third of three"} {
			s.tell(text)
		}
		d := NewSender(loopback, zap.NewNop())
		defer d.Close()
		d.now = func() time.Time { return time.Unix(1_700_000_000, ahead.Load()) }
		took.Store(int64(deliveriesTime))
		if n := s.deliver(d); n != posts+1 || fastGot.Load() != posts || slowGot.Load() != 1 {
			t.Errorf("%d delivered, %d to the fast receiver, %d to the slow receiver", n, fastGot.Load(), slowGot.Load())
		}
		took.Store(int64(deliveriesTime / 2))
		if n := s.deliver(d); n != posts-1 || slowGot.Load() != posts {
			t.Errorf("%d delivered in the next run, %d to the slow receiver", n, slowGot.Load())
		}
	})
}

// TestDeliverCut checks that an attempt that the end of the process interrupts does not count.
func TestDeliverCut(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		arrived, release := make(chan struct{}), make(chan struct{})
		target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(arrived)
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}))
		defer target.Close()
		defer close(release)
		id, _ := s.webhook(target.URL)
		s.tell("It takes long")
		ctx, cancel := context.WithCancel(t.Context())
		d := NewSender(loopback, zap.NewNop())
		defer d.Close()
		ended := make(chan error)
		go func() {
			_, err := s.Deliver(ctx, d)
			ended <- err
		}()
		<-arrived
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if last := s.last(id); last.State != "pending" || last.Attempts != 0 || last.NextAt == 0 {
			t.Errorf("got %+v, want it pending without an attempt", last)
		}
		if ids, err := s.due(t.Context()); err != nil || len(ids) != 1 {
			t.Errorf("it is not due: %v %v", ids, err)
		}
	})
}
