package apiauth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

const (
	maxToken = 16 << 10
	// maxClaim bounds a claim that becomes a placeholder, in bytes.
	maxClaim = 1 << 10
	// verifiedTTL is how long a signature is not checked again.
	verifiedTTL = time.Minute
	// verifiedBytes bounds what is remembered of verified tokens.
	verifiedBytes = 16 << 20
	// maxTime is the end of the year 9999; later times would overflow.
	maxTime = 253402300799
)

// tokenError is what is wrong with a token, in words that may be sent in a header.
type tokenError = jwks.Error

const (
	errSeveral    tokenError = "more than one Authorization header was sent"
	errLong       tokenError = "the token is longer than 16 KB"
	errMalformed  tokenError = "the token is malformed, it is not a signed JSON Web Token"
	errAlgorithm             = jwks.ErrAlgorithm
	errCritical   tokenError = "the token has critical header parameters, which are not supported"
	errType       tokenError = "the token is of a type that is not accepted here"
	errIssuer     tokenError = "the token is of an issuer that is not accepted here"
	errAudience   tokenError = "the token has the wrong audience, it was made for another service"
	errNoExpiry   tokenError = "the token has no expiry time"
	errExpired    tokenError = "the token has expired"
	errTooEarly   tokenError = "the token is not yet valid"
	errUser       tokenError = "the token names no user in the expected claim"
	errClaim      tokenError = "a claim that is required here is missing in the token or has another value"
	errUnknownKey            = jwks.ErrUnknownKey
	errNoKeyID               = jwks.ErrNoKeyID
	errSignature  tokenError = "the signature of the token is not good"
)

// verified is a token that passed.
type verified struct {
	sum     [sha256.Size]byte
	until   time.Time
	user    caddyauth.User
	subject *User
}

// tokenCache remembers verified tokens by the start of their SHA-256. A request
// may outlive its configuration, and the library's cache must not be used while
// it is closed or later: hence the lock.
type tokenCache struct {
	mu    sync.RWMutex
	cache *ristretto.Cache[uint64, *verified] // nil: closed
}

func newTokenCache() (*tokenCache, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *verified]{
		NumCounters: 200_000, MaxCost: verifiedBytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, fmt.Errorf("making the token cache: %w", err)
	}
	return &tokenCache{cache: cache}, nil
}

func (c *tokenCache) get(slot uint64) (*verified, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache == nil {
		return nil, false
	}
	return c.cache.Get(slot)
}

func (c *tokenCache) set(slot uint64, v *verified, ttl time.Duration) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.cache != nil {
		c.cache.SetWithTTL(slot, v, v.size(), ttl)
	}
}

func (c *tokenCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache != nil {
		c.cache.Close()
		c.cache = nil
	}
}

// verified checks a token, or remembers that it was good a moment ago.
func (u *UserJWT) verified(ctx context.Context, text string) (*verified, error) {
	if len(text) > maxToken {
		return nil, errLong
	}
	if strings.ContainsAny(text, "\r\n") { // which base64 would pass over
		return nil, errMalformed
	}
	sum := sha256.Sum256([]byte(text))
	slot, now := binary.BigEndian.Uint64(sum[:]), u.now()
	if v, ok := u.cache.get(slot); ok && v.sum == sum && now.Before(v.until) {
		return v, nil
	}
	v, err := u.verify(ctx, text)
	if err != nil {
		return nil, err
	}
	v.sum, v.until = sum, now.Add(verifiedTTL)
	if v.subject.Expires.Before(v.until) {
		v.until = v.subject.Expires
	}
	if ttl := v.until.Sub(now); ttl > 0 { // else it lives in its leeway
		u.cache.set(slot, v, ttl)
	}
	return v, nil
}

// size is about how much memory v takes.
func (v *verified) size() int64 {
	size := int64(400)
	for name, value := range v.user.Metadata {
		size += int64(len(name) + len(value) + 64)
	}
	return size
}

// tokenParser decodes tokens; what they claim is checked by claimCheck.
var tokenParser = jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding())

// verify checks a token. The claims come before the signature: a token that
// would not pass anyway costs neither a signature check nor a fetch of keys.
func (u *UserJWT) verify(ctx context.Context, text string) (*verified, error) {
	claims := make(jwt.MapClaims)
	var v *verified
	_, err := tokenParser.ParseWithClaims(text, claims, func(token *jwt.Token) (any, error) {
		if _, ok := token.Header["crit"]; ok { // RFC 7515, 4.1.11; we know no extension
			return nil, errCritical
		}
		if !u.typeAccepted(token.Header["typ"]) {
			return nil, errType
		}
		var keys []any
		var err error
		if issuer, _ := claims["iss"].(string); u.local != nil && issuer == UserTokenIssuer {
			v, keys, err = u.verifyLocal(token.Method.Alg(), claims)
		} else {
			v, keys, err = u.verifyExternal(ctx, token, claims)
		}
		if err != nil {
			return nil, err
		}
		set := jwt.VerificationKeySet{Keys: make([]jwt.VerificationKey, len(keys))}
		for i, key := range keys {
			set.Keys[i] = key
		}
		return set, nil
	})
	if err == nil {
		return v, nil
	}
	if bad, ok := errors.AsType[tokenError](err); ok {
		return nil, bad
	}
	if refusal, ok := apierror.From(err); ok {
		return nil, refusal
	}
	switch {
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return nil, errSignature
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return nil, errAlgorithm // absent, or one that the library does not know
	default:
		return nil, errMalformed
	}
}

// typeAccepted compares the header typ as RFC 7515, 4.1.9 says.
func (u *UserJWT) typeAccepted(header any) bool {
	text, ok := header.(string)
	if header != nil && !ok {
		return false
	}
	const prefix = "application/"
	if len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		text = text[len(prefix):]
	}
	return slices.ContainsFunc(u.Types, func(t string) bool { return strings.EqualFold(t, text) })
}

// verifyLocal checks the claims of a token that Tollgate signed.
func (u *UserJWT) verifyLocal(algorithm string, claims jwt.MapClaims) (*verified, []any, error) {
	if algorithm != "HS256" {
		return nil, nil, errAlgorithm
	}
	expires, err := u.times(claims)
	if err != nil {
		return nil, nil, err
	}
	v, err := newVerified(claims, "sub", expires)
	if err != nil {
		return nil, nil, err
	}
	local, err := u.local()
	if err != nil {
		return nil, nil, err
	}
	keys := make([]any, len(local))
	for i, key := range local {
		keys[i] = key
	}
	return v, keys, nil
}

// verifyExternal checks the claims of the identity provider's token and finds the
// keys that may have signed it.
func (u *UserJWT) verifyExternal(ctx context.Context, token *jwt.Token, claims jwt.MapClaims) (*verified, []any, error) {
	algorithm := token.Method.Alg()
	if u.keys == nil {
		return nil, nil, errIssuer
	}
	if !slices.Contains(u.Algorithms, algorithm) {
		return nil, nil, errAlgorithm
	}
	if issuer, ok := claims["iss"].(string); u.Issuer != "" && (!ok || issuer != u.Issuer) {
		return nil, nil, errIssuer
	}
	if !oneOf(claims["aud"], u.Audiences) {
		return nil, nil, errAudience
	}
	expires, err := u.times(claims)
	if err != nil {
		return nil, nil, err
	}
	for name, values := range u.RequiredClaims {
		if !oneOf(claims[name], values) {
			return nil, nil, errClaim
		}
	}
	v, err := newVerified(claims, u.UserClaim, expires)
	if err != nil {
		return nil, nil, err
	}
	kid, ok := token.Header["kid"].(string)
	if !ok && token.Header["kid"] != nil {
		return nil, nil, errMalformed
	}
	keys, err := u.keys.Find(ctx, kid, algorithm)
	return v, keys, err
}

// times checks exp, which is required, nbf and iat.
func (u *UserJWT) times(claims jwt.MapClaims) (expires time.Time, err error) {
	var at [3]float64
	for i, name := range [3]string{"exp", "nbf", "iat"} {
		value, given := claims[name]
		if !given {
			continue
		}
		number, ok := value.(float64)
		if !ok || number < 0 || number > maxTime {
			return time.Time{}, errMalformed
		}
		at[i] = number
	}
	if _, ok := claims["exp"]; !ok {
		return time.Time{}, errNoExpiry
	}
	now, leeway := u.now(), time.Duration(u.Leeway)
	if expires = seconds(at[0]); !now.Before(expires.Add(leeway)) {
		return time.Time{}, errExpired
	}
	if early := now.Add(leeway); early.Before(seconds(at[1])) || early.Before(seconds(at[2])) {
		return time.Time{}, errTooEarly
	}
	return expires, nil
}

// seconds is a NumericDate (RFC 7519, 2); fractions are cut off.
func seconds(number float64) time.Time { return time.Unix(int64(number), 0) }

// oneOf reports whether a claim is one of the values, or a list that has one.
func oneOf(claim any, values []string) bool {
	switch claim := claim.(type) {
	case string:
		return slices.Contains(values, claim)
	case []any:
		return slices.ContainsFunc(claim, func(member any) bool {
			text, ok := member.(string)
			return ok && slices.Contains(values, text)
		})
	}
	return false
}

// newVerified is what the claims say of the user.
func newVerified(claims jwt.MapClaims, userClaim string, expires time.Time) (*verified, error) {
	id, _ := claims[userClaim].(string)
	if !ValidUserID(id) {
		return nil, errUser
	}
	issuer, _ := claims["iss"].(string)
	v := &verified{
		user:    caddyauth.User{ID: id, Metadata: map[string]string{"issuer": issuer}},
		subject: &User{ID: id, Issuer: issuer, Expires: expires},
	}
	for name, value := range claims {
		if text, ok := value.(string); ok && len(text) <= maxClaim && utf8.ValidString(text) {
			v.user.Metadata["claim."+name] = text
		}
	}
	return v, nil
}
