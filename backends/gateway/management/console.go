package management

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed web/console
var consoleFiles embed.FS

// ConsoleOptions configure the console.
type ConsoleOptions struct {
	// OIDC is the OpenID provider that users sign in with. Nil means that users paste a token.
	OIDC *OIDC `json:"oidc,omitempty"`
	// Origins are further origins to which the pages may send requests, for OpenID providers with endpoints outside of
	// the issuer's origin.
	Origins []string `json:"origins,omitempty"`
	// Bar returns the additional contents of the bar at the top of the pages. Default: no additional contents.
	Bar func(*http.Request) look.Bar `json:"-"`
}

// OIDC describes an OpenID provider and the console as its client: a public client that may redirect to
// /console/callback.
type OIDC struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// Scopes are the requested scopes. Default: openid, profile, email.
	Scopes []string `json:"scopes,omitempty"`
	// Resource is the resource that access tokens are for (RFC 8707), which some providers require. Default: none.
	Resource string `json:"resource,omitempty"`
	// Token selects the token that is sent to the API: "access" or "id". Default: access.
	Token string `json:"token,omitempty"`
}

// Console serves the web pages for the management API. The pages are an ordinary client of that API: all their data
// comes from the API, with the user's token.
type Console struct {
	files *webassets.Console
	bar   func(*http.Request) look.Bar
}

// NewConsole checks the options and returns a console.
func NewConsole(o ConsoleOptions) (*Console, error) {
	var connect []string
	if o.OIDC != nil {
		settings := *o.OIDC
		origin, err := settings.complete()
		if err != nil {
			return nil, err
		}
		o.OIDC, connect = &settings, append(connect, origin)
	}
	for _, text := range o.Origins {
		u, err := secureURL(text)
		if err != nil || u.Path != "" {
			return nil, fmt.Errorf("origins: %q is not an origin such as https://id.example.com", text)
		}
		connect = append(connect, u.Scheme+"://"+u.Host)
	}
	settings, err := json.Marshal(struct {
		OIDC *OIDC `json:"oidc"`
	}{o.OIDC})
	if err != nil {
		return nil, err
	}
	files := webassets.NewConsole(webassets.Policy(slices.Compact(connect)...), consoleFiles, "web/console",
		webassets.Page{
			Title: "Console", WithoutScript: "The console needs JavaScript. The command tollgate keychain and the API do without.",
		})
	files.Add("settings.json", settings)
	return &Console{files, look.Always(o.Bar)}, nil
}

// complete checks the options, sets the defaults and returns the issuer's origin.
func (o *OIDC) complete() (origin string, err error) {
	u, err := secureURL(o.Issuer)
	if err != nil {
		return "", fmt.Errorf("oidc: the issuer %q is not an https URL", o.Issuer)
	}
	if o.ClientID == "" {
		return "", errors.New("oidc: the client id is empty")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{"openid", "profile", "email"}
	}
	if !slices.Contains(o.Scopes, "openid") {
		return "", errors.New("scopes: openid must be one of them")
	}
	if u, err := url.Parse(o.Resource); o.Resource != "" && (err != nil || !u.IsAbs() || u.Fragment != "") {
		return "", fmt.Errorf("resource: %q is not an absolute URI without a fragment", o.Resource)
	}
	switch o.Token {
	case "":
		o.Token = "access"
	case "access", "id":
	default:
		return "", fmt.Errorf("token: %q must be access or id", o.Token)
	}
	return u.Scheme + "://" + u.Host, nil
}

// secureURL parses an absolute URL without a query. The scheme must be https, or http for this machine. The host must
// be valid in a Content-Security-Policy.
func secureURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	validScheme := u.Scheme == "https" || u.Scheme == "http" && local
	validHost := u.Host != "" && !strings.ContainsFunc(u.Host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-:[]", r)
	})
	if !validScheme || !validHost || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("not an absolute https URL")
	}
	return u, nil
}

// Find reports whether the request is for the console.
func (c *Console) Find(r *http.Request) bool {
	return r.URL.Path == "/console" || strings.HasPrefix(r.URL.Path, "/console/")
}

// Serve answers a request for which Find reports true. Its errors are *apierror.Error. If Serve returns an error, it
// has not written a response.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not allowed here, use GET",
			rest.Quote(r.Method))
	}
	name, inside := strings.CutPrefix(r.URL.Path, "/console/")
	if !inside {
		// A relative address is also right if the gateway is mounted below a path.
		w.Header().Set("Location", "console/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	bar := c.bar(r)
	known := name != webassets.Document && c.files.Has(name, bar)
	if name == "" || name == "callback" { // the OpenID provider redirects users to callback
		name, known = webassets.Document, true
	}
	if !known {
		return apierror.New(http.StatusNotFound, "not_found", "the console has no page %q", rest.Quote(name))
	}
	c.files.Serve(w, r, name, bar)
	return nil
}
