// Package jwt signs JSON Web Tokens (RFC 7519), and verifies tokens of this gateway and of other issuers. It follows
// RFC 8725: each issuer has separate keys, algorithms and audiences, and a key is never used with another kind of
// algorithm.
package jwt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

const (
	maxToken = 16 << 10
	// maxTime is the end of the year 9999. Later times would overflow.
	maxTime = 253402300799
)

// Error is the reason why a token is refused. Its text may be sent in a header: it is ASCII without quotes and contains
// nothing from the token.
type Error = jwks.Error

// The reasons why a token is refused.
const (
	ErrLong       Error = "the token is longer than 16 KB"
	ErrMalformed  Error = "the token is malformed, it is not a signed JSON Web Token"
	ErrAlgorithm        = jwks.ErrAlgorithm
	ErrCritical   Error = "the token has critical header parameters, which are not supported"
	ErrType       Error = "the token is of a type that is not accepted here"
	ErrIssuer     Error = "the token is of an issuer that is not accepted here"
	ErrAudience   Error = "the token has the wrong audience, it was made for another service"
	ErrAudiences  Error = "the token has more than one audience, it must be made for this service alone"
	ErrNoExpiry   Error = "the token has no expiry time"
	ErrExpired    Error = "the token has expired"
	ErrTooEarly   Error = "the token is not yet valid"
	ErrSubject    Error = "the token has no valid user in the expected claim"
	ErrClaim      Error = "a claim that is required here is missing in the token or has another value"
	ErrUnknownKey       = jwks.ErrUnknownKey
	ErrNoKeyID          = jwks.ErrNoKeyID
	ErrSignature  Error = "the signature of the token is invalid"
)

// Verifier checks tokens of at most 16 KB.
type Verifier struct {
	Issuers []*Issuer

	// Types are the accepted values of the header parameter typ. An empty value accepts a token without typ.
	Types []string

	// Leeway is the tolerance for clocks that differ.
	Leeway time.Duration

	// ValidSubject reports whether a text is allowed as a subject.
	ValidSubject func(string) bool

	Now func() time.Time
}

// Issuer describes an accepted issuer and the rules for its tokens.
type Issuer struct {
	// Name is the required value of the claim iss. An empty name matches any token, even one without iss. The first
	// issuer that matches a token applies.
	Name string

	// Audiences are the accepted audiences: the claim aud must contain one. If Audiences is empty aud is not checked.
	Audiences []string

	// SoleAudience refuses tokens whose aud names more than one audience.
	SoleAudience bool

	// Algorithms are the accepted algorithms.
	Algorithms []string

	// Claims are required claims by name. The value of a claim must be one of the listed values, or a list that
	// contains one.
	Claims map[string][]string

	// SubjectClaim is the name of the claim with the subject, such as sub.
	SubjectClaim string

	// Keys finds the keys. It is called after all other checks except that of the signature.
	Keys jwks.Finder
}

// Token is a verified token.
type Token struct {
	Subject string
	Issuer  string
	Expires time.Time      // without the leeway
	Claims  map[string]any // all claims, as encoding/json decodes them
}

// parser decodes tokens. The claims are checked separately.
var parser = golang.NewParser(golang.WithoutClaimsValidation(), golang.WithStrictDecoding())

// Verify verifies a token. It checks the claims before the signature, so that a token that would be refused anyway
// costs neither a signature check nor a fetch of keys. The error is an Error, or the error of the jwks.Finder if that
// has no keys now.
func (v *Verifier) Verify(ctx context.Context, text string) (*Token, error) {
	if len(text) > maxToken {
		return nil, ErrLong
	}
	if strings.ContainsAny(text, "\r\n") { // base64 would ignore them
		return nil, ErrMalformed
	}
	claims := make(golang.MapClaims)
	var token *Token
	// The library calls this function to get the keys once it has parsed the token. The library wraps the errors of the
	// function.
	_, err := parser.ParseWithClaims(text, claims, func(parsed *golang.Token) (any, error) {
		if _, ok := parsed.Header["crit"]; ok { // RFC 7515, section 4.1.11; no extension is supported
			return nil, ErrCritical
		}
		if !v.accepts(parsed.Header["typ"]) {
			return nil, ErrType
		}
		var keys []any
		var err error
		if token, keys, err = v.check(ctx, parsed, claims); err != nil {
			return nil, err
		}
		set := golang.VerificationKeySet{Keys: make([]golang.VerificationKey, len(keys))}
		for i, key := range keys {
			set.Keys[i] = key
		}
		return set, nil
	})
	if err == nil {
		return token, nil
	}
	if reason, ok := errors.AsType[Error](err); ok {
		return nil, reason
	}
	if refusal, ok := apierror.From(err); ok {
		return nil, refusal
	}
	switch {
	case errors.Is(err, golang.ErrTokenSignatureInvalid):
		return nil, ErrSignature
	case errors.Is(err, golang.ErrTokenUnverifiable):
		return nil, ErrAlgorithm // absent, or unknown to the library
	default:
		return nil, ErrMalformed
	}
}

// Unverified returns a claim of a token without verifying the token. The claim may only be used to choose the keys for
// the verification. ok is false if the claim is missing, empty or not a text.
func Unverified(text, claim string) (value string, ok bool) {
	if len(text) > maxToken {
		return "", false
	}
	_, rest, _ := strings.Cut(text, ".")
	payload, _, ok := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	var claims map[string]json.RawMessage
	if !ok || err != nil || json.Unmarshal(raw, &claims) != nil || json.Unmarshal(claims[claim], &value) != nil {
		return "", false
	}
	return value, value != ""
}

// accepts reports whether the header parameter typ is one of v.Types, compared according to RFC 7515, section 4.1.9.
func (v *Verifier) accepts(typ any) bool {
	text, ok := typ.(string)
	if typ != nil && !ok {
		return false
	}
	const prefix = "application/"
	if len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		text = text[len(prefix):]
	}
	return slices.ContainsFunc(v.Types, func(t string) bool { return strings.EqualFold(t, text) })
}

// check checks the claims of a parsed token. It returns the Token and the keys that may have signed it.
func (v *Verifier) check(ctx context.Context, parsed *golang.Token, claims golang.MapClaims) (*Token, []any, error) {
	name, _ := claims["iss"].(string)
	index := slices.IndexFunc(v.Issuers, func(i *Issuer) bool { return i.Name == "" || i.Name == name })
	if index < 0 {
		return nil, nil, ErrIssuer
	}
	issuer, algorithm := v.Issuers[index], parsed.Method.Alg()
	if !slices.Contains(issuer.Algorithms, algorithm) {
		return nil, nil, ErrAlgorithm
	}
	if len(issuer.Audiences) > 0 && !oneOf(claims["aud"], issuer.Audiences) {
		return nil, nil, ErrAudience
	}
	if list, ok := claims["aud"].([]any); ok && issuer.SoleAudience && len(list) != 1 {
		return nil, nil, ErrAudiences
	}
	expires, err := v.checkTimes(claims)
	if err != nil {
		return nil, nil, err
	}
	for name, values := range issuer.Claims {
		if !oneOf(claims[name], values) {
			return nil, nil, ErrClaim
		}
	}
	subject, _ := claims[issuer.SubjectClaim].(string)
	if !v.ValidSubject(subject) {
		return nil, nil, ErrSubject
	}
	kid, ok := parsed.Header["kid"].(string)
	if !ok && parsed.Header["kid"] != nil {
		return nil, nil, ErrMalformed
	}
	keys, err := issuer.Keys.Find(ctx, kid, algorithm)
	return &Token{Subject: subject, Issuer: name, Expires: expires, Claims: claims}, keys, err
}

// checkTimes checks exp, which is required, nbf and iat, and returns exp. The library's own check comes after the
// signature and accepts times that overflow.
func (v *Verifier) checkTimes(claims golang.MapClaims) (expires time.Time, err error) {
	var times [3]float64 // exp, nbf and iat; a missing claim is 0, a time that is always in the past
	for i, name := range [3]string{"exp", "nbf", "iat"} {
		value, present := claims[name]
		if !present {
			continue
		}
		number, ok := value.(float64)
		if !ok || number < 0 || number > maxTime {
			return time.Time{}, ErrMalformed
		}
		times[i] = number
	}
	if _, ok := claims["exp"]; !ok {
		return time.Time{}, ErrNoExpiry
	}
	now := v.Now()
	if expires = seconds(times[0]); !now.Before(expires.Add(v.Leeway)) {
		return time.Time{}, ErrExpired
	}
	if latest := now.Add(v.Leeway); latest.Before(seconds(times[1])) || latest.Before(seconds(times[2])) {
		return time.Time{}, ErrTooEarly
	}
	return expires, nil
}

// seconds converts a NumericDate (RFC 7519, section 2). Fractions are dropped.
func seconds(number float64) time.Time { return time.Unix(int64(number), 0) }

// oneOf reports whether a claim is one of the values, or a list that contains one of them.
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
