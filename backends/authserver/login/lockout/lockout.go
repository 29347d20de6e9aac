// Package lockout counts failed sign-ins by identity and source address. It locks a pair of an identity and an address
// for some time if the pair has too many failures. An address from which too many different identities fail is locked
// as a whole, for any identity. The counts are kept in memory and are bounded. A lock lasts its full time, however many
// other identities are tried.
package lockout

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"sync"
	"time"
)

// MaxIdentity is the number of bytes of an identity that are compared; the remaining bytes are ignored.
const MaxIdentity = 254

// warnEvery is the minimum time between two warnings.
const warnEvery = time.Minute

// Options are the settings of a Lockout.
type Options struct {
	// Max is the number of failures within the Window that lock an identity. Zero disables the lockout.
	Max int
	// Spray is the number of different identities that may fail from one address within the Window; one more locks the
	// address. If it is zero, addresses are never locked.
	Spray int
	// Window is the time in which failures are counted. It begins with the first failure.
	Window time.Duration
	// Lock is how long a lock lasts.
	Lock time.Duration
	// Bound is the maximum number of tracked identities, and of tracked addresses.
	Bound int
	Now   func() time.Time
	// Warn is called, at most once a minute, if a new identity or address cannot be tracked because the table is full
	// of locked ones.
	Warn func(message string)
}

// The messages for Warn.
const (
	Evicting = "the lockout tracks the maximum number of identities: each new one replaces the oldest that is not locked"
	Refusing = "the lockout tracks the maximum number of identities and all are locked: failures of others are not counted"
)

// Lockout counts failed sign-ins. It is safe for concurrent use. Each call takes constant time, however many identities
// are tracked.
type Lockout struct {
	o     Options
	salt  [32]byte
	begun time.Time

	mu        sync.Mutex    // protects the following fields
	table                   // of identities, each at one address
	addresses table         // of addresses; each entry counts the different identities that failed
	warnedAt  time.Duration // since begun; zero if there was no warning yet
}

// Key identifies a pair of an identity and a source address, and also the address alone. It contains only hashes.
type Key struct{ identity, address hash }

// New returns an empty Lockout.
func New(o Options) *Lockout {
	l := &Lockout{o: o, begun: o.Now()}
	_, _ = rand.Read(l.salt[:]) // never fails
	l.clear()
	l.addresses.clear()
	return l
}

// Of returns the key of an identity and an address. The identity is the text that the user typed; letter case,
// surrounding space and all bytes after the first MaxIdentity are ignored.
func (l *Lockout) Of(identity, address string) Key {
	identity = strings.ToLower(strings.TrimSpace(identity))
	text := make([]byte, 0, 512)
	text = append(text, l.salt[:]...)
	text = append(text, identity[:min(len(identity), MaxIdentity)]...)
	text = append(append(text, 0), address...) // no address contains NUL
	identityHash := sha256.Sum256(text)
	// Unlike the hashed text of an identity, this text has no NUL, so that its hash differs from the hash of any identity.
	addressHash := sha256.Sum256(append(append(text[:0], l.salt[:]...), address...))
	return Key{hash(identityHash[:16]), hash(addressHash[:16])}
}

// Locked returns the time for which a key is still locked, because of its identity or its address. It returns zero for
// a key that is not locked.
func (l *Lockout) Locked(k Key) time.Duration {
	if l.o.Max == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locked(k, l.now())
}

// AddressLocked reports whether the address of a key is locked because too many different identities failed from it.
func (l *Lockout) AddressLocked(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addresses.locked(k.address, l.now()) > 0
}

// now returns the current time as the duration since the lockout began.
func (l *Lockout) now() time.Duration { return l.o.Now().Sub(l.begun) }

// locked implements Locked. The caller must hold l.mu.
func (l *Lockout) locked(k Key, now time.Duration) time.Duration {
	return max(l.table.locked(k.identity, now), l.addresses.locked(k.address, now))
}

// Fail counts a failure. The result locks reports whether this failure locks the identity of the key, its address (see
// AddressLocked), or both. If concurrent attempts have already locked the key, the failure is not counted, and wait is
// the remaining time of the lock.
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
	index, ok := l.index(&l.table, k.identity, now)
	if !ok {
		return 0, false
	}
	locksAddress := l.countIdentity(index, k.address, now)
	locksIdentity := l.count(&l.table, index, l.o.Max, now)
	return 0, locksAddress || locksIdentity
}

// countIdentity adds an identity to those that failed from an address in the current window, unless it was already
// added. It reports whether that locks the address. The identity is an index in the table of identities.
func (l *Lockout) countIdentity(identity uint32, address hash, now time.Duration) (locks bool) {
	if l.o.Spray == 0 {
		return false
	}
	index, ok := l.index(&l.addresses, address, now)
	if !ok {
		return false
	}
	window := l.addresses.entries[index].ends
	if l.entries[identity].window == window { // already added
		return false
	}
	l.entries[identity].window = window
	return l.count(&l.addresses, index, l.o.Spray+1, now)
}

// index returns the index of the entry for a hash, and adds an entry if necessary. It returns false if the table is
// full.
func (l *Lockout) index(t *table, h hash, now time.Duration) (index uint32, ok bool) {
	if index, ok = t.indexes[h]; ok && t.entries[index].ends > now {
		return index, true
	}
	if ok { // its window or lock has ended
		t.drop(index)
	}
	return l.add(t, h, now)
}

// count counts a failure of an entry. If the number of failures reaches the limit, count locks the entry and returns
// true.
func (l *Lockout) count(t *table, index uint32, limit int, now time.Duration) (locks bool) {
	e := &t.entries[index]
	if e.failures++; int64(e.failures) < int64(limit) {
		return false
	}
	e.locked, e.ends = true, now+l.o.Lock
	t.unlink(index)
	t.link(index, locked)
	return true
}

// Succeed forgets the failures of a key. If the key is locked, Succeed forgets nothing and returns the remaining time
// of the lock. The caller must then refuse the sign-in: an attacker who tries many passwords at once must not learn
// which of them was right.
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
	index, ok := l.indexes[k.identity]
	if !ok {
		return 0
	}
	window := l.entries[index].window
	if addressIndex, ok := l.addresses.indexes[k.address]; ok && l.addresses.entries[addressIndex].ends == window {
		l.addresses.entries[addressIndex].failures-- // this identity no longer counts as one that fails there
	}
	l.drop(index)
	return 0
}

// Sweep removes the entries whose window or lock has ended and returns their number. Call it every minute.
func (l *Lockout) Sweep() (ended int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	return l.table.sweep(now) + l.addresses.sweep(now)
}

// Tracked returns the number of tracked identities.
func (l *Lockout) Tracked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.indexes)
}

// add adds an entry for a hash and returns its index. If the table is full, it first evicts the oldest entry that is
// not locked. It returns false if all entries are locked.
func (l *Lockout) add(t *table, h hash, now time.Duration) (index uint32, ok bool) {
	if len(t.indexes) >= l.o.Bound && !t.expire(locked, now) && !t.expire(counted, now) {
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

// warn calls Options.Warn unless the last warning is too recent.
func (l *Lockout) warn(message string, now time.Duration) {
	if l.warnedAt == 0 || now-l.warnedAt >= warnEvery {
		l.warnedAt = max(now, 1) // zero would mean that there was no warning
		l.o.Warn(message)
	}
}
