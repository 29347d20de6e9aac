package oidclogin

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

const (
	// fetchTimeout is for one request to the provider.
	fetchTimeout = 10 * time.Second
	// answerMost bounds an answer, in bytes.
	answerMost = 1 << 20
)

// fetcher is how a provider is asked: the host of the issuer is the operator's word, and what the provider names
// beside it is guarded.
type fetcher struct {
	host         string
	own, foreign http.RoundTripper
}

func newClient(host string, allow []netip.Prefix) *http.Client {
	guarded := outbound.NewClient(allow, fetchTimeout)
	own := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: fetchTimeout, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{Timeout: fetchTimeout, CheckRedirect: guarded.CheckRedirect, Transport: &fetcher{host, own, guarded.Transport}}
}

// RoundTrip implements http.RoundTripper.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if !secure(r.URL) {
		return nil, errors.New("an address of the identity provider is not https")
	}
	by := f.foreign
	if r.URL.Host == f.host {
		by = f.own
	}
	answer, err := by.RoundTrip(r)
	if err == nil {
		answer.Body = &bounded{answer.Body, answerMost}
	}
	return answer, err
}

// bounded is a body whose end is an error where there is more.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer of the identity provider is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// discover is what the provider says of itself, which is asked when somebody signs in. What was known serves on
// while the provider is down: its keys are asked for apart.
func (p *Provider) discover(ctx context.Context) (*known, error) {
	now, old := p.o.Now(), p.known.Load()
	if old != nil && now.Before(old.until) {
		return old, nil
	}
	k, err := p.fetch(ctx, now)
	if err != nil && old != nil {
		return old, nil
	}
	if err != nil {
		return nil, apierror.Unavailable(fromProvider, err)
	}
	p.known.Store(k)
	return k, nil
}

func (p *Provider) fetch(ctx context.Context, now time.Time) (*known, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		TellsIss bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	authorization, err := url.Parse(provider.Endpoint().AuthURL)
	if err != nil || !secure(authorization) {
		return nil, errors.New("the authorization endpoint of the identity provider is not https")
	}
	return &known{provider, more.Methods, more.Scopes, more.TellsIss, now.Add(knownFor)}, nil
}
