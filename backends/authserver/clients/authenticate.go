package clients

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

// AssertionType is the client_assertion_type of private_key_jwt (RFC 7523 section 2.2).
const AssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const (
	// assertionLife is the maximum time from now to an assertion's expiry.
	assertionLife = time.Hour
	// maxSecret is the maximum length of a client_secret in a request, in bytes.
	maxSecret = 512
	// maxJTI is the maximum length of the jti of an assertion, in bytes.
	maxJTI = 256
)

// credentials are the parts of a request that authenticate its client.
type credentials struct {
	id        string // the client_id; empty if only an assertion names the client
	method    string // one of the authentication methods of clients
	secret    string // for MethodBasic and MethodPost
	assertion string // for MethodKey
}

// RefusedError is the reason why a client was not authenticated, for the log and the audit feed. The response to the
// client is only invalid_client.
type RefusedError struct {
	Client string // the client_id of the request; empty if it has none
	Method string // the authentication method, such as private_key_jwt; empty if it cannot be determined
	Reason string
}

// Error implements error. It returns the message that the client receives, without the reason.
func (e *RefusedError) Error() string { return errClient.Error() }

// Unwrap returns the error that the client receives.
func (e *RefusedError) Unwrap() error { return errClient }

var errClient = kernel.Refuse(kernel.InvalidClient, "client authentication failed")

// The reasons that several authentication methods share.
const (
	reasonUnknown   = "there is no such client"
	reasonInactive  = "the client is not active"
	reasonNoClient  = "the request names no client"
	reasonMalformed = "the credentials are malformed"
	reasonLong      = "the secret is too long"
)

// refuse returns the error for invalid credentials, with the reason for the log and the audit feed.
func (sent *credentials) refuse(reason string) error {
	return &RefusedError{Client: sent.id, Method: sent.method, Reason: reason}
}

// fault returns the reason why the client may not use the method of these credentials, or "". It does not check the
// credentials.
func (sent *credentials) fault(c *Client) string {
	switch {
	case c == nil:
		return reasonUnknown
	case !c.Active():
		return reasonInactive
	case c.AuthMethod != sent.method:
		return "the client is registered for the method " + c.AuthMethod
	}
	return ""
}

// Authenticate returns the client that sent a request, given the request's Authorization headers and form. If
// authentication fails, the error is a *RefusedError. Its message is always the same. If the request uses more than one
// method, the error is invalid_request.
func (cs *Clients) Authenticate(ctx context.Context, authorization []string, form kernel.Form) (*Client, error) {
	sent, err := readCredentials(authorization, form)
	if err != nil {
		return nil, err
	}
	if sent.method == MethodKey {
		return cs.byAssertion(ctx, sent)
	}
	c, err := cs.claimedClient(ctx, sent.id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	fault := sent.fault(c)
	if sent.method != MethodNone {
		withSecret := c
		if fault != "" {
			withSecret = nil // verify takes as long without a client, so that the response time does not tell if a client exists
		}
		ok, err := cs.verify(ctx, withSecret, sent.secret)
		if err != nil {
			return nil, err
		}
		if fault == "" && !ok {
			fault = "the secret is wrong"
		}
	}
	if fault != "" {
		return nil, sent.refuse(fault)
	}
	return c, nil
}

// claimedClient returns the client that a request claims to come from. Unlike Current it returns ErrUnknown if the
// client's metadata document is invalid or not available.
func (cs *Clients) claimedClient(ctx context.Context, id string) (*Client, error) {
	c, err := cs.Current(ctx, id)
	if refusal, ok := apierror.From(err); ok && refusal.Code == kernel.InvalidClient {
		return nil, ErrUnknown
	}
	return c, err
}

// readCredentials returns the authentication method and the credentials of a request. It does not verify them.
func readCredentials(authorization []string, form kernel.Form) (creds credentials, err error) {
	id, secret := form.Get("client_id"), form.Get("client_secret")
	assertion, assertionType := form.Get("client_assertion"), form.Get("client_assertion_type")
	hasAssertion := assertion != "" || assertionType != ""
	methods := 0
	for _, used := range [...]bool{len(authorization) > 0, secret != "", hasAssertion} {
		if used {
			methods++
		}
	}
	if methods > 1 || len(authorization) > 1 {
		return creds, kernel.Refuse(kernel.InvalidRequest, "the client must use only one authentication method")
	}
	switch {
	case len(authorization) == 1:
		basicID, basicSecret, ok := parseBasic(authorization[0])
		if !ok {
			creds = credentials{id: id, method: MethodBasic}
			return creds, creds.refuse(reasonMalformed)
		}
		if id != "" && id != basicID {
			return creds, kernel.Refuse(kernel.InvalidRequest, "client_id differs from the one in the Authorization header")
		}
		return credentials{id: basicID, method: MethodBasic, secret: basicSecret}, nil
	case hasAssertion:
		if assertionType != AssertionType || assertion == "" {
			return creds, kernel.Refuse(kernel.InvalidRequest,
				"client_assertion and the client_assertion_type %s must be sent together", AssertionType)
		}
		return credentials{id: id, method: MethodKey, assertion: assertion}, nil
	case id == "":
		return creds, creds.refuse(reasonNoClient)
	case secret != "":
		creds = credentials{id: id, method: MethodPost, secret: secret}
		if len(secret) > maxSecret {
			return creds, creds.refuse(reasonLong)
		}
		return creds, nil
	}
	return credentials{id: id, method: MethodNone}, nil
}

// parseBasic parses an Authorization header of the scheme Basic. It decodes the id and the secret, which are
// form-encoded (RFC 6749 section 2.3.1). If the header is malformed, ok is false.
func parseBasic(header string) (id, secret string, ok bool) {
	const scheme = "Basic "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) || len(header) > 2*(maxID+maxSecret) {
		return "", "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(header[len(scheme):]))
	if err != nil {
		return "", "", false
	}
	id, secret, ok = strings.Cut(string(raw), ":")
	if !ok {
		return "", "", false
	}
	for _, part := range [...]*string{&id, &secret} {
		if strings.ContainsAny(*part, "%+") {
			if *part, err = url.QueryUnescape(*part); err != nil {
				return "", "", false
			}
		}
	}
	return id, secret, id != "" && len(secret) <= maxSecret && strings.IndexByte(id, 0) < 0
}

// byAssertion authenticates a client by private_key_jwt (RFC 7523 section 3). The assertion must be signed by a key of
// the client, name this server as its audience, expire within assertionLife, and be used for the first time.
func (cs *Clients) byAssertion(ctx context.Context, creds credentials) (*Client, error) {
	id, ok := jwt.Unverified(creds.assertion, "sub")
	if !ok || len(id) > maxID || strings.IndexByte(id, 0) >= 0 {
		return nil, creds.refuse("the assertion is malformed, or its sub names no client")
	}
	if creds.id != "" && creds.id != id {
		return nil, creds.refuse("the sub of the assertion is not the client_id of the request")
	}
	creds.id = id
	c, err := cs.claimedClient(ctx, id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	if fault := creds.fault(c); fault != "" {
		return nil, creds.refuse(fault)
	}
	set, err := cs.keysOf(c)
	if err != nil {
		return nil, creds.refuse("the client has no usable keys: " + err.Error())
	}
	now := cs.Now()
	verifier := jwt.Verifier{
		Issuers: []*jwt.Issuer{{
			Name: id, Audiences: append([]string{cs.Issuer}, cs.options.Endpoints...), SoleAudience: true,
			Algorithms: AssertionAlgorithms, SubjectClaim: "sub", Keys: set,
		}},
		Types: []string{"", "JWT", "client-authentication+jwt"}, Leeway: kernel.Skew, Now: cs.Now,
		ValidSubject: func(s string) bool { return s == id },
	}
	token, err := verifier.Verify(ctx, creds.assertion)
	if err != nil {
		if invalid, ok := errors.AsType[jwt.Error](err); ok {
			return nil, creds.refuse("the assertion: " + invalid.Error())
		}
		return nil, err
	}
	jti, _ := token.Claims["jti"].(string)
	switch {
	case !now.Before(token.Expires): // Verify allows a leeway, but Skew must not extend the life of an assertion
		return nil, creds.refuse("the assertion has expired")
	case token.Expires.After(now.Add(assertionLife + kernel.Skew)):
		return nil, creds.refuse("the assertion expires more than an hour from now")
	case jti == "" || len(jti) > maxJTI:
		return nil, creds.refuse(fmt.Sprintf("the assertion has no jti of 1 to %d characters", maxJTI))
	}
	first, err := cs.Counters.SetNX(ctx, "authserver:assertion:"+digest(id, jti), token.Expires.Sub(now)+time.Second)
	if err != nil {
		return nil, err
	}
	if !first {
		return nil, creds.refuse("the jti of the assertion was used before")
	}
	return c, nil
}

// keysOf returns the public keys of a client, from its registration or from its jwks_uri.
func (cs *Clients) keysOf(c *Client) (jwks.Finder, error) {
	if uri := c.Metadata.JWKSURI; uri != "" {
		return published{cs.remotes, uri}, nil
	}
	return jwks.ParseSet(c.Metadata.JWKS)
}

// AssertionAlgorithms are the signature algorithms accepted for clients' assertions.
var AssertionAlgorithms = []string{"ES256", "RS256", "PS256"}
