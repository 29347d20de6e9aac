// Package lockout counts the logins that failed, by who was to be signed in and from
// where, and locks those who failed too often out for a time. The counts are in
// memory and bounded. What is locked stays so until its time is over, however many
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
	// Window begins with the first failure. One after its end begins a new one.
	Window time.Duration
	// Lock is how long it lasts.
	Lock time.Duration
	// Bound is how many identities are tracked.
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

	mu       sync.Mutex
	places   map[Key]uint32 // in entries
	entries  []entry        // the first two are the ends of the lists
	free     uint32         // the first of the entries that are not used, by next; 0: none
	warnedAt time.Duration  // 0: never
}

// Key is an identity and a source address. Only a hash of them is kept.
type Key [16]byte

// entry is what is known of a key. The entries of each list are in the order in which
// they end, since all of a list last equally long.
type entry struct {
	key        Key
	ends       time.Duration // of the window, or of the lock; since begun
	prev, next uint32
	failures   uint32
	locked     bool
}

// The lists, by the entry that is before its first and behind its last.
const (
	counted uint32 = iota
	locked
	lists
)

// New returns a Lockout that tracks nobody.
func New(o Options) *Lockout {
	l := &Lockout{o: o, begun: o.Now()}
	_, _ = rand.Read(l.salt[:]) // never fails
	l.clear()
	return l
}

// clear gives the memory back, too.
func (l *Lockout) clear() {
	l.places = make(map[Key]uint32)
	l.entries = []entry{counted: {prev: counted, next: counted}, locked: {prev: locked, next: locked}}
	l.free = 0
}

// Of is the key of an identity, as it was typed, and an address: neither case nor space
// around the identity counts, nor what is behind its first 254 bytes.
func (l *Lockout) Of(identity, address string) Key {
	identity = strings.ToLower(strings.TrimSpace(identity))
	text := make([]byte, 0, 512)
	text = append(text, l.salt[:]...)
	text = append(text, identity[:min(len(identity), IdentityMost)]...)
	text = append(append(text, 0), address...) // no address has a zero
	sum := sha256.Sum256(text)
	return Key(sum[:16])
}

// Locked is how long a key is locked yet; 0: it is not.
func (l *Lockout) Locked(k Key) time.Duration {
	if l.o.Max == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(k, l.now())
}

func (l *Lockout) now() time.Duration { return l.o.Now().Sub(l.begun) }

func (l *Lockout) locked(k Key, now time.Duration) time.Duration {
	if at, ok := l.places[k]; ok && l.entries[at].locked {
		return max(0, l.entries[at].ends-now)
	}
	return 0
}

// Fail counts a failure, and reports whether it was the one that locks the key. Where
// the key was locked meanwhile, by others that were tried at the same time, it does not
// count, and wait is how long it is yet.
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
	at, ok := l.places[k]
	if ok && l.entries[at].ends <= now {
		l.drop(at)
		ok = false
	}
	if !ok {
		if at, ok = l.add(k, now); !ok {
			return 0, false
		}
	}
	e := &l.entries[at]
	if e.failures++; int64(e.failures) < int64(l.o.Max) {
		return 0, false
	}
	e.locked, e.ends = true, now+l.o.Lock
	l.unlink(at)
	l.link(at, locked)
	return 0, true
}

// Succeed forgets the failures of a key. Where it was locked meanwhile it does not, and
// wait is how long it is yet: who tries many at a time must not learn which was right.
func (l *Lockout) Succeed(k Key) (wait time.Duration) {
	if l.o.Max == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := l.locked(k, l.now()); wait > 0 {
		return wait
	}
	if at, ok := l.places[k]; ok {
		l.drop(at)
	}
	return 0
}

// Sweep forgets what has ended, and tells how many it was. It is to be called every
// minute.
func (l *Lockout) Sweep() (ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for list := range lists {
		for l.expire(list, now) {
			ended++
		}
	}
	if len(l.places) == 0 {
		l.clear()
	}
	return ended
}

// Tracked is how many identities are tracked.
func (l *Lockout) Tracked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places)
}

// expire drops the first of a list if it has ended.
func (l *Lockout) expire(list uint32, now time.Duration) bool {
	first := l.entries[list].next
	if first == list || l.entries[first].ends > now {
		return false
	}
	l.drop(first)
	return true
}

// add finds a place for a key, if need be that of another that is not locked.
func (l *Lockout) add(k Key, now time.Duration) (at uint32, ok bool) {
	if len(l.places) >= l.o.Bound && !l.expire(locked, now) && !l.expire(counted, now) {
		oldest := l.entries[counted].next
		if oldest == counted {
			l.warn(Refusing, now)
			return 0, false
		}
		l.warn(Evicting, now)
		l.drop(oldest)
	}
	if at = l.free; at != 0 {
		l.free = l.entries[at].next
	} else {
		at = uint32(len(l.entries)) //nolint:gosec // bounded
		l.entries = append(l.entries, entry{})
	}
	l.entries[at] = entry{key: k, ends: now + l.o.Window}
	l.link(at, counted)
	l.places[k] = at
	return at, true
}

func (l *Lockout) warn(message string, now time.Duration) {
	if l.warnedAt == 0 || now-l.warnedAt >= warnEvery {
		l.warnedAt = max(now, 1)
		l.o.Warn(message)
	}
}

// drop forgets an entry.
func (l *Lockout) drop(at uint32) {
	l.unlink(at)
	delete(l.places, l.entries[at].key)
	l.entries[at] = entry{next: l.free}
	l.free = at
}

// link puts an entry behind the last of a list.
func (l *Lockout) link(at, list uint32) {
	last := l.entries[list].prev
	l.entries[at].prev, l.entries[at].next = last, list
	l.entries[last].next, l.entries[list].prev = at, at
}

func (l *Lockout) unlink(at uint32) {
	prev, next := l.entries[at].prev, l.entries[at].next
	l.entries[prev].next, l.entries[next].prev = next, prev
}
