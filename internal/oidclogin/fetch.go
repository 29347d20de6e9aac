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
	"golang.org/x/sync/singleflight"

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
	host    string            // of the issuer
	trusted http.RoundTripper // for that host
	guarded http.RoundTripper // for other hosts
}

// newClient returns a client for requests to a provider. host is the host in the URL of the provider's issuer. allow
// contains the non-public networks to which connections are allowed.
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
	transport := f.guarded
	if r.URL.Host == f.host {
		transport = f.trusted
	}
	response, err := transport.RoundTrip(r)
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		err = errors.New("it answered " + response.Status)
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, &downError{err}
	}
	response.Body = &boundedBody{response.Body, maxAnswer}
	return response, nil
}

// downError is the reason why a provider could not be reached, for which the person who signs in is not to blame.
type downError struct{ error }

func (e *downError) Unwrap() error { return e.error }

// stepError returns the error for a request to the provider that failed with err: a 503 if the provider was down, and
// otherwise a refusal. step names the step that failed.
func stepError(step string, err error) error {
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

// boundedBody is a body of which at most a number of bytes can be read.
type boundedBody struct {
	io.ReadCloser
	remaining int
}

// Read implements io.Reader. It returns an error after the last allowed byte.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.remaining <= 0 {
		return 0, errors.New("the answer of the identity provider is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.remaining)])
	b.remaining -= n
	return n, err
}

// discover returns the metadata of the provider. It fetches the metadata when somebody signs in, once for all
// concurrent callers. Metadata that has expired less than staleFor ago is returned at once while new metadata is
// fetched, so that nobody waits, even while the provider is down.
func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	now, cached := p.o.Now(), p.cached.Load()
	if cached != nil && now.Before(cached.expires) {
		return cached, nil
	}
	fetched := p.refresh(now) // goes on in the background if the old metadata is returned
	if cached != nil && now.Before(cached.expires.Add(staleFor)) {
		return cached, nil
	}
	select {
	case result := <-fetched:
		if result.Err != nil {
			return nil, apierror.Unavailable(fromProvider, result.Err)
		}
		return result.Val.(*metadata), nil
	case <-ctx.Done():
		return nil, apierror.Unavailable(fromProvider, ctx.Err())
	}
}

// refresh begins to fetch the metadata, unless another caller has begun, and caches it. The channel delivers the
// *metadata or an error.
func (p *Provider) refresh(now time.Time) <-chan singleflight.Result {
	return p.fetching.DoChan("", func() (any, error) {
		m, err := p.fetch(now)
		if err == nil {
			p.cached.Store(m)
		}
		return m, err
	})
}

// fetch fetches the metadata. No caller's context cancels it, because other callers wait for it too.
func (p *Provider) fetch(now time.Time) (*metadata, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.Background(), p.client), fetchTimeout)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var discovery struct { // members that the library does not return
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		TellsIss bool     `json:"authorization_response_iss_parameter_supported"`
		Keys     string   `json:"jwks_uri"`
	}
	if err := provider.Claims(&discovery); err != nil {
		return nil, err
	}
	authorization, err := url.Parse(provider.Endpoint().AuthURL)
	if err != nil || !secure(authorization) {
		return nil, errors.New("the authorization endpoint of the identity provider is not https")
	}
	return &metadata{
		provider: provider,
		keys:     oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), p.client), discovery.Keys),
		keysURL:  discovery.Keys, methods: discovery.Methods, scopes: discovery.Scopes, sendsIss: discovery.TellsIss,
		expires: now.Add(metadataLifetime),
	}, nil
}
