// Package websearch queries a provider of web search over HTTP, and fetches the pages of those results that come
// without text. It is optional, and off unless an operator configures it.
//
// The provider is any service that answers GET ENDPOINT?q=QUERY&count=N with {"results": [{"title", "url", "text",
// "published"}]}. Pages are fetched only from allowed hosts. Connections to private addresses are refused unless
// Options.Allow has them.
package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// Options configure a Provider.
type Options struct {
	// Endpoint is the URL of the provider, http or https.
	Endpoint string
	// Key is sent as a bearer token. An empty Key is not sent.
	Key string
	// Hosts lists the hosts whose pages may be fetched, as "example.com" or "*.example.com". If it is empty no
	// page is fetched, and results without text are left out.
	Hosts []string
	// Allow lists private networks to which connections are allowed.
	Allow []netip.Prefix
	// Timeout bounds a search with all its pages. Default: 5s.
	Timeout time.Duration
}

// Bounds of responses and redirects.
const (
	maxAnswer    = 4 << 20 // the bytes of the provider's response
	maxPage      = 4 << 20 // the bytes of a page
	maxRedirects = 3
)

// Provider is a provider of web search. It implements retrieve.Web.
type Provider struct {
	endpoint *url.URL
	options  Options
	client   *http.Client // for the provider; follows no redirects
	pages    *http.Client // for pages; follows redirects to allowed hosts
}

// New returns a Provider. It returns an error if the endpoint is not an HTTP URL.
func New(o Options) (*Provider, error) {
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || !kernel.IsHTTP(endpoint) {
		return nil, errors.New("web search: the endpoint must be an http or https URL")
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	p := &Provider{endpoint: endpoint, options: o}
	transport := &http.Transport{
		DialContext: outbound.Dialer(o.Allow).DialContext, MaxIdleConnsPerHost: 2,
		IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
	p.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.pages = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, requests []*http.Request) error {
		if len(requests) > maxRedirects || !p.allowed(r.URL) {
			return errNotAllowed
		}
		return nil
	}}
	return p, nil
}

// errNotAllowed is returned for a redirect that is not followed.
var errNotAllowed = errors.New("web search: too many redirects, or a redirect to a host that is not allowed")

// allowed reports whether the page at u may be fetched: u is an http or https URL without a user name, and its host is
// among Options.Hosts.
func (p *Provider) allowed(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	return kernel.IsHTTP(u) && u.User == nil &&
		slices.ContainsFunc(p.options.Hosts, func(allowed string) bool {
			if domain, ok := strings.CutPrefix(allowed, "*."); ok {
				return strings.HasSuffix(host, "."+strings.ToLower(domain))
			}
			return strings.EqualFold(host, allowed)
		})
}

// answer is the response of the provider.
type answer struct {
	Results []struct {
		Title     string `json:"title"`
		URL       string `json:"url"`
		Text      string `json:"text"`
		Published string `json:"published"`
	} `json:"results"`
}

// Search implements retrieve.Web. A page that cannot be fetched or has no text is left out.
func (p *Provider) Search(ctx context.Context, query string, limit int) ([]retrieve.WebPage, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	u := *p.endpoint
	values := u.Query()
	values.Set("q", query)
	values.Set("count", strconv.Itoa(limit))
	u.RawQuery = values.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if p.options.Key != "" {
		request.Header.Set("Authorization", "Bearer "+p.options.Key)
	}
	body, _, err := fetch(p.client, request, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("web search: %w", err)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("web search: the response is not as expected: %w", err)
	}
	var pages []retrieve.WebPage
	for _, r := range a.Results[:min(len(a.Results), limit)] {
		u, err := url.Parse(r.URL)
		if err != nil || !kernel.IsHTTP(u) {
			continue
		}
		page := retrieve.WebPage{Title: r.Title, URL: r.URL, Text: r.Text}
		if published, err := time.Parse(time.RFC3339, r.Published); err == nil {
			page.Published = published
		}
		if strings.TrimSpace(page.Text) == "" {
			if page.Text = p.text(ctx, u); page.Text == "" {
				continue
			}
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// text returns the text of a page, or the empty string if fetching it is not allowed or fails.
func (p *Provider) text(ctx context.Context, u *url.URL) string {
	if !p.allowed(u) {
		return ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return ""
	}
	request.Header.Set("Accept", "text/html, text/plain")
	body, mediaType, err := fetch(p.pages, request, maxPage)
	if err != nil {
		return ""
	}
	text, err := corpus.TextOf(ctx, mediaType, body)
	if err != nil {
		return ""
	}
	return text
}

// fetch sends a request and returns the body and the media type of the response. It returns an error for a status other
// than 200 and for a body of more than limit bytes.
func fetch(client *http.Client, request *http.Request, limit int64) (body []byte, mediaType string, err error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("status %d", response.StatusCode)
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("the response has more than %d bytes", limit)
	}
	mediaType, _, _ = mime.ParseMediaType(response.Header.Get("Content-Type"))
	return body, mediaType, err
}

var _ retrieve.Web = (*Provider)(nil)
