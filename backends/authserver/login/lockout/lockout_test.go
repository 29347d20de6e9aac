package lockout

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fixture is a lockout with a clock that only the test moves.
type fixture struct {
	*Lockout
	t      *testing.T
	now    time.Time
	warned []string
}

func fix(t *testing.T, o Options) *fixture {
	f := &fixture{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	o.Now = func() time.Time { return f.now }
	o.Warn = func(message string) { f.warned = append(f.warned, message) }
	f.Lockout = New(o)
	return f
}

// rules are three failures in ten minutes, locked for a quarter of an hour.
var rules = Options{Max: 3, Window: 10 * time.Minute, Lock: 15 * time.Minute, Bound: 100}

// fails counts a failure of a key and checks whether that locks it, and for how long it was locked already.
func (f *fixture) fails(k Key, locks bool, locked time.Duration) {
	f.t.Helper()
	if wait, did := f.Fail(k); did != locks || wait != locked {
		f.t.Errorf("the failure locks: %v; it was locked for %s; want %v, %s", did, wait, locks, locked)
	}
}

func (f *fixture) locked(k Key, want time.Duration) {
	f.t.Helper()
	if got := f.Locked(k); got != want {
		f.t.Errorf("locked for %s, want %s", got, want)
	}
}

func (f *fixture) after(d time.Duration) { f.now = f.now.Add(d) }

func TestLocks(t *testing.T) {
	t.Parallel()
	f := fix(t, rules)
	bob := f.Of("bob@example.com", "192.0.2.1")
	f.locked(bob, 0)
	f.fails(bob, false, 0)
	f.after(9 * time.Minute)
	f.fails(bob, false, 0)
	f.after(time.Minute - 1)
	f.locked(bob, 0)
	f.fails(bob, true, 0) // within the window that began with the first failure
	f.locked(bob, 15*time.Minute)
	f.after(5 * time.Minute)
	f.fails(bob, false, 10*time.Minute)
	f.locked(bob, 10*time.Minute) // the failure does not extend the lock
	if wait := f.Succeed(bob); wait != 10*time.Minute {
		t.Errorf("a right password during the lock waits %s", wait)
	}
	f.after(10*time.Minute - 1)
	f.locked(bob, 1)
	f.after(1)
	f.locked(bob, 0)
	for i := range 3 { // after the lock, failures are counted from zero
		f.fails(bob, i == 2, 0)
	}
}

// TestWindow checks that a window begins with the first failure, and that the first failure after its end begins
// another.
func TestWindow(t *testing.T) {
	t.Parallel()
	f := fix(t, rules)
	bob := f.Of("bob", "")
	f.fails(bob, false, 0)
	f.after(9 * time.Minute)
	f.fails(bob, false, 0)
	f.after(time.Minute)
	f.fails(bob, false, 0) // the first of a new window
	f.after(9 * time.Minute)
	f.fails(bob, false, 0)
	f.fails(bob, true, 0)
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	f := fix(t, rules)
	bob := f.Of("bob", "")
	f.fails(bob, false, 0)
	f.fails(bob, false, 0)
	if wait := f.Succeed(bob); wait != 0 || f.Tracked() != 0 {
		t.Errorf("waits %s, %d are tracked", wait, f.Tracked())
	}
	f.Succeed(bob) // there is nothing to reset
	f.fails(bob, false, 0)
	f.fails(bob, false, 0)
	f.fails(bob, true, 0)
}

func TestZeroLimitsDisable(t *testing.T) {
	t.Parallel()
	f := fix(t, Options{Bound: 1})
	bob := f.Of("bob", "")
	for range 100 {
		f.fails(bob, false, 0)
	}
	f.locked(bob, 0)
	if f.Succeed(bob) != 0 || f.Tracked() != 0 {
		t.Error("something is tracked")
	}
}

func TestKeyOfIdentity(t *testing.T) {
	t.Parallel()
	f := fix(t, rules)
	long := strings.Repeat("x", 254)
	same := [][2]string{{"Bob@Example.com ", "\tbob@example.COM"}, {long, long + "yz"}, {long + "a", "  " + long + "b"}}
	for _, pair := range same {
		if f.Of(pair[0], "192.0.2.1") != f.Of(pair[1], "192.0.2.1") {
			t.Errorf("%q and %q are different keys", pair[0], pair[1])
		}
	}
	all := make(map[Key]bool)
	for _, k := range []Key{f.Of("bob", "192.0.2.1"), f.Of("bob", "192.0.2.2"), f.Of("bo", "b192.0.2.1"), f.Of("", ""), f.Of(long, ""), f.Of(long[1:], ""), fix(t, rules).Of("bob", "192.0.2.1")} {
		all[k] = true
	}
	if len(all) != 7 {
		t.Errorf("%d keys of 7", len(all))
	}
}

// TestSpray checks that an address is locked after failures of many identities.
func TestSpray(t *testing.T) {
	t.Parallel()
	o := rules
	o.Spray = 5
	f := fix(t, o)
	key := func(name int, address string) Key { return f.Of(fmt.Sprint("user", name), address) }
	const bad, good = "192.0.2.1", "192.0.2.2"
	for name := range 5 {
		f.fails(key(name, bad), false, 0)
		f.fails(key(name, bad), false, 0) // another failure of the same identity does not count again
	}
	f.fails(key(5, good), false, 0)
	f.locked(key(6, bad), 0)
	f.after(time.Minute)
	f.fails(key(5, bad), true, 0)
	if !f.AddressLocked(key(6, bad)) || f.AddressLocked(key(5, good)) {
		t.Error("the wrong address is locked")
	}
	f.locked(key(0, bad), 15*time.Minute)
	f.locked(key(7, bad), 15*time.Minute) // an identity that the address has not tried yet
	f.locked(key(0, good), 0)
	f.fails(key(8, bad), false, 15*time.Minute)
	if wait := f.Succeed(key(0, bad)); wait != 15*time.Minute {
		t.Errorf("a right password from there waits %s", wait)
	}
	f.after(15 * time.Minute)
	f.locked(key(0, bad), 0)

	for name := range 8 { // identities that sign in at last do not count as failures
		f.fails(key(name, good), false, 0)
		if wait := f.Succeed(key(name, good)); wait != 0 {
			t.Errorf("it waits %s", wait)
		}
	}
	for name := range 5 { // failures of an expired window do not count in the next
		f.fails(key(name, good), false, 0)
	}
	f.after(10*time.Minute - 1)
	f.fails(key(4, good), false, 0)
	f.after(1)
	for name := range 5 {
		f.fails(key(name, good), false, 0)
	}
	f.fails(key(9, good), true, 0)

	f.after(time.Hour)
	f.Sweep()
	if f.Tracked() != 0 || len(f.addresses.indexes) != 0 {
		t.Errorf("%d identities and %d addresses are tracked", f.Tracked(), len(f.addresses.indexes))
	}
	noSpray := fix(t, rules)
	for name := range 50 {
		noSpray.fails(noSpray.Of(fmt.Sprint(name), bad), false, 0)
	}
}

// TestBound checks that at the bound only identities that are not locked are evicted.
func TestBound(t *testing.T) {
	t.Parallel()
	o := rules
	o.Bound = 4
	f := fix(t, o)
	keys := make([]Key, 20)
	for i := range keys {
		keys[i] = f.Of(fmt.Sprint("user", i), "")
	}
	lock := func(k Key) {
		t.Helper()
		for i := range 3 {
			f.fails(k, i == 2, 0)
		}
	}
	lock(keys[0])
	lock(keys[1])
	f.fails(keys[2], false, 0)
	f.fails(keys[3], false, 0)
	if len(f.warned) != 0 || f.Tracked() != 4 {
		t.Fatalf("warned %q of %d", f.warned, f.Tracked())
	}
	f.after(time.Second)
	f.fails(keys[4], false, 0) // evicts an identity that is not locked
	f.fails(keys[5], false, 0)
	f.locked(keys[0], 15*time.Minute-time.Second)
	f.locked(keys[1], 15*time.Minute-time.Second)
	if !slices.Equal(f.warned, []string{Evicting}) || f.Tracked() != 4 {
		t.Fatalf("warned %q of %d", f.warned, f.Tracked())
	}
	f.fails(keys[4], false, 0) // the earlier failure was kept
	f.fails(keys[4], true, 0)
	f.fails(keys[5], false, 0)
	f.fails(keys[5], true, 0)
	f.after(2 * time.Second)
	for range 5 { // all tracked identities are locked: no failure is counted
		f.fails(keys[6], false, 0)
		f.locked(keys[6], 0)
	}
	if f.Tracked() != 4 || len(f.warned) != 1 {
		t.Fatalf("warned %q of %d", f.warned, f.Tracked())
	}
	f.after(time.Minute - 2*time.Second) // a minute after the warning
	f.fails(keys[6], false, 0)
	f.fails(keys[6], false, 0)
	if !slices.Equal(f.warned, []string{Evicting, Refusing}) {
		t.Fatalf("warned %q", f.warned)
	}
	f.after(14*time.Minute - time.Second) // the first two locks have expired
	f.fails(keys[6], false, 0)
	f.fails(keys[6], false, 0)
	f.fails(keys[6], true, 0)
	f.locked(keys[4], time.Second)
	f.locked(keys[5], time.Second)
	if len(f.warned) != 2 {
		t.Fatalf("a warning although an ended lock has made room: %q", f.warned)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	f := fix(t, rules)
	keys := make([]Key, 5)
	for i := range keys {
		keys[i] = f.Of(fmt.Sprint(i), "")
		f.fails(keys[i], false, 0)
		f.after(time.Minute)
	}
	f.fails(keys[4], false, 0)
	f.fails(keys[4], true, 0) // locked at minute 5, until minute 20
	for _, step := range []struct {
		after       time.Duration
		ended, left int
	}{{4 * time.Minute, 0, 5}, {time.Minute, 1, 4}, {2 * time.Minute, 2, 2}, {7 * time.Minute, 1, 1}, {time.Minute, 1, 0}, {time.Hour, 0, 0}} {
		f.after(step.after)
		if ended := f.Sweep(); ended != step.ended || f.Tracked() != step.left {
			t.Errorf("after %s: %d ended, %d are left; want %d, %d", step.after, ended, f.Tracked(), step.ended, step.left)
		}
	}
	if len(f.entries) != int(lists) {
		t.Error("the memory is not freed")
	}
	f.fails(keys[0], false, 0)
}

// TestAgainstPlain compares the results with those of a simple implementation.
func TestAgainstPlain(t *testing.T) {
	t.Parallel()
	f := fix(t, Options{Max: 3, Window: 10, Lock: 15, Bound: 1000})
	type plain struct {
		first    time.Time
		failures int
		until    time.Time
	}
	all := make(map[Key]*plain)
	random := uint32(1)
	next := func(n uint32) uint32 {
		random = random*1664525 + 1013904223
		return random >> 8 % n
	}
	for step := range 20000 {
		f.after(time.Duration(next(3)))
		k := f.Of(fmt.Sprint(next(40)), "")
		p := all[k]
		if p == nil {
			p = new(plain)
			all[k] = p
		}
		want := max(0, p.until.Sub(f.now))
		if got := f.Locked(k); got != want {
			t.Fatalf("step %d: locked for %d, want %d", step, got, want)
		}
		switch action := next(10); {
		case want > 0:
			if wait, locks := f.Fail(k); wait != want || locks {
				t.Fatalf("step %d: a failure while it is locked: %d, %v", step, wait, locks)
			}
		case action == 0:
			f.Succeed(k)
			*p = plain{}
		case action == 1:
			f.Sweep()
		default:
			if p.failures == 0 || f.now.Sub(p.first) >= 10 {
				*p = plain{first: f.now}
			}
			p.failures++
			locks := p.failures == 3
			if locks {
				*p = plain{until: f.now.Add(15)}
			}
			if _, did := f.Fail(k); did != locks {
				t.Fatalf("step %d: locks: %v", step, did)
			}
		}
	}
}

// TestConcurrent checks that exactly one of many concurrent failures locks the identity, and that later failures have
// to wait.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	f := fix(t, Options{Max: 10, Window: time.Minute, Lock: time.Minute, Bound: 5000})
	bob := f.Of("bob", "")
	var passed, locks, waits atomic.Int64
	var all sync.WaitGroup
	for i := range 40 { // tracks at most 40 * 100 other identities
		all.Go(func() {
			wait, did := f.Fail(bob)
			switch {
			case did:
				locks.Add(1)
			case wait > 0:
				waits.Add(1)
			default:
				passed.Add(1)
			}
			for j := range 100 { // other identities come and go meanwhile
				k := f.Of(fmt.Sprint(i*100+j), "")
				f.Fail(k)
				f.Locked(k)
				if j%3 == 0 {
					f.Succeed(k)
				}
			}
			f.Sweep()
		})
	}
	all.Wait()
	if passed.Load() != 9 || locks.Load() != 1 || waits.Load() != 30 {
		t.Errorf("%d passed, %d locked, %d waited", passed.Load(), locks.Load(), waits.Load())
	}
	f.locked(bob, time.Minute)
	if tracked := f.Tracked(); tracked != 1+40*66 {
		t.Errorf("%d are tracked", tracked)
	}
}

// TestMaximumIdentities checks that the rules hold with as many identities as the default of
// rate_limit.max_tracked_identities, and that an identity takes little memory. It does not run in parallel, since it
// measures memory.
func TestMaximumIdentities(t *testing.T) { // not parallel: see above
	const bound, half = 250_000, 125_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := fix(t, Options{Max: 2, Window: 10 * time.Minute, Lock: 15 * time.Minute, Bound: bound})
	key := func(i int) Key { return f.Of(fmt.Sprintf("someone%08d@example.com", i), "2001:db8::1") }
	for i := range half { // lock the first half
		f.Fail(key(i))
		f.Fail(key(i))
	}
	f.after(time.Second)
	for i := half; i < bound; i++ { // the second half fails once
		f.Fail(key(i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := float64(after.HeapAlloc-before.HeapAlloc) / bound
	t.Logf("%.0f bytes an identity", size)
	if f.Tracked() != bound || len(f.warned) != 0 || size > 128 {
		t.Fatalf("%d are tracked, %.0f bytes each, warned %q", f.Tracked(), size, f.warned)
	}

	// New identities evict those that are not locked, and are then locked themselves.
	for i := bound; i < bound+half; i++ {
		f.Fail(key(i))
	}
	if f.Tracked() != bound || !slices.Equal(f.warned, []string{Evicting}) {
		t.Fatalf("%d are tracked, warned %q", f.Tracked(), f.warned)
	}
	for i := half; i < bound; i += 1000 {
		f.fails(key(i), false, 0) // the failure was evicted
	}
	for i := bound + half/2; i < bound+half; i++ {
		f.Fail(key(i))
		f.Fail(key(i))
	}
	for i := range half {
		if f.Locked(key(i)) != 15*time.Minute-time.Second {
			t.Fatalf("%d is not locked any more", i)
		}
	}
	for i := bound; f.Tracked() == bound && i < bound+half; i++ { // until all are locked
		f.Fail(key(i))
		f.Fail(key(i))
	}
	f.after(time.Minute)
	for i := 2 * bound; i < 2*bound+1000; i++ {
		for range 3 {
			f.fails(key(i), false, 0) // the identity is not tracked
		}
	}
	engaged := 0
	for _, index := range f.indexes {
		if f.entries[index].locked {
			engaged++
		}
	}
	if f.Tracked() != bound || !slices.Equal(f.warned, []string{Evicting, Refusing}) || engaged != bound {
		t.Fatalf("%d are tracked, %d are locked, warned %q", f.Tracked(), engaged, f.warned)
	}
	f.after(14*time.Minute - time.Second) // the locks of the first half have expired
	if ended := f.Sweep(); ended != half || f.Tracked() != half {
		t.Errorf("%d ended, %d are tracked", ended, f.Tracked())
	}
	f.after(time.Minute)
	if f.Sweep(); f.Tracked() != 0 {
		t.Errorf("%d are tracked", f.Tracked())
	}
}

// BenchmarkFail measures the memory of an identity in a full lockout, and the time of a failure.
func BenchmarkFail(b *testing.B) {
	const bound = 250_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	now := time.Now()
	l := New(Options{Max: 10, Window: 10 * time.Minute, Lock: 15 * time.Minute, Bound: bound, Now: func() time.Time { return now }, Warn: func(string) {}})
	name := []byte("someone00000000@example.com")
	key := func(i int) Key {
		copy(name[7:], fmt.Sprintf("%08d", i))
		return l.Of(string(name), "2001:db8::1")
	}
	for i := range bound {
		l.Fail(key(i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportAllocs()
	i := bound
	for b.Loop() {
		l.Fail(key(i))
		i++
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/bound, "B/identity")
}
