package management

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

//go:embed web/console
var consoleFiles embed.FS

// ConsoleOptions tell the console how users sign in.
type ConsoleOptions struct {
	// OIDC is the provider that users sign in with; nil: they paste a token.
	OIDC *OIDC `json:"oidc,omitempty"`
	// Origins are further origins that the pages may send requests to, for a
	// provider whose endpoints are not where its issuer is.
	Origins []string `json:"origins,omitempty"`
}

// OIDC is an OpenID provider and what the console is to it: a public client that
// may redirect to /console/callback.
type OIDC struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// Scopes to ask for. Default: openid, profile, email.
	Scopes []string `json:"scopes,omitempty"`
	// Token is the one that the API gets: "access" or "id". Default: access.
	Token string `json:"token,omitempty"`
}

// Console serves the pages in which users do by hand what the management API
// does. They are a client like any other: whatever they show comes from the API,
// with the token of the user.
type Console struct {
	assets map[string]asset // by the path behind /console/
	policy string           // Content-Security-Policy
}

type asset struct {
	kind, tag string // Content-Type and ETag
	text      []byte
}

// consoleTypes are the types of the files, which no system table may change.
var consoleTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

// NewConsole checks the options and makes a console.
func NewConsole(o ConsoleOptions) (*Console, error) {
	connect := []string{"'self'"}
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
	c := &Console{
		assets: make(map[string]asset),
		policy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
			strings.Join(slices.Compact(connect), " ") + "; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; " +
			"require-trusted-types-for 'script'; trusted-types 'none'",
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	settings, err := json.Marshal(struct {
		OIDC *OIDC `json:"oidc"`
	}{o.OIDC})
	if err != nil {
		return nil, err
	}
	c.add("settings.json", settings)
	c.assets["callback"] = c.assets[""] // where the provider sends users back to
	return c, nil
}

func (c *Console) load() error {
	files, err := fs.Sub(consoleFiles, "web/console")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		c.add(name, text)
		return nil
	})
}

func (c *Console) add(name string, text []byte) {
	sum := sha256.Sum256(text)
	a := asset{consoleTypes[path.Ext(name)], `"` + hex.EncodeToString(sum[:12]) + `"`, text}
	if name == "index.html" {
		name = ""
	}
	c.assets[name] = a
}

// complete sets the defaults and returns the issuer's origin.
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
	switch o.Token {
	case "":
		o.Token = "access"
	case "access", "id":
	default:
		return "", fmt.Errorf("token: %q must be access or id", o.Token)
	}
	return u.Scheme + "://" + u.Host, nil
}

// secureURL reads an absolute URL without query: https, or http on this machine.
// Its host can stand in a Content-Security-Policy.
func secureURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	plain := !strings.ContainsFunc(u.Host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-:[]", r)
	})
	if (u.Scheme != "https" && (u.Scheme != "http" || !local)) || u.Host == "" || !plain || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("not an absolute https URL")
	}
	return u, nil
}

// Find reports whether the request is for the console.
func (c *Console) Find(r *http.Request) bool {
	return r.URL.Path == "/console" || strings.HasPrefix(r.URL.Path, "/console/")
}

// Serve answers a request that Find knows. What is refused is an
// *apierror.Error, and nothing has been written then.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "%s is not allowed here, use GET", rest.Quote(r.Method))
	}
	name, inside := strings.CutPrefix(r.URL.Path, "/console/")
	if !inside {
		// Relative, so that it leads back here also below a prefix.
		w.Header().Set("Location", "console/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	a, ok := c.assets[name]
	if !ok {
		return apierror.New(http.StatusNotFound, "not_found", "the console has no page %q", rest.Quote(name))
	}
	header := w.Header()
	header.Set("Content-Security-Policy", c.policy)
	header.Set("Content-Type", a.kind)
	header.Set("Cache-Control", "no-cache")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("ETag", a.tag)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.text))
	return nil
}
