package clients

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// peppered is the prefix of a stored secret that is hashed with the pepper: it precedes the HMAC-SHA256 in hex. Since a
// secret has 256 random bits, it needs no slow hash. Other stored forms are those of internal/password.
const peppered = "hmac-sha256$"

// newSecret returns a new secret and its stored form.
func (cs *Clients) newSecret(ctx context.Context) (clear, stored string, err error) {
	clear = secret.New()
	stored, err = cs.hashed(ctx, clear)
	return clear, stored, err
}

// hashed returns the stored form of a secret.
func (cs *Clients) hashed(ctx context.Context, clear string) (stored string, err error) {
	if len(cs.options.Pepper) > 0 {
		return cs.pepper(clear), nil
	}
	return cs.options.Hasher.Hash(ctx, clear)
}

// pepper returns the stored form of a secret that is hashed with the pepper.
func (cs *Clients) pepper(clear string) string {
	h := hmac.New(sha256.New, cs.options.Pepper)
	h.Write([]byte(clear))
	out := make([]byte, len(peppered)+2*sha256.Size)
	hex.Encode(out[copy(out, peppered):], h.Sum(nil))
	return string(out)
}

// Unusable returns the number of clients that cannot authenticate because their secrets were hashed with a pepper, but
// no pepper is configured now.
func (cs *Clients) Unusable(ctx context.Context) (n int, err error) {
	if len(cs.options.Pepper) > 0 {
		return 0, nil
	}
	err = cs.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM authserver_clients WHERE secret LIKE ?", peppered+"%").Scan(&n)
	})
	return n, err
}

// RotateSecret gives a client a new secret and returns it in clear; only a hash is stored. It returns ErrNoSecret for a
// client that does not authenticate with a secret.
func (cs *Clients) RotateSecret(ctx context.Context, id string) (clear string, err error) {
	clear, stored, err := cs.newSecret(ctx)
	if err != nil {
		return "", err
	}
	_, err = cs.Edit(ctx, id, func(c *Client) error {
		if !usesSecret(c.AuthMethod) {
			return ErrNoSecret
		}
		c.Secret = stored
		return nil
	})
	return clear, err
}

// ErrNoSecret means that a client does not authenticate with a secret.
var ErrNoSecret = errors.New("the client does not authenticate with a secret")

// usesSecret reports whether clients with an authentication method have a secret.
func usesSecret(authMethod string) bool { return authMethod == MethodBasic || authMethod == MethodPost }

// verify reports whether a secret in clear matches the stored secret of a client. For a nil client it takes as much
// time as for a wrong secret. If the secret matches, but the stored hash was made by another program or without the
// current pepper, verify stores a new hash in the current form.
func (cs *Clients) verify(ctx context.Context, c *Client, clear string) (bool, error) {
	var id, stored string
	if c != nil {
		id, stored = c.ID, c.Secret
	}
	hasPepper := len(cs.options.Pepper) > 0
	if strings.HasPrefix(stored, peppered) || stored == "" && hasPepper { // the fast hash
		digest := cs.pepper(clear)
		matches := subtle.ConstantTimeCompare([]byte(digest), []byte(stored)) == 1
		return matches && hasPepper, nil // without a pepper no secret matches
	}
	sum := cs.proven.sum(id, stored, clear)
	if stored != "" && cs.proven.verified(id, sum) {
		return true, nil
	}
	ok, err := cs.options.Hasher.Verify(ctx, stored, clear)
	if err != nil || !ok {
		return false, err
	}
	if isCurrent := !hasPepper && !password.Imported(stored); isCurrent {
		cs.proven.add(id, sum)
		return true, nil
	}
	current, err := cs.hashed(ctx, clear)
	if err != nil {
		return false, err
	}
	err = cs.Change(ctx, topic, id, func(conn store.Conn) error {
		_, err := conn.Exec("UPDATE authserver_clients SET secret = ? WHERE id = ? AND secret = ?", current, id, stored)
		return err
	})
	return true, err
}

// provenFor is how long a secret that was verified with the slow hash is remembered. maxProven is the maximum number of
// remembered secrets.
const (
	provenFor = 5 * time.Minute
	maxProven = 50_000
)

// proven remembers one verified secret of each client, as a digest under a key of this process. It saves the slow hash
// for the next request.
type proven struct {
	key []byte
	now func() time.Time

	mu  sync.RWMutex            // protects all
	all map[string]provenSecret // by client_id
}

// provenSecret is a verified secret.
type provenSecret struct {
	sum   [sha256.Size]byte // see proven.sum
	until time.Time
}

// newProven returns an empty memory with a new key.
func newProven(now func() time.Time) *proven {
	p := &proven{key: make([]byte, 32), now: now, all: make(map[string]provenSecret)}
	_, _ = rand.Read(p.key) // never fails
	return p
}

// sum returns the digest of a secret in clear. The digest also covers the stored form of the secret, so that the
// digest no longer matches after a rotation.
func (p *proven) sum(id, stored, clear string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, p.key)
	for _, part := range [...]string{id, stored, clear} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Sum(sum[:0])
	return sum
}

// verified reports whether the secret with the digest sum was verified for the client less than provenFor ago.
func (p *proven) verified(id string, sum [sha256.Size]byte) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known, ok := p.all[id]
	return ok && hmac.Equal(known.sum[:], sum[:]) && p.now().Before(known.until)
}

// add records that the secret with the digest sum was verified for the client. If maxProven secrets are recorded
// already, add first forgets all of them.
func (p *proven) add(id string, sum [sha256.Size]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= maxProven {
		clear(p.all)
	}
	p.all[id] = provenSecret{sum, p.now().Add(provenFor)}
}

// drop forgets the secret of a client, or all secrets if id is empty.
func (p *proven) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		clear(p.all)
		return
	}
	delete(p.all, id)
}
