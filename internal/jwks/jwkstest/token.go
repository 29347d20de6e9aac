package jwkstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// NewRSA makes an RSA key.
func NewRSA(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
}

// NewEC makes an EC key.
func NewEC(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// Clock is a clock that stands still until Advance is called.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance advances the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// NewClock returns a clock that shows the current time in whole seconds.
func NewClock() *Clock { return &Clock{now: time.Now().Truncate(time.Second)} }

// Sign makes a token. header overrides parameters of the header; a nil value removes one.
func Sign(tb testing.TB, algorithm string, key any, header map[string]any, claims map[string]any) string {
	tb.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), jwt.MapClaims(claims))
	for name, value := range header {
		token.Header[name] = value
		if value == nil {
			delete(token.Header, name)
		}
	}
	text, err := token.SignedString(key)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// PEM encodes a public key in PEM.
func PEM(tb testing.TB, key any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
