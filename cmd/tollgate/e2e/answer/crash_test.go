package answer

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAnswersKilled checks that a server that is killed while it answers has charged exactly the answers that it
// stored, and has stored all answers that it sent. Reservations of unfinished questions end with their lease.
func TestAnswersKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick+"\t\tqueued 1000\n")
		var mu sync.Mutex
		var work sync.WaitGroup
		ids := make(map[string]bool)
		for range 100 {
			work.Go(func() {
				for {
					a := d.ask(asked)
					if a.Err != nil { // the server was killed
						return
					}
					id := gjson.Get(a.Body, "result.id").Str
					mu.Lock()
					if outcome(a) != "Answered" || ids[id] {
						t.Errorf("%d %s", a.Status, a.Body)
					}
					ids[id] = true
					mu.Unlock()
				}
			})
		}
		e2e.Eventually(t, e2e.WaitLimit, "answers are given", func() error {
			mu.Lock()
			defer mu.Unlock()
			if len(ids) < 150 {
				return fmt.Errorf("%d answers", len(ids))
			}
			return nil
		})
		d.Kill()
		work.Wait()
		d.begin()
		stored, reserved := d.count("SELECT COUNT(*) FROM answer_answers WHERE status = 'done'"), d.count("SELECT COUNT(*) FROM answer_reservations")
		if used, pending := d.used(); used != stored || pending != reserved || stored < len(ids) || stored > len(ids)+100 {
			t.Errorf("%d used, %d stored, %d answered; %d pending, %d reserved", used, stored, len(ids), pending, reserved)
		}
		known := make([]string, 0, len(ids))
		for id := range ids {
			known = append(known, "'"+id+"'")
		}
		if n := d.count("SELECT COUNT(*) FROM answer_answers WHERE status = 'done' AND id IN (" + strings.Join(known, ",") + ")"); n != len(ids) {
			t.Errorf("%d of %d answers are stored", n, len(ids))
		}
		if a := d.do(http.MethodGet, "/v1/answers/"+strings.Trim(known[0], "'"), ""); a.Status != http.StatusOK || gjson.Get(a.Body, "result.status").Str != "done" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		d.later(leaseLater)
		if used, pending := d.used(); used != stored || pending != 0 {
			t.Errorf("%d used, %d pending behind the leases", used, pending)
		}
		if a := d.ask(asked); outcome(a) != "Answered" { // removes the remains of the killed questions
			t.Errorf("%d %s", a.Status, a.Body)
		}
		d.settled(stored + 1)
		if n := d.count("SELECT COUNT(*) FROM answer_answers WHERE status = 'pending'"); n != 0 {
			t.Errorf("%d are pending for ever", n)
		}
		d.Stop()
	})
}

// TestAnswersKilledAtStages checks that a question is not charged when the server is killed at any of its stages, that
// it holds its reservation until the end of its lease, and that it can be asked again.
func TestAnswersKilledAtStages(t *testing.T) {
	t.Parallel()
	stages := []struct{ step, question string }{
		{"verdict", "What is a dividend?"},
		{"plan", "Why did Cobaltine raise its forecast for 2025 and its customers order more?"},
		{"draft", asked},
		{"judge", asked},
	}
	onBoth(t, func(t *testing.T, dsn string) {
		o := newOracle(t, honest)
		d := newDesk(t, dsn, quick+o.option())
		ids := make(map[string]string)
		for i, s := range stages {
			o.say(but(s.step, hang, honest))
			a := d.ask(s.question, "Idempotency-Key", s.step, "Prefer", "respond-async")
			if ids[s.step] = gjson.Get(a.Body, "result.id").Str; a.Status != http.StatusAccepted {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			o.await(t, o.hanging, s.step)
			d.Kill()
			d.begin()
			if used, pending := d.used(); used != 0 || pending != i+1 {
				t.Errorf("%s: %d used, %d pending", s.step, used, pending)
			}
			if a := d.do(http.MethodGet, "/v1/answers/"+ids[s.step], ""); gjson.Get(a.Body, "result.status").Str != "pending" {
				t.Errorf("%s: %d %s", s.step, a.Status, a.Body)
			}
		}
		if n := d.count("SELECT COUNT(*) FROM answer_reservations r JOIN answer_answers a ON a.id = r.answer WHERE r.lease - a.created_at = 175000000"); n != len(stages) {
			t.Errorf("%d leases of 175 seconds", n)
		}
		d.later(leaseLater)
		if used, pending := d.used(); used != 0 || pending != 0 {
			t.Errorf("%d used, %d pending behind the leases", used, pending)
		}
		o.say(honest)
		answered := 0
		for _, s := range stages {
			a := d.ask(s.question, "Idempotency-Key", s.step)
			if id := gjson.Get(a.Body, "result.id").Str; a.Status != http.StatusOK || id == "" || id == ids[s.step] || s.question == asked && outcome(a) != "Answered" {
				t.Errorf("%s: %d %s", s.step, a.Status, a.Body)
			}
			if outcome(a) == "Answered" {
				answered++
			}
			a = d.do(http.MethodGet, "/v1/answers/"+ids[s.step], "")
			if gjson.Get(a.Body, "result.status").Str != "failed" || outcome(a) != "ServiceUnavailable" {
				t.Errorf("%s: %d %s", s.step, a.Status, a.Body)
			}
		}
		d.settled(answered)
		d.Stop()
	})
}

// TestAnswersReload checks that reloads lose no question and charge each answer once.
func TestAnswersReload(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", strings.Replace(quick, "quota 1000", "quota 100000", 1))
	stop := make(chan struct{})
	var work sync.WaitGroup
	var answered atomic.Int64
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a := d.ask(asked)
				if e2e.Unanswered(a.Err) {
					a = d.ask(asked)
				}
				if outcome(a) != "Answered" {
					t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range 6 {
		config := d.config
		if i%2 == 0 {
			config = strings.Replace(config, "rate 100000", "rate 90000", 1)
		}
		d.Load(config)
		if _, err := d.Admin(http.MethodGet, "/admin/answer/keys", "", ""); err != nil {
			t.Error(err)
		}
		e2e.Eventually(t, e2e.WaitLimit, "questions are answered", func() error {
			if n := answered.Load(); n < int64(10*(i+1)) {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
	}
	close(stop)
	work.Wait()
	d.settled(int(answered.Load()))
	d.Stop()
}
