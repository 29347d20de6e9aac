// Package dpop verifies proofs of possession (RFC 9449): a client signs each request with its private key, so that a
// token that is bound to the key is useless to a thief.
package dpop

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// Header is the request header with a proof.
const Header = "DPoP"

// Algorithms are the algorithms accepted in the signatures of proofs.
var Algorithms = []string{"ES256", "RS256", "PS256"}

const (
	// maxProof limits the size of a proof, in bytes. A proof with an RSA key of 8192 bits has about 3500 bytes.
	maxProof = 8 << 10
	maxID    = 256
	// maxTime is the end of the year 9999.
	maxTime = 253402300799
)

// Error is the reason why a proof is refused. Its text may be sent in a header.
type Error struct {
	Reason string // for a metric
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// The reasons why a proof is refused.
var (
	ErrMany      = &Error{"malformed", "there must be exactly one proof"}
	ErrMalformed = &Error{"malformed", "the proof is not a signed JSON Web Token as RFC 9449 requires"}
	ErrType      = &Error{"type", "the typ of the proof is not dpop+jwt"}
	ErrAlgorithm = &Error{"algorithm", "the proof is signed with an algorithm that is not accepted"}
	ErrKey       = &Error{"key", "the jwk of the proof is not a public key that is accepted"}
	ErrSignature = &Error{"signature", "the signature of the proof is invalid"}
	ErrID        = &Error{"jti", "the jti of the proof must have 1 to 256 characters"}
	ErrMethod    = &Error{"htm", "the proof is for another method"}
	ErrURL       = &Error{"htu", "the proof is for another address"}
	ErrTime      = &Error{"iat", "the iat of the proof is too far from now"}
	ErrToken     = &Error{"ath", "the proof is not for this access token"}
	ErrReplay    = &Error{"replay", "the proof was used before"}
	// ErrNonce asks the client to try again with a nonce that Nonces has issued.
	ErrNonce = &Error{"nonce", "the proof needs a new nonce of this server"}
)

// Verifier verifies proofs.
type Verifier struct {
	// Lifetime is how far the iat of a proof may be from now, in either direction.
	Lifetime time.Duration
	// Nonces are the nonces of this server. A nonce in a proof must be valid. If Nonces.Life is zero, this server issues
	// no nonces, and it ignores a nonce in a proof, because that nonce is from another server.
	Nonces Nonces
	// RequireNonce refuses proofs without a nonce.
	RequireNonce bool
	// Replays records which proofs were used, so that none is used twice. All nodes should share it.
	Replays counters.Store
	// Prefix begins the keys in Replays.
	Prefix string
	// Now returns the time. Required.
	Now func() time.Time
}

// Request describes the request for which a proof must have been made.
type Request struct {
	Method string
	URL    string // the public URL, absolute; query and fragment are ignored
	Token  string // the access token of the request, or empty
}

// Proof is a verified proof.
type Proof struct {
	Thumbprint string // of the key (RFC 7638)
	Renew      bool   // half of the nonce's life is over, so the server should send a new nonce
}

// claims are the claims of a proof (RFC 9449, section 4.2).
type claims struct {
	ID     string   `json:"jti"`
	Method string   `json:"htm"`
	URL    string   `json:"htu"`
	Issued *float64 `json:"iat"`
	Token  string   `json:"ath"`
	Nonce  *string  `json:"nonce"`

	golang.MapClaims `json:"-"` // the parser requires the methods but never calls them
}

// parser decodes proofs. Their claims are checked separately.
var parser = golang.NewParser(golang.WithoutClaimsValidation(), golang.WithStrictDecoding())

// Verify verifies the proof of the request r (RFC 9449, section 4.3) and records that it was used, because a proof can
// be used only once. header has the values of the request's DPoP header. The error is an *Error, or an error of
// Replays.
func (v *Verifier) Verify(ctx context.Context, header []string, r Request) (*Proof, error) {
	if len(header) != 1 {
		return nil, ErrMany
	}
	c, proof, err := parse(header[0])
	if err != nil {
		return nil, err
	}
	if n := len(c.ID); n == 0 || n > maxID {
		return nil, ErrID
	}
	if c.Method != r.Method {
		return nil, ErrMethod
	}
	claimed, ok := Normalize(c.URL)
	if requested, valid := Normalize(r.URL); !ok || !valid || claimed != requested {
		return nil, ErrURL
	}
	now := v.Now()
	if c.Issued == nil || math.Abs(*c.Issued) > maxTime ||
		now.Sub(time.UnixMicro(int64(*c.Issued*1e6))).Abs() > v.Lifetime {
		return nil, ErrTime
	}
	if r.Token != "" && c.Token != Hash(r.Token) {
		return nil, ErrToken
	}
	if c.Nonce != nil && v.Nonces.Life > 0 {
		if proof.Renew, ok = v.Nonces.check(*c.Nonce, now); !ok {
			return nil, ErrNonce
		}
	} else if v.RequireNonce {
		return nil, ErrNonce
	}
	// The iat of a proof may be up to one lifetime ahead of now, so a proof may be valid for two lifetimes from now on.
	// The additional second covers the last instant.
	firstUse, err := v.Replays.SetNX(ctx, v.Prefix+Hash(proof.Thumbprint+"\n"+claimed+"\n"+c.ID), 2*v.Lifetime+time.Second)
	if err != nil {
		return nil, err
	}
	if !firstUse {
		return nil, ErrReplay
	}
	return proof, nil
}

// Hash returns the SHA-256 of a token in base64url. A proof for the token has it as the claim ath.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// parse parses a proof and verifies its signature with the key in its header.
func parse(text string) (*claims, *Proof, error) {
	if len(text) > maxProof || strings.ContainsAny(text, "\r\n") { // base64 would ignore them
		return nil, nil, ErrMalformed
	}
	c, proof := new(claims), new(Proof)
	// The library calls this function to get the key once it has parsed the proof. The library wraps the errors of the
	// function.
	_, err := parser.ParseWithClaims(text, c, func(parsed *golang.Token) (any, error) {
		if _, ok := parsed.Header["crit"]; ok { // RFC 7515, section 4.1.11; no extension is supported
			return nil, ErrMalformed
		}
		if parsed.Header["typ"] != "dpop+jwt" {
			return nil, ErrType
		}
		algorithm := parsed.Method.Alg()
		if !slices.Contains(Algorithms, algorithm) {
			return nil, ErrAlgorithm
		}
		raw, err := json.Marshal(parsed.Header["jwk"])
		if err != nil {
			return nil, ErrKey
		}
		key, err := jwks.ParsePublic(raw)
		if err != nil {
			return nil, ErrKey
		}
		if _, err := (jwks.Fixed{{Key: key}}).Find(context.Background(), "", algorithm); err != nil {
			return nil, ErrKey // the key does not fit the algorithm
		}
		if proof.Thumbprint, err = jwks.Thumbprint(key); err != nil {
			return nil, ErrKey
		}
		return key, nil
	})
	if reason, ok := errors.AsType[*Error](err); ok {
		return nil, nil, reason
	}
	switch {
	case err == nil:
		return c, proof, nil
	case errors.Is(err, golang.ErrTokenSignatureInvalid):
		return nil, nil, ErrSignature
	case errors.Is(err, golang.ErrTokenUnverifiable):
		return nil, nil, ErrAlgorithm // absent, or unknown to the library
	}
	return nil, nil, ErrMalformed
}
