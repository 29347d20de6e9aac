package jwks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

const (
	// fetchTimeout limits a fetch of the discovery document and the keys together. keyWait limits how long a request
	// waits for the fetch.
	fetchTimeout = 10 * time.Second
	keyWait      = 5 * time.Second
	maxRedirects = 3

	// minFresh and maxFresh limit the lifetime of keys. defaultFresh is the lifetime if the answer gives none.
	minFresh, maxFresh, defaultFresh = time.Minute, 24 * time.Hour, 10 * time.Minute
	// staleFor is how long expired keys are still used while the provider is down.
	staleFor = 24 * time.Hour

	// fetchGap is the minimum time between two fetches. firstGap applies instead while there are no keys at all.
	fetchGap = 10 * time.Second
	firstGap = time.Second
	// warnGap is the minimum time between two warnings, so that an outage does not fill the log.
	warnGap = time.Minute
)

// Address is where keys are fetched from: the URL of a JWK set or, if that is empty, an issuer's discovery document
// (OpenID Connect Discovery, section 4).
type Address struct{ JWKS, Issuer string }

// Check returns an error for an address that is neither https nor http on a loopback address.
func (a Address) Check() error { return checkURL(cmp.Or(a.JWKS, a.Issuer)) }

// Source fetches the keys of an identity provider. It keeps them as long as their Cache-Control says (1 minute to 24
// hours; 10 minutes by default), and for 24 hours more while the provider is down. It fetches only when a request needs
// keys, at most once in 10 seconds, and mostly ahead of their expiry without delaying the request. An unused source
// does not poll.
type Source struct {
	Address
	logger func() *zap.Logger
	ctx    context.Context // ends when the source is closed; used by fetches, which outlive the requests that begin them
	end    context.CancelFunc
	client *http.Client
	now    func() time.Time
	// fresh is the lifetime of answers that give none, mostFresh limits the lifetimes that answers give, and gap is the
	// minimum time between two fetches.
	fresh, mostFresh, gap time.Duration

	fetched atomic.Pointer[fetchedKeys] // the latest keys; nil before the first fetch

	mu      sync.Mutex    // guards the fields below
	flight  chan struct{} // closed when the current fetch ends; nil if there is none
	began   time.Time     // when the last fetch began
	failure error         // error of the last fetch, or nil
	warned  time.Time     // when the last warning was logged; zero after a success
}

// fetchedKeys are the result of a fetch.
type fetchedKeys struct {
	keys     Set
	renew    time.Time // from then on, keys are fetched in the background
	expires  time.Time // from then on, requests wait for a fetch, unless the provider is down
	unusable time.Time // from then on, the keys are not used
}

// NewSource makes a Source, which does not fetch yet. The address comes from the operator, so it may be in any network.
// The Source calls logger for each log line, because it may outlive the configuration with the current logger.
func NewSource(address Address, logger func() *zap.Logger) *Source {
	return newSource(address, logger, &http.Transport{
		Proxy:        http.ProxyFromEnvironment,
		DialContext:  (&net.Dialer{Timeout: fetchTimeout}).DialContext,
		MaxIdleConns: 2,
	})
}

// NewForeignSource works like NewSource for an address from an untrusted source: it must be public or in one of the
// allowed networks (see outbound.NewClient). The Source uses no proxy and follows no redirect.
func NewForeignSource(address Address, allow []netip.Prefix, logger func() *zap.Logger) *Source {
	s := newSource(address, logger, &http.Transport{})
	s.client = outbound.NewClient(allow, fetchTimeout)
	return s
}

func newSource(address Address, logger func() *zap.Logger, transport *http.Transport) *Source {
	s := &Source{
		Address: address, logger: logger, now: time.Now, fresh: defaultFresh, mostFresh: maxFresh, gap: fetchGap,
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	transport.TLSHandshakeTimeout, transport.ForceAttemptHTTP2 = fetchTimeout, true
	transport.IdleConnTimeout, transport.MaxResponseHeaderBytes = 30*time.Second, 64<<10
	s.client = &http.Client{
		Transport: transport,
		CheckRedirect: func(r *http.Request, previous []*http.Request) error {
			if len(previous) > maxRedirects {
				return errors.New("too many redirects")
			}
			if r.URL.Scheme != previous[0].URL.Scheme {
				return errors.New("a redirect leads to another scheme")
			}
			return checkURL(r.URL.String())
		},
	}
	return s
}

// Limit limits the lifetime of keys to maxLifetime. This is also their lifetime if an answer gives none. Limit sets
// the minimum time between two fetches to gap. It must be called before the source is used.
func (s *Source) Limit(maxLifetime, gap time.Duration) {
	s.fresh, s.mostFresh, s.gap = maxLifetime, maxLifetime, gap
}

// Clock sets the clock of the source, for tests. It must be called before the source is used.
func (s *Source) Clock(now func() time.Time) { s.now = now }

// Refresh fetches the keys now, or waits for the fetch that is in progress. It returns the error of the fetch or of
// ctx.
func (s *Source) Refresh(ctx context.Context) error {
	s.mu.Lock()
	if s.flight == nil {
		s.began = time.Time{} // no gap after the last fetch is needed
	}
	s.mu.Unlock()
	select {
	case <-s.fetch(0):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Close ends the current fetch and prevents later ones. Find still returns the keys fetched before.
func (s *Source) Close() {
	s.end()
	s.client.CloseIdleConnections()
}

// Find implements Finder.
func (s *Source) Find(ctx context.Context, kid, algorithm string) ([]any, error) {
	current, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	found, err := current.keys.Find(ctx, kid, algorithm)
	if errors.Is(err, ErrUnknownKey) { // it may be a new key
		s.wait(ctx, s.fetch(s.gap))
		if latest := s.fetched.Load(); latest != current {
			return latest.keys.Find(ctx, kid, algorithm)
		}
	}
	return found, err
}

// Kept returns the keys for a token that are valid now, without waiting for a fetch. ok is false if there are none. If
// the keys should be renewed, Kept begins a fetch in the background.
func (s *Source) Kept(kid, algorithm string) (found []any, ok bool) {
	now, f := s.now(), s.fetched.Load()
	if f == nil || !now.Before(f.expires) {
		return nil, false
	}
	if !now.Before(f.renew) {
		s.fetch(s.gap)
	}
	found, err := f.keys.Find(s.ctx, kid, algorithm)
	return found, err == nil
}

// current returns the keys to use now. If they have expired it waits for a fetch, unless the last fetch failed: then it
// returns the expired keys at once while they may still be used (staleFor).
func (s *Source) current(ctx context.Context) (*fetchedKeys, error) {
	now := s.now()
	switch f := s.fetched.Load(); {
	case f == nil || !now.Before(f.unusable):
		s.wait(ctx, s.fetch(firstGap))
	case !now.Before(f.expires):
		if fetch := s.fetch(s.gap); !s.lastFetchFailed() {
			s.wait(ctx, fetch)
		}
	case !now.Before(f.renew):
		s.fetch(s.gap)
	}
	f := s.fetched.Load()
	if f == nil || !now.Before(f.unusable) {
		return nil, unavailable(ctx.Err())
	}
	return f, nil
}

// unavailable returns the error for a source without usable keys. A nil cause means that a fetch failed or took too
// long.
func unavailable(cause error) error {
	if cause == nil {
		cause = errors.New("its keys could not be fetched")
	}
	return apierror.Unavailable("the identity provider", cause)
}

// lastFetchFailed reports whether the last fetch failed.
func (s *Source) lastFetchFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure != nil
}

// fetch begins a fetch, unless a fetch is under way or the last fetch began less than gap ago. The returned channel is
// closed when the fetch ends; it is nil if there is nothing to wait for.
func (s *Source) fetch(gap time.Duration) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.flight != nil {
		return s.flight
	}
	if s.ctx.Err() != nil || !s.began.IsZero() && now.Sub(s.began) < gap {
		return nil
	}
	done := make(chan struct{})
	s.flight, s.began = done, now
	go func() {
		defer close(done) // after the result was stored
		ctx, cancel := context.WithTimeout(s.ctx, fetchTimeout)
		defer cancel()
		keys, fresh, err := s.download(ctx)
		s.storeResult(keys, fresh, err)
	}()
	return done
}

// storeResult stores the result of a fetch: keys with their lifetime, or an error.
func (s *Source) storeResult(keys Set, lifetime time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.flight, s.failure = nil, err
	if err == nil {
		s.fetched.Store(&fetchedKeys{keys, now.Add(lifetime * 4 / 5), now.Add(lifetime), now.Add(lifetime + staleFor)})
		s.warned = time.Time{}
		return
	}
	if s.ctx.Err() == nil && (s.warned.IsZero() || now.Sub(s.warned) >= warnGap) {
		s.warned = now
		s.logger().Warn("fetching the keys of the identity provider",
			zap.String("issuer", redacted(s.Issuer)), zap.String("jwks_url", redacted(s.JWKS)),
			zap.Bool("older_keys", s.fetched.Load() != nil), zap.Error(err))
	}
}

// wait waits for a fetch for at most keyWait.
func (s *Source) wait(ctx context.Context, fetch <-chan struct{}) {
	if fetch == nil {
		return
	}
	timer := time.NewTimer(keyWait)
	defer timer.Stop()
	select {
	case <-fetch:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// download fetches the keys and returns how long they are fresh.
func (s *Source) download(ctx context.Context) (Set, time.Duration, error) {
	address := s.JWKS
	if address == "" {
		var err error
		if address, err = s.discover(ctx); err != nil {
			return nil, 0, fmt.Errorf("discovery: %w", err)
		}
	}
	text, header, err := s.get(ctx, address)
	if err != nil {
		return nil, 0, err
	}
	keys, err := ParseSet(text)
	return keys, s.freshness(header), err
}

// discover returns the URL of the keys from the discovery document of the issuer (OpenID Connect Discovery, section 4).
func (s *Source) discover(ctx context.Context) (string, error) {
	text, _, err := s.get(ctx, strings.TrimSuffix(s.Issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if json.Unmarshal(text, &document) != nil {
		return "", errors.New("the answer is not a discovery document")
	}
	if document.Issuer != s.Issuer {
		return "", errors.New("the document has another issuer; the configured issuer must be exactly the same text")
	}
	if err := checkURL(document.JWKS); err != nil {
		return "", fmt.Errorf("jwks_uri: %w", err)
	}
	if strings.HasPrefix(s.Issuer, "https:") && !strings.HasPrefix(document.JWKS, "https:") {
		return "", errors.New("jwks_uri must be https, because the issuer is")
	}
	return document.JWKS, nil
}

// get fetches a document. It returns an error unless the status is 200. The error does not contain the address, whose
// query may hold a secret.
func (s *Source) get(ctx context.Context, address string) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := s.client.Do(r)
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err // without the address
	}
	if err != nil {
		return nil, nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, nil, fmt.Errorf("the answer has status %d", answer.StatusCode)
	}
	text, err := readBounded(answer.Body)
	return text, answer.Header, err
}

// freshness returns how long an answer may be cached: the max-age in its Cache-Control, within limits.
func (s *Source) freshness(header http.Header) time.Duration {
	fresh := s.fresh
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return min(minFresh, s.mostFresh)
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				fresh = min(max(time.Duration(seconds)*time.Second, minFresh), s.mostFresh)
			}
		}
	}
	return fresh
}

// checkURL accepts https URLs, and http URLs with a loopback address. It returns an error for any other text.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return errors.New("must be a URL such as https://id.example.com, without a user")
	}
	if u.Scheme == "https" {
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return errors.New("must begin with https:// (http:// only for a loopback address)")
}

// redacted returns a URL without its query, which may hold a secret, for the log.
func redacted(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return text
}

// Interface guards
var (
	_ Finder = (*Source)(nil)
	_ Finder = Fixed(nil)
	_ Finder = Set(nil)
)
