package oidclogin

import (
	"context"
	"errors"
	"fmt"
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
	// fetchTimeout limits the time of one request to the provider.
	fetchTimeout = 10 * time.Second
	// maxAnswer limits an answer of the provider, in bytes.
	maxAnswer = 1 << 20
)

// fetcher is the transport for requests to a provider. The operator has configured the issuer's host. Other hosts come
// from the provider's metadata, so connections to them are guarded (see package outbound).
type fetcher struct {
	host             string
	trusted, foreign http.RoundTripper
}

func newClient(host string, allow []netip.Prefix) *http.Client {
	guarded := outbound.NewClient(allow, fetchTimeout)
	trusted := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: fetchTimeout, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{
		Timeout: fetchTimeout, CheckRedirect: guarded.CheckRedirect,
		Transport: &fetcher{host, trusted, guarded.Transport},
	}
}

// RoundTrip implements http.RoundTripper.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	if !secure(r.URL) {
		return nil, errors.New("an address of the identity provider is not https")
	}
	transport := f.foreign
	if r.URL.Host == f.host {
		transport = f.trusted
	}
	answer, err := transport.RoundTrip(r)
	if err == nil && answer.StatusCode >= http.StatusInternalServerError {
		err = errors.New("it answered " + answer.Status)
		_ = answer.Body.Close()
	}
	if err != nil {
		return nil, &downError{err}
	}
	answer.Body = &bounded{answer.Body, maxAnswer}
	return answer, nil
}

// downError is the reason why a provider could not be reached, for which the person who signs in is not to blame.
type downError struct{ error }

func (e *downError) Unwrap() error { return e.error }

// failed returns the error for a request to the provider that failed with err: a 503 if the provider was down, and
// otherwise a refusal. step names the step that failed.
func failed(step string, err error) error {
	if _, down := errors.AsType[*downError](err); down {
		return apierror.Unavailable(fromProvider, fmt.Errorf("%s: %w", step, err))
	}
	return refused(fmt.Errorf("%s: %w", step, err))
}

// keySet records the error of a signature check, because the library passes on only the error's text.
type keySet struct {
	oidc.KeySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, k.err = k.KeySet.VerifySignature(ctx, token)
	return payload, k.err
}

// bounded is a body whose Read fails if it has more than left bytes.
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

// discover returns the metadata of the provider. It fetches the metadata when somebody signs in, once for all
// concurrent callers. Metadata that has expired less than staleFor ago is returned at once while new metadata is
// fetched, so that nobody waits, even while the provider is down.
func (p *Provider) discover(ctx context.Context) (*known, error) {
	now, old := p.o.Now(), p.known.Load()
	if old != nil && now.Before(old.until) {
		return old, nil
	}
	fetched := p.asking.DoChan("", func() (any, error) {
		k, err := p.fetch(now)
		if err == nil {
			p.known.Store(k)
		}
		return k, err
	})
	if old != nil && now.Before(old.until.Add(staleFor)) {
		return old, nil
	}
	select {
	case answer := <-fetched:
		if answer.Err != nil {
			return nil, apierror.Unavailable(fromProvider, answer.Err)
		}
		return answer.Val.(*known), nil
	case <-ctx.Done():
		return nil, apierror.Unavailable(fromProvider, ctx.Err())
	}
}

// fetch fetches the metadata. The first caller's context does not cancel it, because other callers wait for it too.
func (p *Provider) fetch(now time.Time) (*known, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.Background(), p.client), fetchTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		TellsIss bool     `json:"authorization_response_iss_parameter_supported"`
		Keys     string   `json:"jwks_uri"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, err
	}
	authorization, err := url.Parse(provider.Endpoint().AuthURL)
	if err != nil || !secure(authorization) {
		return nil, errors.New("the authorization endpoint of the identity provider is not https")
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), p.client), more.Keys)
	return &known{provider, keys, more.Keys, more.Methods, more.Scopes, more.TellsIss, now.Add(knownFor)}, nil
}
