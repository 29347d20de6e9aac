package apiauth

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// accessTokenOf returns the access token of a request, or "" if no token was sent. sentAsDPoP reports whether it was
// sent with the scheme DPoP instead of Bearer.
func accessTokenOf(h http.Header) (token string, sentAsDPoP bool, err error) {
	values := h["Authorization"]
	if len(values) > 1 {
		return "", false, errSeveral
	}
	if len(values) == 1 {
		if scheme, text, _ := strings.Cut(strings.TrimSpace(values[0]), " "); strings.EqualFold(scheme, dpop.Header) {
			return strings.TrimSpace(text), true, nil
		}
	}
	token, err = bearer(h)
	return token, false, err
}

// boundKey returns the thumbprint of the key that the claim cnf names (RFC 9449 section 6.1), or "" if there is no such
// claim. It returns an error if the token is bound in another way.
func boundKey(cnf any) (key string, err error) {
	switch cnf := cnf.(type) {
	case nil:
		return "", nil
	case map[string]any:
		if key, _ = cnf["jkt"].(string); key != "" && len(cnf) == 1 {
			return key, nil
		}
	}
	return "", errConfirm
}

// checkProof checks that the token was sent in the way it requires. A token bound to key needs the scheme DPoP and a
// proof of the key for this request; a token with an empty key needs the scheme Bearer. sentAsDPoP means that the
// scheme was DPoP.
func (o *OAuth) checkProof(r *http.Request, token string, sentAsDPoP bool, key string) error {
	switch {
	case key == "" && !sentAsDPoP:
		return nil
	case key == "":
		return errUnbound
	case !sentAsDPoP:
		return errBound
	}
	proof, err := o.proofs.Verify(r.Context(), r.Header[http.CanonicalHeaderKey(dpop.Header)],
		dpop.Request{Method: r.Method, URL: o.resource.address(r), Token: token})
	if errors.Is(err, counters.ErrUnavailable) {
		return apierror.Unavailable("the check of proofs", err)
	}
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(proof.Thumbprint), []byte(key)) != 1 {
		return errOtherKey
	}
	return nil
}

// errOtherKey means that the proof was not made with the key that the token is bound to.
var errOtherKey = &dpop.Error{Reason: "key", Text: "the proof is signed with another key than the key that the token is bound to"}

// address returns the public URL of a request, with which a proof's htu must agree. It consists of the resource's
// origin and the path that the client sent, before any rewrite.
func (res *resource) address(r *http.Request) string {
	requested := r.URL
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		requested = original.URL
	}
	if res.origin != "" {
		return res.origin + requested.EscapedPath()
	}
	return origin.Of(edge.Request(r)) + requested.EscapedPath()
}

// originOf returns the origin of an http or https URL, or "" for any other audience.
func originOf(audience string) string {
	u, err := url.Parse(audience)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
