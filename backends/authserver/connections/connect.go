package connections

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Start is a user's request to connect a provider.
type Start struct {
	User, Provider string
	Resource       string // slug or URI; empty for the only resource that uses the provider
	ReturnURL      string // empty for the only allowed one
	Scope          string // in the terms of this server; empty for all scopes of the resource
}

// pendingLife is the time in which a user must complete the flow at the provider.
const pendingLife = 10 * time.Minute

// pending is a flow that a user has started at a provider and not completed.
type pending struct {
	user, provider string   // their ids
	back           string   // the URL to which the browser is redirected at the end
	scope          []string // the requested scope, in the provider's terms
	until          int64    // when the flow expires, in microseconds since 1970
}

// refuse returns an OAuth error.
func refuse(code, format string, args ...any) error { return kernel.Refuse(code, format, args...) }

// Path is the prefix of the paths of the flow's pages.
const Path = "/connect/"

// redirect returns the redirect URI of this server for a provider.
func (x *Connections) redirect(p *brokers.Provider) string {
	return strings.TrimSuffix(x.options.Base, "/") + Path + url.PathEscape(p.Slug) + "/callback"
}

// mac returns a MAC of texts. A MAC is only valid with the label under which it was made.
func (x *Connections) mac(label string, parts ...string) string {
	h := hmac.New(sha256.New, []byte(x.options.StateSecret))
	h.Write([]byte(label))
	for _, part := range parts {
		h.Write([]byte{0})
		h.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// sign returns the signature of a flow. The state parameter of the flow consists of random and this signature.
func (p *pending) sign(x *Connections, random string) string {
	return x.mac("state", random, p.user, p.provider, p.back, strconv.FormatInt(p.until, 10))
}

// digest returns the SHA-256 digest of a text in base64url.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// provider returns a provider that users can connect, and its configuration.
func (x *Connections) provider(ctx context.Context, slug string) (*brokers.Provider, *brokers.OAuthConfig, error) {
	p, err := x.options.Brokers.Find(ctx, slug)
	if errors.Is(err, brokers.ErrUnknown) || err == nil && p.Slug != slug { // Find also accepts an id
		return nil, nil, apierror.New(http.StatusNotFound, "not_found", "there is no such provider")
	}
	if err != nil {
		return nil, nil, err
	}
	if p.Protocol != brokers.OAuth {
		return nil, nil, refuse(kernel.InvalidTarget, "%s is not a provider that people connect themselves", p.Slug)
	}
	if x.options.StateSecret == "" {
		return nil, nil, x.misconfigured(p, errors.New("connect.state_secret is not set"))
	}
	if x.options.Encryptor == nil {
		return nil, nil, x.misconfigured(p, encryption.ErrNone)
	}
	c, err := x.options.Brokers.OAuth(ctx, p)
	if wrong, ok := errors.AsType[*brokers.ConfigError](err); ok {
		return nil, nil, x.misconfigured(p, wrong)
	}
	return p, c, err
}

// misconfigured logs why a provider cannot be used, for the operator. It returns the error for users, without the
// reason.
func (x *Connections) misconfigured(p *brokers.Provider, reason error) error {
	x.Logger().Error("a provider cannot be used", zap.String("provider", p.Slug), zap.Error(reason))
	return apierror.New(http.StatusServiceUnavailable, kernel.Unavailable,
		"%s cannot be connected at the moment: its settings here are not complete", p.Slug)
}

// Begin starts a flow and returns the URL to which the browser must be redirected: the provider's authorization
// endpoint. An error must be shown to the user.
func (x *Connections) Begin(ctx context.Context, s Start) (location string, err error) {
	p, config, err := x.provider(ctx, s.Provider)
	if err != nil {
		return "", err
	}
	r, err := x.resource(ctx, p, s.Resource)
	if err != nil {
		return "", err
	}
	scope, err := resources.ParseScope(s.Scope)
	if err != nil {
		return "", err
	}
	if len(scope) == 0 {
		scope = r.Names()
	}
	for _, name := range scope {
		if !slices.Contains(r.Names(), name) {
			return "", refuse(kernel.InvalidScope, "the resource %s does not declare the scope %s", r.Slug, name)
		}
	}
	flow := &pending{user: s.User, provider: p.ID, scope: upstream(r, scope), until: x.Now().Add(pendingLife).UnixMicro()}
	if flow.back, err = x.returnURL(r, s.ReturnURL); err != nil {
		return "", err
	}
	random := rand.Text() // the database has only its digest
	err = x.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_connecting (digest, user_id, provider_id, return_url, scope, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
			digest(random), flow.user, flow.provider, flow.back, strings.Join(flow.scope, " "), flow.until)
		return err
	})
	if err != nil {
		return "", err
	}
	verifier := x.mac("verifier", random) // the PKCE code verifier; Finish computes it again
	return config.AuthorizeAt(x.redirect(p), random+"."+flow.sign(x, random), digest(verifier), flow.scope), nil
}

// resource returns the resource of a provider whose slug or URI is name. If name is empty, the provider must have
// exactly one resource.
func (x *Connections) resource(ctx context.Context, p *brokers.Provider, name string) (*resources.Resource, error) {
	all, err := x.options.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	var using []*resources.Resource
	for _, r := range all {
		if r.Kind == resources.Broker && r.Provider == p.ID {
			using = append(using, r)
		}
	}
	if name == "" {
		if len(using) != 1 {
			return nil, refuse(kernel.InvalidRequest, "resource is required: %d resources use %s", len(using), p.Slug)
		}
		return using[0], nil
	}
	index := slices.IndexFunc(using, func(r *resources.Resource) bool {
		return r.Slug == name || r.URI != "" && kernel.SameURI(r.URI, name)
	})
	if index < 0 {
		return nil, refuse(kernel.InvalidTarget, "there is no such resource of %s", p.Slug)
	}
	return using[index], nil
}

// returnURL returns the URL to which the browser is redirected at the end of the flow. The parameter requested is the
// URL that the client has requested, which must be allowed. If the client has requested none, exactly one URL must be
// allowed, and returnURL returns that URL.
func (x *Connections) returnURL(r *resources.Resource, requested string) (string, error) {
	allowed := slices.Concat(r.Policy.Connect.AllowedReturnURLs, x.options.ReturnURLs)
	if requested == "" {
		if len(allowed) == 1 && !strings.HasSuffix(allowed[0], "/*") {
			return allowed[0], nil
		}
		return "", refuse(kernel.InvalidRequest, "return_url is required")
	}
	if slices.ContainsFunc(allowed, func(entry string) bool { return allowsReturn(entry, requested) }) {
		return requested, nil
	}
	return "", refuse(kernel.InvalidRequest, "return_url is not one of the allowed addresses")
}

// maxReturn is the maximum length of a return URL that an entry with /* allows, in bytes.
const maxReturn = 2048

// allowsReturn reports whether an entry of a list of return URLs allows the requested URL. The URL must equal the
// entry, where an empty path equals "/". If the entry ends with /*, the URL may also be below it.
func allowsReturn(entry, requested string) bool {
	requested = kernel.WithRootPath(requested)
	if kernel.WithRootPath(entry) == requested && !strings.HasSuffix(entry, "/*") {
		return true
	}
	below, ok := strings.CutSuffix(entry, "*")
	if !ok || !strings.HasSuffix(below, "/") || len(requested) > maxReturn {
		return false
	}
	base, err := url.Parse(below)
	if err != nil {
		return false
	}
	u, err := url.Parse(requested)
	if err != nil || u.User != nil || u.Opaque != "" || u.Scheme != base.Scheme || u.Host != base.Host {
		return false
	}
	if strings.ContainsAny(requested, "\\#") ||
		strings.ContainsFunc(requested, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return false
	}
	return hasPlainPath(u) && strings.HasPrefix(u.Path, base.Path)
}

// hasPlainPath reports whether all browsers and servers interpret the path of a URL in the same way: it has no dot
// segments, no empty segments and no escaped slashes.
func hasPlainPath(u *url.URL) bool {
	escaped := strings.ToLower(u.EscapedPath())
	if strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.Contains(u.Path, "//") {
		return false
	}
	clean := path.Clean(u.Path)
	if strings.HasSuffix(u.Path, "/") && clean != "/" {
		clean += "/" // Clean has removed it
	}
	return clean == u.Path
}

// End is a request by which the provider redirects the user back.
type End struct {
	User, Provider     string // the id of the signed-in user, and the slug of the provider
	State, Code, Error string // the parameters of the response
	Address            string // the IP address of the user, for the audit event
}

// errState is the error for a state that belongs to no pending flow.
var errState = apierror.New(http.StatusBadRequest, kernel.InvalidRequest,
	"This connection was begun too long ago, or has ended already. Go back to where you came from and begin again.")

// Finish redeems the provider's code, stores the credential, and returns the URL to which the browser must be
// redirected. An error must be shown to the user. A refusal by the provider is not an error; it is reported to the
// return URL.
func (x *Connections) Finish(ctx context.Context, e End) (location string, err error) {
	p, config, err := x.provider(ctx, e.Provider)
	if err != nil {
		return "", err
	}
	flow, random, err := x.takePending(ctx, p, e)
	if err != nil {
		return "", err
	}
	if e.Error != "" || e.Code == "" {
		code := e.Error
		if code == "" || !errorCode.MatchString(code) {
			code = kernel.ServerError
		}
		return withParameters(flow.back, "error", code, "provider", p.Slug), nil
	}
	granted, err := x.options.Brokers.Redeem(ctx, config, e.Code, x.mac("verifier", random), x.redirect(p))
	if failed, ok := errors.AsType[*brokers.UpstreamError](err); ok {
		x.Logger().Warn("a provider did not exchange an authorization code for tokens", zap.String("provider", p.Slug), zap.Error(err))
		code := failed.Code
		if code == "" {
			code = kernel.Unavailable
		}
		return withParameters(flow.back, "error", code, "provider", p.Slug), nil
	}
	if err != nil {
		return "", err
	}
	if granted.Scope == nil { // the provider has granted the requested scope
		granted.Scope = flow.scope
	}
	if err := x.storeCredential(ctx, flow.user, p.ID, granted.Credential, granted.Scope); err != nil {
		return "", err
	}
	x.Count("connection_connect_total", p.Slug)
	x.Audit(ctx, kernel.Event{
		Action: "broker_grant.created", Actor: flow.user, Address: e.Address,
		Detail: []string{"provider", p.Slug, "scope", strings.Join(granted.Scope, " ")},
	})
	return withParameters(flow.back, "connected", p.Slug), nil
}

// errorCode matches the error codes of a provider that are reported to the return URL.
var errorCode = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

// takePending removes the pending flow that belongs to the state of e. It returns the flow and the random part of the
// state. A state is accepted only once, and only from the user who started the flow. For another user, the error has
// status 403 and the flow is kept. An expired flow is removed and refused.
func (x *Connections) takePending(
	ctx context.Context, p *brokers.Provider, e End,
) (flow *pending, random string, err error) {
	random, signature, ok := strings.Cut(e.State, ".")
	if !ok || len(e.State) > 256 {
		return nil, "", errState
	}
	flow = new(pending)
	var foreign bool // another user started the flow
	err = x.Write(ctx, func(c store.Conn) error {
		foreign = false
		var scope string
		err := c.Row("SELECT user_id, provider_id, return_url, scope, expires_at FROM authserver_connecting WHERE digest = ?"+
			c.Lock(), digest(random)).
			Scan(&flow.user, &flow.provider, &flow.back, &scope, &flow.until)
		if err != nil {
			return kernel.IfNoRows(err, errState)
		}
		flow.scope = strings.Fields(scope)
		switch {
		case flow.provider != p.ID || !hmac.Equal([]byte(signature), []byte(flow.sign(x, random))):
			return errState
		case flow.user != e.User:
			foreign = true
			return nil // kept for the user who started it
		}
		_, err = c.Exec("DELETE FROM authserver_connecting WHERE digest = ?", digest(random))
		return err
	})
	switch {
	case err != nil:
		return nil, "", err
	case foreign:
		return nil, "", apierror.New(http.StatusForbidden, kernel.AccessDenied,
			"This connection was begun by another user. Sign in as that user, or begin again.")
	case x.Micros() >= flow.until:
		return nil, "", errState
	}
	return flow, random, nil
}

// withParameters returns a URL whose query parameters are set to the given names and values. The other parameters of
// the URL are kept. An invalid URL is returned unchanged.
func withParameters(rawURL string, pairs ...string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}
