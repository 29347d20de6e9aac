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

// Transit has keys that never leave a key management server. The versions of one key are
// the keys; the latest signs. The public ones are written down in the database, so that
// tokens can be verified after a start at which that server does not answer.
type Transit struct {
	*kernel.Server
	Key *transit.Key
	// Name is that of the key among others in the database.
	Name string
	// Algorithm is what the key has to be for.
	Algorithm string

	mu       sync.Mutex
	loaded   time.Time // when the server has told the versions
	unloaded error     // why it did not, the last time
	unsigned error     // why it did not sign, the last time
	failures int       // in a row, of signing
	attempt  time.Time // the last while signing fails
	written  string    // what the database has, as far as is known
}

const (
	// refreshEvery is how often the versions are asked for.
	refreshEvery = time.Minute
	// maxFailures in a row are tried; then one attempt a second tells whether it is over.
	maxFailures = 3
	// retryAfter is what clients are told to wait.
	retryAfter = 5 * time.Second
)

// unavailable makes of an error of a key management server one that tells clients when to
// come again; others stay.
func unavailable(err error) error {
	if _, refused := errors.AsType[*transit.RefusedError](err); !refused && !errors.Is(err, transit.ErrUnavailable) {
		return err
	}
	return &apierror.Error{
		Status: 503, Code: kernel.Unavailable, Message: "tokens cannot be signed right now, try again shortly", RetryAfter: retryAfter, Cause: err,
	}
}

// algorithmOf is what a type of key signs with; empty: nothing that tokens have.
func algorithmOf(kind string) string {
	switch kind {
	case transit.ECDSAP256:
		return ES256
	case transit.RSA2048, "rsa-3072", "rsa-4096":
		return RS256
	}
	return ""
}

// Load implements Store. A server that does not answer has the versions that it told last.
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

func (t *Transit) stored(info transit.Info) []Stored {
	list := make([]Stored, len(info.Versions))
	for i, v := range info.Versions {
		verify := verifier(v.Public)
		list[i] = Stored{
			Name: t.Name + " " + strconv.Itoa(v.Number), Algorithm: algorithmOf(info.Type), CreatedAt: v.CreatedAt, Public: v.Public,
			Sign: func(ctx context.Context, digest []byte) ([]byte, error) { return t.sign(ctx, v, verify, digest) },
		}
	}
	return list
}

// errPaused is that of attempts that are not made while the server does not sign.
var errPaused = fmt.Errorf("%w: it has failed to sign a moment ago", transit.ErrUnavailable)

// errForged is that of an answer that nobody could verify, which is not handed out.
var errForged = fmt.Errorf("%w: what it has signed is not signed by the key", transit.ErrUnavailable)

func (t *Transit) sign(ctx context.Context, v transit.Version, verify func(sum, signature []byte) bool, digest []byte) ([]byte, error) {
	if !t.mayTry() {
		return nil, errPaused
	}
	signature, err := t.Key.Sign(ctx, v, digest)
	if err == nil && !verify(digest, signature) {
		signature, err = nil, errForged
	}
	if ctx.Err() != nil {
		return signature, err // who asked has left
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

// mayTry keeps requests from waiting one by one for a server that is down.
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

// probed is what is signed to see whether the server does so: the digest of no token.
var probed = sha256.Sum256([]byte("tollgate authserver"))

// probe finds out whether signing that has failed works again, so that nobody has to ask
// for a token for it.
func (t *Transit) probe(ctx context.Context, list []Stored) {
	t.mu.Lock()
	failing := t.unsigned != nil
	t.mu.Unlock()
	if failing && len(list) > 0 {
		_, _ = list[len(list)-1].Sign(ctx, probed[:]) // which notes how it went
	}
}

// health is why the server does not do its work; nil: it does.
func (t *Transit) health() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.unloaded, t.unsigned)
}

// due reports whether the versions are to be asked for.
func (t *Transit) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.unloaded != nil || t.unsigned != nil || t.Now().Sub(t.loaded) >= refreshEvery || t.Now().Before(t.loaded)
}

// Make implements Store. The time is the server's own.
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

// Remove implements Store: what is no longer of use is the server's to say, by its
// min_decryption_version.
func (*Transit) Remove(context.Context, string) error { return nil }

// known is what the database has of the versions.
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

// remember writes down what is not there yet. It is of use later at the earliest, so that
// it may fail now.
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

// remembered is what was written down, by this server and no other.
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
		info.Versions = append(info.Versions, transit.Version{Number: v.Number, Public: public, CreatedAt: time.UnixMicro(v.CreatedAt)})
	}
	return info, algorithmOf(info.Type) == t.Algorithm && len(info.Versions) > 0
}
