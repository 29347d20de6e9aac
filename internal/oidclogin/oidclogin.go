// Package oidclogin lets people sign in to the pages of this product at an OpenID provider. It uses the code flow
// (OpenID Connect Core 1.0, section 3.1) with PKCE (RFC 7636) and a nonce. The state between the two requests of a
// sign-in is in the URL and valid in one browser only, so nothing is stored except that a state was used. The service
// decides which account the person has.
package oidclogin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

const (
	// defaultLasts is how long a person may take at the provider, unless Options.Lasts is set.
	defaultLasts = 15 * time.Minute
	// leeway is the tolerance for clocks that differ.
	leeway = 30 * time.Second
	// maxNext and maxCode limit Ask.Next and the authorization code, in bytes.
	maxNext, maxCode = 1024, 4096
	// metadataLifetime is how long the metadata of a provider is used before it is fetched again.
	metadataLifetime = time.Hour
	// staleFor is how long expired metadata is still used while the provider cannot be reached.
	staleFor = 24 * time.Hour
	// fromProvider names the provider in errors.
	fromProvider = "the identity provider"
)

// Options are the options of a provider. Options without a default are required.
type Options struct {
	// Issuer is the URL of the provider, exactly as in the claim iss of its tokens. It must be https, or http on this
	// machine. It comes from the operator and may be in any network.
	Issuer string
	// ClientID identifies the service to the provider. Secret is the secret of a confidential client. Default: no secret,
	// which means that the service is a public client.
	ClientID, Secret string
	// Scopes are the requested scopes, which must include openid. Default: openid, profile, email.
	Scopes []string
	// Wishes are further scopes that are requested if the provider supports them.
	Wishes []string
	// Parameters are added to the parameters of the authorization URL.
	Parameters map[string]string
	// Lasts is how long a person may take at the provider. Default: 15 min.
	Lasts time.Duration
	// GroupsClaim is the claim with the person's groups. Default: groups.
	GroupsClaim string
	// Claims are the names of the claims with the person's names and mail address.
	Claims Claims
	// TrustEmail treats every mail address as confirmed.
	TrustEmail bool
	// Groups maps a group of the provider to groups of the service. Default: none.
	Groups map[string][]string
	// Networks are the non-public networks to which connections are allowed, for endpoints on other hosts than the
	// issuer's.
	Networks []netip.Prefix
	// Key returns a secret of at least 32 bytes, the same on all nodes.
	Key func() []byte
	// Counters returns the store that records which states were used.
	Counters func() counters.Store
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Provider is an OpenID provider at which people sign in. It is safe for concurrent use, and makes no request before
// the first sign-in.
type Provider struct {
	o        Options
	client   *http.Client
	cached   atomic.Pointer[metadata]
	fetching singleflight.Group // of fetch
}

// metadata is the metadata of a provider (OpenID Connect Discovery 1.0, section 3).
type metadata struct {
	provider *oidc.Provider
	keys     oidc.KeySet // caches the keys
	keysURL  string      // jwks_uri
	methods  []string    // of client authentication at the token endpoint
	scopes   []string
	sendsIss bool      // authorization responses have the parameter iss (RFC 9207)
	expires  time.Time // when the metadata is fetched again
}

// New checks the options and makes a provider.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || !secure(issuer) || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, fmt.Errorf("the issuer %q is not an https URL", o.Issuer)
	}
	if o.ClientID == "" {
		return nil, errors.New("the client id is empty")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{oidc.ScopeOpenID, "profile", "email"}
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		return nil, errors.New("scopes: openid must be one of them")
	}
	o.GroupsClaim = cmp.Or(o.GroupsClaim, "groups")
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{o: o, client: newClient(issuer.Host, o.Networks)}, nil
}

// lasts returns how long a person may take at the provider.
func (p *Provider) lasts() time.Duration { return cmp.Or(p.o.Lasts, defaultLasts) }

// Issuer returns the issuer of the provider.
func (p *Provider) Issuer() string { return p.o.Issuer }

// Managed returns all groups of the service that are values of Options.Groups, sorted.
func (p *Provider) Managed() []string {
	var all []string
	for _, groups := range p.o.Groups {
		all = append(all, groups...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Browser is the browser in which a sign-in happens.
type Browser struct {
	// Secret is a secret that only this browser has, in a cookie. It must not change during the sign-in.
	Secret string
	// Redirect is the redirect URI registered with the provider.
	Redirect string
}

// Ask describes the purpose of a sign-in.
type Ask struct {
	// Next is the path to which the service redirects the person afterwards. It is dropped if it has more than 1024
	// bytes.
	Next string
	// Again makes the provider authenticate the person again, even if the person is signed in there.
	Again bool
	// Hint is sent as login_hint, such as a mail address. Finish does not return it.
	Hint string
}

// state is the content of the parameter state, which carries an Ask to the provider and back.
type state struct {
	Ask
	began time.Time
}

// stateHead is the size of a state without Ask.Next: the time of the beginning, random bytes, and Ask.Again.
const stateHead = 8 + 16 + 1

// signer returns a signer for texts of one kind, which label names. The signer accepts no text of another kind.
func (p *Provider) signer(label string) signed.Signer {
	return signed.Signer{Key: p.o.Key(), Label: "oidclogin " + label, MACSize: 32}
}

// sign returns the state text for a new sign-in. The text is valid only in the given browser.
func (p *Provider) sign(browser Browser, ask Ask) string {
	if len(ask.Next) > maxNext {
		ask.Next = ""
	}
	payload := make([]byte, stateHead, stateHead+len(ask.Next))
	binary.BigEndian.PutUint64(payload, uint64(p.o.Now().UnixMicro()))
	_, _ = rand.Read(payload[8:24]) // never fails
	if ask.Again {
		payload[24] = 1
	}
	return p.signer("state").Sign(append(payload, ask.Next...), p.o.Issuer, p.o.ClientID, browser.Redirect, browser.Secret)
}

// open returns the state in a text that sign has made. ok is false if the text was made for another browser, is
// forged or has expired.
func (p *Provider) open(browser Browser, text string) (s state, ok bool) {
	if browser.Secret == "" || len(text) > 2*(stateHead+maxNext) {
		return s, false
	}
	payload, ok := p.signer("state").Open(text, p.o.Issuer, p.o.ClientID, browser.Redirect, browser.Secret)
	if !ok || len(payload) < stateHead {
		return s, false
	}
	s.began = time.UnixMicro(int64(binary.BigEndian.Uint64(payload))) //nolint:gosec // sign wrote it
	s.Next, s.Again = string(payload[stateHead:]), payload[24] == 1
	age := p.o.Now().Sub(s.began)
	return s, age < p.lasts() && age > -leeway
}

// nonce derives the nonce of a sign-in from its state text and the secret of its browser.
func (p *Provider) nonce(browser Browser, stateText string) string {
	return p.signer("nonce").Sign(nil, stateText, browser.Secret)
}

// verifier derives the PKCE verifier of a sign-in as nonce derives the nonce. The browser never sees the verifier.
func (p *Provider) verifier(browser Browser, stateText string) string {
	return p.signer("verifier").Sign(nil, stateText, browser.Secret)
}

// Begin returns the authorization URL to which the service redirects the browser. If the provider cannot be reached the
// error is an *apierror.Error with status 503.
func (p *Provider) Begin(ctx context.Context, browser Browser, ask Ask) (location string, err error) {
	m, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	stateText := p.sign(browser, ask)
	options := []oauth2.AuthCodeOption{
		oidc.Nonce(p.nonce(browser, stateText)), oauth2.S256ChallengeOption(p.verifier(browser, stateText)),
	}
	if ask.Again {
		// With max_age the ID token contains the time of the authentication.
		options = append(options, oauth2.SetAuthURLParam("max_age", "0"))
	}
	if ask.Hint != "" {
		options = append(options, oauth2.SetAuthURLParam("login_hint", ask.Hint))
	}
	for name, value := range p.o.Parameters {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return p.config(m, browser).AuthCodeURL(stateText, options...), nil
}

// config returns the configuration of the OAuth client for a sign-in in a browser.
func (p *Provider) config(m *metadata, browser Browser) *oauth2.Config {
	endpoint := m.provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.o.Secret == "" || !slices.Contains(m.methods, "client_secret_basic") &&
		slices.Contains(m.methods, "client_secret_post") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	scopes := slices.Clone(p.o.Scopes)
	for _, wish := range p.o.Wishes {
		if slices.Contains(m.scopes, wish) && !slices.Contains(scopes, wish) {
			scopes = append(scopes, wish)
		}
	}
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.Secret, Endpoint: endpoint, RedirectURL: browser.Redirect,
		Scopes: scopes,
	}
}

var (
	errState = apierror.New(http.StatusForbidden, "forbidden",
		"This sign-in has expired, is over, or began in another browser. Begin again.")
	errDenied  = apierror.New(http.StatusForbidden, "forbidden", "The identity provider has not let you in.")
	errRefused = apierror.New(http.StatusForbidden, "forbidden",
		"The answer of the identity provider is not valid. Begin again, and tell the operator if that does not help.")
)

// Finish ends a sign-in when the browser comes back from the provider, with the query of that request, and returns the
// person. A state can be used once. The error is an *apierror.Error: 403 for a refusal, whose cause is for the log, or
// 503 if the provider or the store of used states cannot be reached.
func (p *Provider) Finish(ctx context.Context, browser Browser, query url.Values) (*Person, error) {
	stateText, single := parameter(query, "state")
	s, valid := p.open(browser, stateText)
	if !single || !valid {
		return nil, errState
	}
	m, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if iss, single := parameter(query, "iss"); !single || iss != "" && iss != p.o.Issuer || iss == "" && m.sendsIss {
		return nil, refused(errors.New("the authorization response does not have the issuer in the parameter iss"))
	}
	if code := query.Get("error"); code != "" {
		return nil, denied(code)
	}
	code, single := parameter(query, "code")
	if !single || code == "" || len(code) > maxCode {
		return nil, refused(errors.New("the authorization response has no valid code"))
	}
	if err := p.markUsed(ctx, stateText); err != nil { // before the code is used, so that of two requests one fails
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.config(m, browser).Exchange(ctx, code, oauth2.VerifierOption(p.verifier(browser, stateText)))
	if err != nil {
		if response, ok := errors.AsType[*oauth2.RetrieveError](err); ok &&
			response.Response.StatusCode < http.StatusInternalServerError {
			return nil, refused(fmt.Errorf("the code was refused: %s", response.ErrorCode))
		}
		return nil, apierror.Unavailable(fromProvider, err)
	}
	claims, err := p.verify(ctx, m, s, token, p.nonce(browser, stateText))
	if err != nil {
		return nil, err
	}
	person := p.person(claims)
	person.Next, person.Again = s.Next, s.Again
	return person, nil
}

// parameter returns a parameter of the query. ok is false if it occurs more than once (RFC 6749, section 3.1).
func parameter(query url.Values, name string) (value string, ok bool) {
	values := query[name]
	return query.Get(name), len(values) < 2
}

// refused returns errRefused with a cause.
func refused(cause error) error {
	e := *errRefused
	e.Cause = cause
	return &e
}

// maxError is the maximum length of a quoted error code, in bytes.
const maxError = 100

// denied returns errDenied with the error code of the response (RFC 6749, section 4.1.2.1) as its cause.
func denied(code string) error {
	e := *errDenied
	e.Cause = fmt.Errorf("the identity provider answered with the error %q", code[:min(len(code), maxError)])
	return &e
}

// macLength is the length of the MAC at the end of a state text: 32 bytes in base64.
const macLength = 43

// markUsed marks a state as used, and returns an error if it was used before.
func (p *Provider) markUsed(ctx context.Context, stateText string) error {
	store := p.o.Counters()
	if store == nil {
		return apierror.Unavailable("sign-in", errors.New("there are no counters"))
	}
	// The MAC at the end identifies the state. It need not be secret any more.
	isNew, err := store.SetNX(ctx, "oidclogin:"+stateText[max(0, len(stateText)-macLength):], p.lasts()+leeway)
	if err != nil {
		return apierror.Unavailable("sign-in", err)
	}
	if !isNew {
		return errState
	}
	return nil
}

// secure reports whether a URL is https, or http on this machine, and has no user.
func secure(u *url.URL) bool {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	isLocal := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
	return host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && isLocal)
}
