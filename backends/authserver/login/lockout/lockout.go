// Package lockout counts the logins that failed, by who was to be signed in and from
// where, and locks those who failed too often out for a time. An address from which too
// many different identities fail is locked itself, whomever it names next. The counts are
// in memory and bounded. What is locked stays so until its time is over, however many
// others come.
package lockout

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
	"time"
)

// IdentityMost is how many bytes of an identity count.
const IdentityMost = 254

// warnEvery is the least time between two warnings.
const warnEvery = time.Minute

// Options are the rules.
type Options struct {
	// Max failures within the Window lock; 0: nothing ever does.
	Max int
	// Spray is how many different identities may fail from one address within the Window; one more locks the address.
	// 0: no address is ever locked.
	Spray int
	// Window begins with the first failure. One after its end begins a new one.
	Window time.Duration
	// Lock is how long it lasts.
	Lock time.Duration
	// Bound is how many identities are tracked, and how many addresses.
	Bound int
	Now   func() time.Time
	// Warn is told, at most once a minute, that there is no place for a newcomer.
	Warn func(message string)
}

// What Warn is told.
const (
	Evicting = "the lockout tracks as many identities as it may, and forgets failures of others for each new one"
	Refusing = "the lockout tracks as many identities as it may, and all of them are locked: new ones are not counted"
)

// Lockout is the failures. It is safe for concurrent use, and each call takes the same
// time however many are tracked.
type Lockout struct {
	o     Options
	salt  [32]byte
	begun time.Time

	mu        sync.Mutex
	table                   // of identities, each from one address
	addresses table         // whose failures are different identities
	warnedAt  time.Duration // 0: never
}

// Key is an identity at a source address, and the address alone. Only hashes of them are
// kept.
type Key struct{ identity, address hash }

// New returns a Lockout that tracks nobody.
func New(o Options) *Lockout {
	l := &Lockout{o: o, begun: o.Now()}
	_, _ = rand.Read(l.salt[:]) // never fails
	l.clear()
	l.addresses.clear()
	return l
}

// Of is the key of an identity, as it was typed, and an address: neither case nor space
// around the identity counts, nor what is behind its first 254 bytes.
func (l *Lockout) Of(identity, address string) Key {
	identity = strings.ToLower(strings.TrimSpace(identity))
	text := make([]byte, 0, 512)
	text = append(text, l.salt[:]...)
	text = append(text, identity[:min(len(identity), IdentityMost)]...)
	text = append(append(text, 0), address...) // no address has a zero
	one := sha256.Sum256(text)
	all := sha256.Sum256(append(append(text[:0], l.salt[:]...), address...)) // without a zero: no identity's
	return Key{hash(one[:16]), hash(all[:16])}
}

// Locked is how long a key is locked yet, by its identity or its address; 0: it is not.
func (l *Lockout) Locked(k Key) time.Duration {
	if l.o.Max == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(k, l.now())
}

// AddressLocked reports whether the address of a key is locked, since too many different
// identities failed from there.
func (l *Lockout) AddressLocked(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addresses.locked(k.address, l.now()) > 0
}

func (l *Lockout) now() time.Duration { return l.o.Now().Sub(l.begun) }

func (l *Lockout) locked(k Key, now time.Duration) time.Duration {
	return max(l.table.locked(k.identity, now), l.addresses.locked(k.address, now))
}

// Fail counts a failure, and reports whether it was the one that locks the key: its
// identity, its address (see AddressLocked), or both. Where the key was locked meanwhile,
// by others that were tried at the same time, it does not count, and wait is how long it
// is yet.
func (l *Lockout) Fail(k Key) (wait time.Duration, locks bool) {
	if l.o.Max == 0 {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.locked(k, now); wait > 0 {
		return wait, false
	}
	at, ok := l.at(&l.table, k.identity, now)
	if !ok {
		return 0, false
	}
	locks = l.spray(at, k.address, now)
	if l.count(&l.table, at, l.o.Max, now) {
		locks = true
	}
	return 0, locks
}

// spray counts the identity at a place for an address, unless the present window of the
// address has it already, and reports whether that locks the address.
func (l *Lockout) spray(identity uint32, address hash, now time.Duration) (locks bool) {
	if l.o.Spray == 0 {
		return false
	}
	at, ok := l.at(&l.addresses, address, now)
	window := l.addresses.entries[at].ends
	if !ok || l.entries[identity].window == window {
		return false
	}
	l.entries[identity].window = window
	return l.count(&l.addresses, at, l.o.Spray+1, now)
}

// at is the place of what a hash stands for, made if need be; not ok: there is none.
func (l *Lockout) at(t *table, h hash, now time.Duration) (at uint32, ok bool) {
	if at, ok = t.places[h]; ok && t.entries[at].ends > now {
		return at, true
	}
	if ok {
		t.drop(at)
	}
	return l.add(t, h, now)
}

// count counts a failure, and reports whether it is the last one before the lock.
func (l *Lockout) count(t *table, at uint32, limit int, now time.Duration) (locks bool) {
	e := &t.entries[at]
	if e.failures++; int64(e.failures) < int64(limit) {
		return false
	}
	e.locked, e.ends = true, now+l.o.Lock
	t.unlink(at)
	t.link(at, locked)
	return true
}

// Succeed forgets the failures of a key. Where it was locked meanwhile it does not, and
// wait is how long it is yet: who tries many at a time must not learn which was right.
func (l *Lockout) Succeed(k Key) (wait time.Duration) {
	if l.o.Max == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if wait := l.locked(k, now); wait > 0 {
		return wait
	}
	at, ok := l.places[k.identity]
	if !ok {
		return 0
	}
	if of, ok := l.addresses.places[k.address]; ok && l.addresses.entries[of].ends == l.entries[at].window {
		l.addresses.entries[of].failures-- // it is no longer one that fails there
	}
	l.drop(at)
	return 0
}

// Sweep forgets what has ended, and tells how many it was. It is to be called every
// minute.
func (l *Lockout) Sweep() (ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return l.table.sweep(now) + l.addresses.sweep(now)
}

// Tracked is how many identities are tracked.
func (l *Lockout) Tracked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places)
}

// add finds a place for a hash, if need be that of another that is not locked.
func (l *Lockout) add(t *table, h hash, now time.Duration) (at uint32, ok bool) {
	if len(t.places) >= l.o.Bound && !t.expire(locked, now) && !t.expire(counted, now) {
		oldest := t.entries[counted].next
		if oldest == counted {
			l.warn(Refusing, now)
			return 0, false
		}
		l.warn(Evicting, now)
		t.drop(oldest)
	}
	return t.add(h, now+l.o.Window), true
}

func (l *Lockout) warn(message string, now time.Duration) {
	if l.warnedAt == 0 || now-l.warnedAt >= warnEvery {
		l.warnedAt = max(now, 1)
		l.o.Warn(message)
	}
}
