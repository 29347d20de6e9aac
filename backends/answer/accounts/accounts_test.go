package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func made(t *testing.T, a *accounts.Accounts, n accounts.NewKey) (string, *accounts.Caller) {
	t.Helper()
	if n.Label == "" {
		n.Label = "desk"
	}
	key, _, err := a.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := a.Caller(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return key, caller
}

func TestKeys(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{})
		key, caller := made(t, a, accounts.NewKey{Label: "desk", Limit: new(int64(7)), Expires: k.Now().Add(time.Hour)})
		if !strings.HasPrefix(key, "ans_") || caller.Limit != 7 || !caller.May(accounts.ServiceAnswer) || !caller.May(accounts.ServiceQuota) {
			t.Fatalf("%s %+v", key, caller)
		}
		second, other := made(t, a, accounts.NewKey{Account: "desk", Label: "screen", Services: []string{accounts.ServiceQuota}})
		if other.Account != caller.Account || other.Limit != 7 || other.May(accounts.ServiceAnswer) {
			t.Fatalf("%+v", other)
		}
		list, err := a.Keys(t.Context())
		if err != nil || len(list) != 2 || list[1].Lookup == "" || !strings.Contains(key, list[1].Lookup) || strings.Contains(fmt.Sprint(list), key[len(key)-20:]) {
			t.Fatalf("%+v, error %v", list, err)
		}
		for _, bad := range []string{"", "ans_", "ak-x", key + "x", key[:len(key)-1], strings.Replace(key, "ans_", "ANS_", 1), strings.Repeat("x", 5000), "ans_" + list[1].Lookup + "_"} {
			if _, err := a.Caller(t.Context(), bad); !errors.Is(err, accounts.ErrUnknown) {
				t.Errorf("%.60q: %v", bad, err)
			}
		}
		if done, err := a.Revoke(t.Context(), list[0].ID, ""); err != nil || !done {
			t.Fatal(done, err)
		}
		if _, err := a.Caller(t.Context(), second); !errors.Is(err, accounts.ErrUnknown) {
			t.Error("a revoked key works")
		}
		k.Clock.Move(time.Hour)
		if _, err := a.Caller(t.Context(), key); !errors.Is(err, accounts.ErrUnknown) {
			t.Error("an expired key works")
		}
		_, none := made(t, a, accounts.NewKey{Label: "none", Limit: new(int64(0))})
		if quota, err := a.Quota(t.Context(), none); err != nil || none.Limit != 0 || quota.Limit != 0 || !quota.Exceeded() {
			t.Errorf("a limit of zero: %+v, quota %+v (%v)", none, quota, err)
		}
		for _, bad := range []accounts.NewKey{{}, {Label: "x", Limit: new(int64(-2))}, {Label: "x", Expires: k.Now()}, {Label: "x", Services: []string{"all"}}} {
			if _, _, err := a.Create(t.Context(), bad); err == nil {
				t.Errorf("%+v is made", bad)
			}
		}
	})
}

// TestRateIsExact checks that of 50 concurrent questions exactly 5 are accepted, and one more as soon as a
// minute is over.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{})
		_, caller := made(t, a, accounts.NewKey{})
		ask := func(id string) error {
			_, _, err := a.Accept(t.Context(), caller, id, accounts.Once{})
			return err
		}
		var accepted, limited atomic.Int32
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				switch err := ask(fmt.Sprint("ans_", i)); {
				case err == nil:
					accepted.Add(1)
				case strings.Contains(err.Error(), accounts.RateLimited):
					limited.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if accepted.Load() != 5 || limited.Load() != 45 {
			t.Fatalf("%d accepted, %d limited", accepted.Load(), limited.Load())
		}
		k.Clock.Move(time.Minute - time.Second)
		refused, ok := errors.AsType[*accounts.RefusedError](ask("late"))
		if !ok || refused.RetryAfter != 1 || refused.Rate.Remaining != 0 {
			t.Fatalf("%+v", refused)
		}
		k.Clock.Move(time.Second)
		if err := ask("sixth"); err != nil {
			t.Error(err)
		}
		rate, err := a.Rate(t.Context(), caller)
		if err != nil || rate.Remaining != 4 || rate.Reset != 60 {
			t.Errorf("%+v, error %v", rate, err)
		}
	})
}

// TestQuota checks that used and pending never exceed the limit, and that in the end nothing is pending and
// used is the number of answers.
func TestQuota(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{Rate: 1000})
		_, caller := made(t, a, accounts.NewKey{Limit: new(int64(30))})
		var answered, refused atomic.Int32
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				id := fmt.Sprint("ans_", i)
				_, _, err := a.Accept(t.Context(), caller, id, accounts.Once{})
				if r, ok := errors.AsType[*accounts.RefusedError](err); ok && r.Reason == accounts.QuotaExceeded {
					refused.Add(1)
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				if q, err := a.Quota(t.Context(), caller); err != nil || q.Used+q.Pending > q.Limit {
					t.Errorf("%+v, error %v", q, err)
				}
				end := accounts.Answer{ID: id, Code: 200, Body: "b"}
				if i%3 == 0 {
					end.Reason = "FailedToAnswer"
				} else {
					answered.Add(1)
				}
				if err := a.Settle(t.Context(), end, false); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		q, err := a.Quota(t.Context(), caller)
		if err != nil || q.Pending != 0 || q.Used != int64(answered.Load()) || q.Used > 30 {
			t.Fatalf("%+v after %d answers and %d refusals, error %v", q, answered.Load(), refused.Load(), err)
		}
		if err := a.Settle(t.Context(), accounts.Answer{ID: "ans_1", Code: 200}, false); err == nil {
			t.Error("an answer is settled twice")
		}
		if want := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC); !q.End.Equal(want) || q.Start.Day() != 1 {
			t.Errorf("%+v", q)
		}
		// Lowered below what is used.
		if _, _, err := a.Create(t.Context(), accounts.NewKey{Account: "desk", Label: "other", Limit: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		if q, err := a.Quota(t.Context(), caller); err != nil || !q.Exceeded() {
			t.Errorf("%+v, error %v", q, err)
		}
	})
}

// TestConcurrentCallersAreNotRetried checks that concurrent callers on PostgreSQL wait for each other's commit and are never tried
// again. On a slow disk the repetitions would take longer than an answer is kept for.
func TestConcurrentCallersAreNotRetried(t *testing.T) {
	t.Parallel()
	k := answertest.Postgres(t)
	a := accounts.New(k.Server, accounts.Options{Rate: 1000})
	_, caller := made(t, a, accounts.NewKey{Limit: new(int64(1000))})
	const askers = 60
	err := k.Write(t.Context(), func(c kernel.Conn) error {
		for _, statement := range []string{
			"CREATE SEQUENCE tries", // which counts what is rolled back, too
			"CREATE FUNCTION tried() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'); RETURN NULL; END $$",
			"CREATE TRIGGER tried BEFORE UPDATE ON answer_accounts FOR EACH STATEMENT EXECUTE FUNCTION tried()",
		} {
			if _, err := c.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []func(id string) error{
		func(id string) error {
			_, _, err := a.Accept(t.Context(), caller, id, accounts.Once{})
			return err
		},
		func(id string) error {
			return a.Settle(t.Context(), accounts.Answer{ID: id, Code: 200, Body: "b"}, false)
		},
	} {
		var all sync.WaitGroup
		for n := range askers {
			all.Go(func() {
				if err := step(fmt.Sprint("ans_", n)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var tries int
		err := k.Read(t.Context(), func(c kernel.Conn) error { return c.Row("SELECT last_value FROM tries").Scan(&tries) })
		if err != nil || tries != (i+1)*askers {
			t.Errorf("%d tries for %d, error %v", tries, (i+1)*askers, err)
		}
	}
}

// TestLease checks that the reservation of a crashed process returns to its window when its lease ends, and
// that no answer can be stored for it any more.
func TestLease(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{Window: mustWindow(t, "day"), Lease: time.Minute})
		_, caller := made(t, a, accounts.NewKey{Limit: new(int64(1))})
		once := accounts.Once{Key: "k", Hash: "h"}
		if _, _, err := a.Accept(t.Context(), caller, "lost", once); err != nil {
			t.Fatal(err)
		}
		if _, earlier, err := a.Accept(t.Context(), caller, "again", once); err != nil || earlier != "lost" {
			t.Fatal(earlier, err)
		}
		k.Clock.Move(time.Minute)
		if q, err := a.Quota(t.Context(), caller); err != nil || q.Pending != 0 {
			t.Fatalf("%+v, error %v", q, err)
		}
		if err := a.Reap(t.Context()); err != nil {
			t.Fatal(err)
		}
		ans, err := a.Answer(t.Context(), caller.Account, "lost")
		if err != nil || ans.Status != accounts.Failed {
			t.Fatalf("%+v, error %v", ans, err)
		}
		if err := a.Settle(t.Context(), accounts.Answer{ID: "lost", Code: 200}, false); err == nil {
			t.Error("an answer is stored without its reservation")
		}
		if _, earlier, err := a.Accept(t.Context(), caller, "again", once); err != nil || earlier != "" {
			t.Fatal(earlier, err)
		}
		k.Clock.Move(time.Minute) // its lease too is over, and nobody has given it back yet
		if _, earlier, err := a.Accept(t.Context(), caller, "third", once); err != nil || earlier != "" {
			t.Fatal(earlier, err)
		}
		k.Clock.Move(12 * time.Hour) // the next day
		if err := a.Reap(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q, err := a.Quota(t.Context(), caller); err != nil || q.Used != 0 || q.Exceeded() || q.Start.Day() != 3 {
			t.Fatalf("%+v, error %v", q, err)
		}
	})
}

func mustWindow(t *testing.T, text string) accounts.Window {
	t.Helper()
	w, err := accounts.ParseWindow(text)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRollingWindow(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{Window: mustWindow(t, "rolling:7")})
		_, caller := made(t, a, accounts.NewKey{Limit: new(int64(1))})
		ctx := t.Context()
		began := k.Now()
		if _, _, err := a.Accept(ctx, caller, "one", accounts.Once{}); err != nil {
			t.Fatal(err)
		}
		if err := a.Settle(ctx, accounts.Answer{ID: "one", Code: 200}, false); err != nil {
			t.Fatal(err)
		}
		k.Clock.Move(6 * 24 * time.Hour)
		if q, err := a.Quota(ctx, caller); err != nil || !q.Start.Equal(began) || !q.Exceeded() {
			t.Fatalf("%+v, error %v", q, err)
		}
		_, _, err := a.Accept(ctx, caller, "two", accounts.Once{})
		if r, ok := errors.AsType[*accounts.RefusedError](err); !ok || r.RetryAfter != 24*60*60 {
			t.Fatalf("%+v", err)
		}
		k.Clock.Move(24 * time.Hour)
		if _, _, err := a.Accept(ctx, caller, "two", accounts.Once{}); err != nil {
			t.Fatal(err)
		}
	})
	for _, bad := range []string{"week", "rolling:0", "rolling:", "rolling:1000", "rolling:x"} {
		if _, err := accounts.ParseWindow(bad); err == nil {
			t.Errorf("%q is a window", bad)
		}
	}
}

func TestIdempotencyKeyAndPurge(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{})
		_, caller := made(t, a, accounts.NewKey{})
		_, stranger := made(t, a, accounts.NewKey{Label: "other"})
		accept := func(c *accounts.Caller, id, hash string) (string, error) {
			_, earlier, err := a.Accept(context.Background(), c, id, accounts.Once{Key: "k", Hash: hash})
			return earlier, err
		}
		if _, err := accept(caller, "a1", "h"); err != nil {
			t.Fatal(err)
		}
		if _, err := accept(caller, "a2", "other"); !errors.Is(err, accounts.ErrMismatch) {
			t.Error(err)
		}
		if earlier, err := accept(stranger, "a3", "h"); err != nil || earlier != "" {
			t.Errorf("a stranger's key: %q, %v", earlier, err)
		}
		if _, err := a.Answer(t.Context(), stranger.Account, "a1"); !errors.Is(err, accounts.ErrNoAnswer) {
			t.Errorf("another's answer: %v", err)
		}
		if err := a.Settle(t.Context(), accounts.Answer{ID: "a1", Code: 504, Reason: "Timeout"}, true); err != nil {
			t.Fatal(err)
		}
		if earlier, err := accept(caller, "a4", "h"); err != nil || earlier != "" {
			t.Errorf("a fault is kept: %q, %v", earlier, err)
		}
		if err := a.Settle(t.Context(), accounts.Answer{ID: "a4", Code: 200, Body: "{}"}, false); err != nil {
			t.Fatal(err)
		}
		k.Clock.Move(24*time.Hour - time.Second)
		if earlier, err := accept(caller, "a5", "h"); err != nil || earlier != "a4" {
			t.Errorf("before a day: %q, %v", earlier, err)
		}
		k.Clock.Move(time.Second)
		if earlier, err := accept(caller, "a5", "new"); err != nil || earlier != "" {
			t.Errorf("after a day: %q, %v", earlier, err)
		}
		k.Clock.Move(accounts.Retention)
		if _, err := a.Answer(t.Context(), caller.Account, "a1"); !errors.Is(err, accounts.ErrNoAnswer) {
			t.Errorf("an old answer: %v", err)
		}
		if n, err := a.Purge(t.Context(), 2); err != nil || n == 0 {
			t.Errorf("%d purged, %v", n, err)
		}
	})
}

// TestRecent checks that the newest answers of all accounts are listed first, a page at a time.
func TestRecent(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		a := accounts.New(k.Server, accounts.Options{})
		for i := range 3 {
			_, caller := made(t, a, accounts.NewKey{Label: fmt.Sprint("desk", i)})
			if _, _, err := a.Accept(t.Context(), caller, fmt.Sprint("ans_", i), accounts.Once{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Settle(t.Context(), accounts.Answer{ID: "ans_1", Code: 200, Body: "text"}, false); err != nil {
			t.Fatal(err)
		}
		if n, err := a.Reserved(t.Context()); err != nil || n != 2 {
			t.Errorf("%d reserved, error %v", n, err)
		}
		ids := func(before string, limit int) (all string) {
			t.Helper()
			list, err := a.Recent(t.Context(), before, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, ans := range list {
				all += ans.ID + " " + ans.Status + " " + ans.Body + ","
			}
			return all
		}
		for got, want := range map[string]string{
			ids("", 2): "ans_2 pending ,ans_1 done ,", ids("ans_1", 2): "ans_0 pending ,", ids("ans_0", 2): "",
		} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		k.Clock.Move(accounts.Retention)
		if got := ids("", 9); got != "" {
			t.Errorf("after 30 days: %q", got)
		}
	})
}
