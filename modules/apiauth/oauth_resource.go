package apiauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/dpop"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// wellKnown is the path of a protected resource's metadata (RFC 9728 section 3).
const wellKnown = "/.well-known/oauth-protected-resource"

// resource is the public description of a protected service.
type resource struct {
	metadata string   // the URL of the document; empty if there is none
	paths    []string // the paths at which this handler serves the document; empty if it does not
	document []byte
	scope    string // for challenges
	stronger string // the parameters of a challenge for a stronger sign-in (RFC 9470)
	origin   string // of the first audience; empty if that is not an http or https URL
}

// newResource returns the resource for the settings of o. Without the option resource_metadata, the resource has a
// metadata document if the first audience is an http or https URL without query, fragment and user.
func newResource(o *OAuth) (*resource, error) {
	res := &resource{scope: strings.Join(o.Scopes, " "), stronger: strongerParams(o), origin: originOf(o.Audiences[0])}
	if o.ResourceMetadata == "off" {
		return res, nil
	}
	if o.ResourceMetadata != "" {
		if err := (jwks.Address{JWKS: o.ResourceMetadata}).Check(); err != nil ||
			strings.ContainsAny(o.ResourceMetadata, "\"\\") { // the challenge has the URL in quotes
			return nil, errors.New("resource_metadata must be off, or a URL: https, or http on a loopback address")
		}
		res.metadata = o.ResourceMetadata
		return res, nil
	}
	u, err := url.Parse(o.Audiences[0])
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return res, nil // the audience has no document
	}
	res.metadata = u.Scheme + "://" + u.Host + wellKnown + strings.TrimSuffix(u.EscapedPath(), "/")
	// The document is also served without the path of the resource, for clients that look only there. For a resource
	// without a path, the two paths are the same.
	res.paths = slices.Compact([]string{wellKnown, wellKnown + strings.TrimSuffix(u.Path, "/")})
	res.document, err = json.Marshal(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Proofs   []string `json:"dpop_signing_alg_values_supported"`
		Name     string   `json:"resource_name,omitempty"`
	}{o.Audiences[0], []string{o.Issuer}, o.Scopes, []string{"header"}, dpop.Algorithms, o.ResourceName})
	return res, err
}

// strongerParams returns the parameters of a challenge that asks for a stronger or more recent sign-in (RFC 9470
// section 3).
func strongerParams(o *OAuth) string {
	var params []string
	if len(o.ACR) > 0 {
		params = append(params, `acr_values="`+strings.Join(o.ACR, " ")+`"`)
	}
	if o.MaxAge > 0 {
		params = append(params, `max_age="`+strconv.FormatInt(int64(time.Duration(o.MaxAge)/time.Second), 10)+`"`)
	}
	return strings.Join(params, ", ")
}

// challenge sets the header WWW-Authenticate of a response (RFC 6750 section 3, RFC 9728 section 5.1). asDPoP means
// that the token was sent with the scheme DPoP; the challenge then has this scheme too (RFC 9449 section 7.1). code
// is the OAuth error code, and is empty if no token was sent. code and description must be ASCII without quotes.
func (res *resource) challenge(w http.ResponseWriter, asDPoP bool, code, description string) {
	var params []string
	scheme := "Bearer "
	if code != "" {
		params = append(params, `error="`+code+`"`, `error_description="`+description+`"`)
	}
	if code == insufficientAuthentication {
		params = append(params, res.stronger)
	}
	if res.scope != "" && !strings.HasPrefix(code, "invalid_") {
		params = append(params, `scope="`+res.scope+`"`)
	}
	if asDPoP {
		scheme = "DPoP "
		params = append(params, `algs="`+strings.Join(dpop.Algorithms, " ")+`"`)
	}
	if res.metadata != "" {
		params = append(params, `resource_metadata="`+res.metadata+`"`)
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme+strings.Join(params, ", ")))
}

// serve answers a request for the metadata document, which is public, and the CORS preflight request for the document.
// It returns false for any other request.
func (o *OAuth) serve(w http.ResponseWriter, r *http.Request) bool {
	if !slices.Contains(o.resource.paths, r.URL.Path) {
		return false
	}
	h := w.Header()
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return true
	default:
		return false
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Access-Control-Allow-Origin", "*") // web pages may be clients, too
	_, _ = w.Write(o.resource.document)       // an error means that the client is gone
	return true
}
