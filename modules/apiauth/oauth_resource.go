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
	paths    []string // the paths of the document here; empty if it is served elsewhere
	document []byte
	scope    string // for challenges
	stronger string // the parameters of a challenge for a stronger sign-in (RFC 9470)
	origin   string // of the first audience; empty if that is not an http or https URL
}

// newResource returns the resource for the settings.
func newResource(o *OAuth) (*resource, error) {
	res := &resource{scope: strings.Join(o.Scopes, " "), stronger: strongerParams(o), origin: originOf(o.Audiences[0])}
	if o.ResourceMetadata == "off" {
		return res, nil
	}
	if o.ResourceMetadata != "" {
		if err := (jwks.Address{JWKS: o.ResourceMetadata}).Check(); err != nil ||
			strings.ContainsAny(o.ResourceMetadata, "\"\\") {
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
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	res.metadata = u.Scheme + "://" + u.Host + wellKnown + path
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
	var words []string
	if len(o.ACR) > 0 {
		words = append(words, `acr_values="`+strings.Join(o.ACR, " ")+`"`)
	}
	if o.MaxAge > 0 {
		words = append(words, `max_age="`+strconv.FormatInt(int64(time.Duration(o.MaxAge)/time.Second), 10)+`"`)
	}
	return strings.Join(words, ", ")
}

// challenge sets the challenge of a response (RFC 6750 section 3, RFC 9728 section 5.1). bound means that the token was
// sent with the scheme DPoP, which the challenge then has too (RFC 9449 section 7.1). code and description must be
// ASCII without quotes.
func (res *resource) challenge(w http.ResponseWriter, bound bool, code, description string) {
	var words []string
	scheme := "Bearer "
	if code != "" {
		words = append(words, `error="`+code+`"`, `error_description="`+description+`"`)
	}
	if code == insufficientAuthentication {
		words = append(words, res.stronger)
	}
	if res.scope != "" && !strings.HasPrefix(code, "invalid_") {
		words = append(words, `scope="`+res.scope+`"`)
	}
	if bound {
		scheme = "DPoP "
		words = append(words, `algs="`+strings.Join(dpop.Algorithms, " ")+`"`)
	}
	if res.metadata != "" {
		words = append(words, `resource_metadata="`+res.metadata+`"`)
	}
	w.Header().Set("WWW-Authenticate", strings.TrimSpace(scheme+strings.Join(words, ", ")))
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
