package keys

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/transit"
)

// Transit uses a key that never leaves a key management server. Each version of that key is a signing key, and the
// latest one signs. The public keys are stored in the database, so that tokens can be verified even if the server does
// not answer after a start.
type Transit struct {
	*kernel.Server
	Key *transit.Key
	// Name identifies the key in the database.
	Name string
	// Algorithm is the algorithm that the key must support.
	Algorithm string

	mu       sync.Mutex
	loaded   time.Time // when the versions were last loaded
	unloaded error     // the error of the last attempt to load them
	unsigned error     // the error of the last attempt to sign
	failures int       // consecutive failures to sign
	attempt  time.Time // the last attempt while signing fails
	written  string    // what the database contains, as far as is known
}

const (
	// refreshEvery is how often the versions are loaded.
	refreshEvery = time.Minute
	// maxFailures is the number of consecutive failures after which signing is attempted only once a second.
	maxFailures = 3
	// retryAfter is how long clients are told to wait.
	retryAfter = 5 * time.Second
)

// unavailable turns an error of a key management server into a 503 that tells clients when to try again. Other errors
// are returned as they are.
func unavailable(err error) error {
	if _, refused := errors.AsType[*transit.RefusedError](err); !refused && !errors.Is(err, transit.ErrUnavailable) {
		return err
	}
	return &apierror.Error{
		Status: 503, Code: kernel.Unavailable, Message: "tokens cannot be signed right now, try again shortly",
		RetryAfter: retryAfter, Cause: err,
	}
}

// algorithmOf returns the algorithm of a type of key, or "" if tokens cannot be signed with it.
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
	if transit.Missing(err) {
		return nil, nil
	}
	if ctx.Err() == nil {
		t.mu.Lock()
		if t.unloaded = err; err == nil {
			t.loaded = t.Now()
		}
		t.mu.Unlock()
	}
	if errors.Is(err, transit.ErrUnavailable) {
		if known, found := t.remembered(ctx); found {
			return t.stored(known), nil
		}
	}
	if err != nil {
		return nil, err
	}
	if algorithm := algorithmOf(info.Type); algorithm != t.Algorithm {
		return nil, fmt.Errorf("the key %s is of the type %s, and signing.algorithm is %s: give signing.kms_transit.key_name the name of another key", t.Name, info.Type, t.Algorithm)
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

// errPaused is the error while signing is not attempted after failures.
var errPaused = fmt.Errorf("%w: it has failed to sign a moment ago", transit.ErrUnavailable)

// errForged is the error for a signature that does not verify, which is not passed on.
var errForged = fmt.Errorf("%w: what it has signed is not signed by the key", transit.ErrUnavailable)

// sign asks the key management server to sign a digest with a version of the key, and verifies the signature. It
// counts failures in a row, and returns errPaused without a request while requests are paused because of them.
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
		return signature, err // the caller has gone, which says nothing about the server
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsigned = err; err == nil {
		t.failures = 0
	} else {
		t.failures++
	}
	return signature, err
}

// mayTry reports whether to attempt to sign, so that requests do not wait one by one for a server that is down.
func (t *Transit) mayTry() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures < maxFailures {
		return true
	}
	now := t.Now()
	if now.Sub(t.attempt) < time.Second && !now.Before(t.attempt) {
		return false
	}
	t.attempt = now
	return true
}

// probed is the digest that is signed to check whether the server signs. No token has this digest.
var probed = sha256.Sum256([]byte("tollgate authserver"))

// probe tries to sign again if signing has failed, so that recovery is noticed without a request for a token.
func (t *Transit) probe(ctx context.Context, list []Stored) {
	t.mu.Lock()
	failing := t.unsigned != nil
	t.mu.Unlock()
	if failing && len(list) > 0 {
		_, _ = list[len(list)-1].Sign(ctx, probed[:]) // which records the result
	}
}

// health returns why the server does not work, or nil.
func (t *Transit) health() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.unloaded, t.unsigned)
}

// due reports whether the versions should be loaded.
func (t *Transit) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unloaded != nil || t.unsigned != nil || t.Now().Sub(t.loaded) >= refreshEvery || t.Now().Before(t.loaded)
}

// Make implements Store. The creation time is that of the server.
func (t *Transit) Make(ctx context.Context, algorithm string, _ time.Time, first bool) error {
	var err error
	if first {
		kind := transit.ECDSAP256
		if algorithm == RS256 {
			kind = transit.RSA2048
		}
		err = t.Key.Create(ctx, kind)
	} else {
		err = t.Key.Rotate(ctx)
	}
	if err != nil || first {
		return err
	}
	return t.Write(ctx, func(c store.Conn) error { return c.Notify("authserver_"+topic, t.Name) })
}

// Remove implements Store. It does nothing: old versions are retired by min_decryption_version of the server.
func (*Transit) Remove(context.Context, string) error { return nil }

// known is the form in which the versions of the key are stored in the database.
type known struct {
	Type     string         `json:"type"`
	Latest   int            `json:"latest"`
	Versions []knownVersion `json:"versions"`
}

type knownVersion struct {
	Number    int    `json:"number"`
	Public    []byte `json:"public"` // PKIX
	CreatedAt int64  `json:"created_at"`
}

// remember stores the versions if they have changed. It ignores errors, since they are needed after the next start at
// the earliest.
func (t *Transit) remember(ctx context.Context, info transit.Info) {
	k := known{Type: info.Type, Latest: info.Latest}
	for _, v := range info.Versions {
		public, err := x509.MarshalPKIXPublicKey(v.Public)
		if err != nil {
			return
		}
		k.Versions = append(k.Versions, knownVersion{v.Number, public, v.CreatedAt.UnixMicro()})
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return
	}
	text := t.Signer("kms keys").Sign(raw, t.Name)
	t.mu.Lock()
	same := t.written == text
	t.mu.Unlock()
	if same || t.DB.Ready() != nil {
		return
	}
	err = t.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_kms_keys (name, versions) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET versions = excluded.versions", t.Name, text)
		return err
	})
	if err == nil {
		t.mu.Lock()
		t.written = text
		t.mu.Unlock()
	}
}

// remembered returns the versions of the key that remember stored in the database. found is false if there are none, or
// if their signature is not that of this server.
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
	var k known
	if err != nil || !ok || json.Unmarshal(raw, &k) != nil {
		return info, false
	}
	info.Type, info.Latest = k.Type, k.Latest
	for _, v := range k.Versions {
		public, err := x509.ParsePKIXPublicKey(v.Public)
		if err != nil {
			return info, false
		}
		info.Versions = append(info.Versions,
			transit.Version{Number: v.Number, Public: public, CreatedAt: time.UnixMicro(v.CreatedAt)})
	}
	return info, algorithmOf(info.Type) == t.Algorithm && len(info.Versions) > 0
}
