package keys

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// Transit signs with a key that never leaves a key management server. Each version of that key is a signing key, and
// the latest version signs. The public keys are stored in the database, so that tokens can be verified after a start
// even if the server does not answer.
type Transit struct {
	*kernel.Server
	Key *transit.Key
	// Name identifies the key in the database.
	Name string
	// Algorithm is the algorithm that the key must support.
	Algorithm string

	mu           sync.Mutex // protects the following fields; not held during requests
	loaded       time.Time  // when the versions were last loaded
	loadErr      error      // the error of the last attempt to load them
	signErr      error      // the error of the last attempt to sign
	signFailures int        // consecutive failures to sign
	attempt      time.Time  // the last attempt while signing fails
	writtenText  string     // the text that remember last wrote to the database, or ""
}

const (
	// refreshEvery is the interval at which the versions are loaded.
	refreshEvery = time.Minute
	// maxFailures is the number of consecutive failures after which signing is attempted only once a second.
	maxFailures = 3
	// retryAfter is the value of Retry-After in responses to clients.
	retryAfter = 5 * time.Second
)

// unavailable turns the failure of a key management server into an error with status 503 and the header Retry-After. It
// returns other errors unchanged.
func unavailable(err error) error {
	if _, refused := errors.AsType[*transit.RefusedError](err); !refused && !errors.Is(err, transit.ErrUnavailable) {
		return err
	}
	return &apierror.Error{
		Status: http.StatusServiceUnavailable, Code: kernel.Unavailable, Message: "tokens cannot be signed right now, try again shortly",
		RetryAfter: retryAfter, Cause: err,
	}
}

// algorithmOf returns the signing algorithm for a key type of the server, or "" if keys of that type cannot sign
// tokens.
func algorithmOf(kind string) string {
	switch kind {
	case transit.ECDSAP256:
		return ES256
	case transit.RSA2048, "rsa-3072", "rsa-4096":
		return RS256
	}
	return ""
}

// Load implements Store. If the server does not answer, it returns the versions that were stored in the database.
func (t *Transit) Load(ctx context.Context) ([]Stored, error) {
	info, err := t.Key.Info(ctx)
	if transit.Missing(err) { // Make creates the key
		return nil, nil
	}
	if ctx.Err() == nil { // otherwise err says nothing about the server
		t.mu.Lock()
		if t.loadErr = err; err == nil {
			t.loaded = t.Now()
		}
		t.mu.Unlock()
	}
	if errors.Is(err, transit.ErrUnavailable) {
		if fromDatabase, found := t.remembered(ctx); found {
			return t.stored(fromDatabase), nil
		}
	}
	if err != nil {
		return nil, err
	}
	if algorithm := algorithmOf(info.Type); algorithm != t.Algorithm {
		return nil, fmt.Errorf("the key %s has the type %s, which does not fit signing.algorithm %s: set signing.kms_transit.key_name to a key of another type",
			t.Name, info.Type, t.Algorithm)
	}
	t.remember(ctx, info)
	list := t.stored(info)
	t.probe(ctx, list)
	return list, nil
}

// stored returns the versions of the key as keys of a Store.
func (t *Transit) stored(info transit.Info) []Stored {
	list := make([]Stored, len(info.Versions))
	for i, v := range info.Versions {
		verify := verifier(v.Public)
		list[i] = Stored{
			Name: t.Name + " " + strconv.Itoa(v.Number), Algorithm: algorithmOf(info.Type), CreatedAt: v.CreatedAt,
			Public: v.Public,
			Sign:   func(ctx context.Context, digest []byte) ([]byte, error) { return t.sign(ctx, v, verify, digest) },
		}
	}
	return list
}

// errPaused is the error for signatures that are not attempted, because the last attempts failed.
var errPaused = fmt.Errorf("%w: it failed to sign less than a second ago", transit.ErrUnavailable)

// errForged is the error for a signature of the server that does not verify. Such a signature is never used.
var errForged = fmt.Errorf("%w: its signature does not match the public key", transit.ErrUnavailable)

// sign asks the key management server to sign a digest with a version of the key, and verifies the signature. It counts
// consecutive failures. After too many it makes no request for a while and returns errPaused.
func (t *Transit) sign(
	ctx context.Context, v transit.Version, verify func(sum, signature []byte) bool, digest []byte,
) ([]byte, error) {
	if !t.mayTry() {
		return nil, errPaused
	}
	signature, err := t.Key.Sign(ctx, v, digest)
	if err == nil && !verify(digest, signature) {
		signature, err = nil, errForged
	}
	if ctx.Err() != nil {
		return signature, err // the caller has canceled the request, so that err says nothing about the server
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.signErr = err; err == nil {
		t.signFailures = 0
	} else {
		t.signFailures++
	}
	return signature, err
}

// mayTry reports whether to attempt a signature. While the server is down, most requests must fail at once instead of
// waiting for it one after another.
func (t *Transit) mayTry() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.signFailures < maxFailures {
		return true
	}
	now := t.Now()
	if now.Sub(t.attempt) < time.Second && !now.Before(t.attempt) {
		return false
	}
	t.attempt = now
	return true
}

// probeDigest is the digest whose signature is requested to check the server. No token has this digest.
var probeDigest = sha256.Sum256([]byte("tollgate authserver"))

// probe attempts a signature if the last attempts failed, so that recovery is noticed without a token request.
func (t *Transit) probe(ctx context.Context, list []Stored) {
	t.mu.Lock()
	failing := t.signErr != nil
	t.mu.Unlock()
	if failing && len(list) > 0 {
		_, _ = list[len(list)-1].Sign(ctx, probeDigest[:]) // Sign records the result
	}
}

// health returns the error of the server's last failure, or nil while it works.
func (t *Transit) health() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.loadErr, t.signErr)
}

// due reports whether to load the versions now: after a failure, or if they were loaded too long ago.
func (t *Transit) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loadErr != nil || t.signErr != nil || t.Now().Sub(t.loaded) >= refreshEvery || t.Now().Before(t.loaded)
}

// Make implements Store. The server sets the creation time.
func (t *Transit) Make(ctx context.Context, algorithm string, _ time.Time, first bool) error {
	if first {
		kind := transit.ECDSAP256
		if algorithm == RS256 {
			kind = transit.RSA2048
		}
		return t.Key.Create(ctx, kind)
	}
	if err := t.Key.Rotate(ctx); err != nil {
		return err
	}
	return t.Write(ctx, func(c store.Conn) error { return c.Notify("authserver_"+topic, t.Name) })
}

// Remove implements Store. It does nothing: the server's setting min_decryption_version retires old versions.
func (*Transit) Remove(context.Context, string) error { return nil }

// storedVersions is the JSON form in which the key's versions are stored in the database.
type storedVersions struct {
	Type     string          `json:"type"`
	Latest   int             `json:"latest"`
	Versions []storedVersion `json:"versions"`
}

type storedVersion struct {
	Number    int    `json:"number"`
	Public    []byte `json:"public"` // PKIX
	CreatedAt int64  `json:"created_at"`
}

// remember stores the key's versions if they have changed. It ignores errors: the stored versions are only needed after
// the next start.
func (t *Transit) remember(ctx context.Context, info transit.Info) {
	list := storedVersions{Type: info.Type, Latest: info.Latest}
	for _, v := range info.Versions {
		public, err := x509.MarshalPKIXPublicKey(v.Public)
		if err != nil {
			return
		}
		list.Versions = append(list.Versions, storedVersion{v.Number, public, v.CreatedAt.UnixMicro()})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return
	}
	text := t.Signer("kms keys").Sign(raw, t.Name)
	t.mu.Lock()
	unchanged := t.writtenText == text
	t.mu.Unlock()
	if unchanged || t.DB.Ready() != nil {
		return
	}
	err = t.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_kms_keys (name, versions) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET versions = excluded.versions", t.Name, text)
		return err
	})
	if err == nil {
		t.mu.Lock()
		t.writtenText = text
		t.mu.Unlock()
	}
}

// remembered returns the key's versions that remember stored. The result found is false if there are no stored
// versions, or if this server did not sign them.
func (t *Transit) remembered(ctx context.Context) (info transit.Info, found bool) {
	var text string
	err := t.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT versions FROM authserver_kms_keys WHERE name = ?", t.Name).Scan(&text)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	raw, ok := t.Signer("kms keys").Open(text, t.Name)
	var list storedVersions
	if err != nil || !ok || json.Unmarshal(raw, &list) != nil {
		return info, false
	}
	info.Type, info.Latest = list.Type, list.Latest
	for _, v := range list.Versions {
		public, err := x509.ParsePKIXPublicKey(v.Public)
		if err != nil {
			return info, false
		}
		info.Versions = append(info.Versions,
			transit.Version{Number: v.Number, Public: public, CreatedAt: time.UnixMicro(v.CreatedAt)})
	}
	return info, algorithmOf(info.Type) == t.Algorithm && len(info.Versions) > 0
}
