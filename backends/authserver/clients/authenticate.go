package clients

import (
	"context"
	"encoding/base64"
	"errors"
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
	// assertionLife is how far ahead an assertion may expire.
	assertionLife = 5 * time.Minute
	// skew is for clocks that are ahead of ours.
	skew = 5 * time.Second
	// maxSecret bounds a secret that is sent, in bytes.
	maxSecret = 512
	maxJTI    = 256
)

// credentials are how a client says who it is.
type credentials struct {
	id, method, secret, assertion string
}

// Authenticate finds the client of a request, by the Authorization headers and the form.
// What is wrong with it is invalid_client, in the same words whatever it is, or
// invalid_request where there is more than one way at once.
func (cs *Clients) Authenticate(ctx context.Context, authorization []string, form kernel.Form) (*Client, error) {
	sent, err := read(authorization, form)
	if err != nil {
		return nil, err
	}
	if sent.method == MethodKey {
		return cs.byAssertion(ctx, sent)
	}
	c, err := cs.begin(ctx, sent.id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return nil, err
	}
	usable := c != nil && c.Active() && c.AuthMethod == sent.method
	if sent.method == MethodNone {
		if !usable {
			return nil, refuseClient()
		}
		return c, nil
	}
	if !usable {
		c = nil
	}
	ok, err := cs.verify(ctx, c, sent.secret)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, refuseClient()
	}
	return c, nil
}

// begin is Current, where a document that is not good is as none.
func (cs *Clients) begin(ctx context.Context, id string) (*Client, error) {
	c, err := cs.Current(ctx, id)
	if refusal, ok := apierror.From(err); ok && refusal.Code == kernel.InvalidClient {
		return nil, ErrUnknown
	}
	return c, err
}

func refuseClient() error {
	return kernel.Refuse(kernel.InvalidClient, "client authentication failed")
}

// read finds the one way in which a client authenticates.
func read(authorization []string, form kernel.Form) (sent credentials, err error) {
	id, clear, assertion := form.Get("client_id"), form.Get("client_secret"), form.Get("client_assertion")
	kind := form.Get("client_assertion_type")
	ways := 0
	for _, used := range [...]bool{len(authorization) > 0, clear != "", assertion != "" || kind != ""} {
		if used {
			ways++
		}
	}
	if ways > 1 || len(authorization) > 1 {
		return sent, kernel.Refuse(kernel.InvalidRequest, "the client must authenticate in one way")
	}
	switch {
	case len(authorization) == 1:
		named, secret, ok := parseBasic(authorization[0])
		if !ok {
			return sent, refuseClient()
		}
		if id != "" && id != named {
			return sent, kernel.Refuse(kernel.InvalidRequest, "client_id is not that of the Authorization header")
		}
		return credentials{id: named, method: MethodBasic, secret: secret}, nil
	case assertion != "" || kind != "":
		if kind != AssertionType || assertion == "" {
			return sent, kernel.Refuse(kernel.InvalidRequest, "client_assertion needs the client_assertion_type %s", AssertionType)
		}
		return credentials{id: id, method: MethodKey, assertion: assertion}, nil
	case id == "":
		return sent, refuseClient()
	case clear != "":
		if len(clear) > maxSecret {
			return sent, refuseClient()
		}
		return credentials{id: id, method: MethodPost, secret: clear}, nil
	}
	return credentials{id: id, method: MethodNone}, nil
}

// parseBasic reads an Authorization header whose halves are encoded as a form is (RFC
// 6749 section 2.3.1).
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
	for _, half := range [...]*string{&id, &secret} {
		if strings.ContainsAny(*half, "%+") {
			if *half, err = url.QueryUnescape(*half); err != nil {
				return "", "", false
			}
		}
	}
	return id, secret, id != "" && len(secret) <= maxSecret && strings.IndexByte(id, 0) < 0
}

// byAssertion checks a private_key_jwt (RFC 7523 section 3): signed by a key of the
// client, for this server, soon to expire, and not used before.
func (cs *Clients) byAssertion(ctx context.Context, sent credentials) (*Client, error) {
	id, ok := jwt.Unverified(sent.assertion, "sub")
	ok = ok && len(id) <= maxID && strings.IndexByte(id, 0) < 0
	if !ok || sent.id != "" && sent.id != id {
		return nil, refuseClient()
	}
	c, err := cs.begin(ctx, id)
	if errors.Is(err, ErrUnknown) {
		return nil, refuseClient()
	}
	if err != nil {
		return nil, err
	}
	if !c.Active() || c.AuthMethod != MethodKey {
		return nil, refuseClient()
	}
	set, err := cs.keysOf(c)
	if err != nil {
		return nil, refuseClient()
	}
	now := cs.Now()
	verifier := jwt.Verifier{
		Issuers: []*jwt.Issuer{{
			Name: id, Audiences: append([]string{cs.Issuer}, cs.options.Endpoints...), Algorithms: AssertionAlgorithms, SubjectClaim: "sub", Keys: set,
		}},
		Types: []string{"", "JWT", "client-authentication+jwt"}, Leeway: skew, Now: cs.Now, ValidSubject: func(s string) bool { return s == id },
	}
	token, err := verifier.Verify(ctx, sent.assertion)
	if err != nil {
		if _, bad := errors.AsType[jwt.Error](err); bad {
			return nil, refuseClient()
		}
		return nil, err
	}
	jti, _ := token.Claims["jti"].(string)
	if !now.Before(token.Expires) || token.Expires.After(now.Add(assertionLife)) || jti == "" || len(jti) > maxJTI {
		return nil, refuseClient()
	}
	first, err := cs.Counters.SetNX(ctx, "authserver:assertion:"+digest(id, jti), token.Expires.Sub(now)+time.Second)
	if err != nil {
		return nil, err
	}
	if !first {
		return nil, refuseClient()
	}
	return c, nil
}

// keysOf are the keys of a client: those that it was registered with, or publishes.
func (cs *Clients) keysOf(c *Client) (jwks.Finder, error) {
	if uri := c.Metadata.JWKSURI; uri != "" {
		return published{cs.remotes, uri}, nil
	}
	return jwks.ParseSet(c.Metadata.JWKS)
}

// AssertionAlgorithms may sign assertions.
var AssertionAlgorithms = []string{"ES256", "RS256", "PS256"}
