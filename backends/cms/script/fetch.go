package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// maxFetch limits the body of a request and of a response, in bytes.
const maxFetch = 4 << 20

// newClient returns the HTTP client for http.fetch. The client connects only to public IP addresses and o.Networks, and
// follows redirects only to o.Hosts.
func newClient(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: outbound.Dialer(o.Networks).DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
			MaxIdleConns:           32,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, priorRequests []*http.Request) error {
			if len(priorRequests) >= 5 {
				return errors.New("more than 5 redirects")
			}
			return checkHost(o.Hosts(), r.URL)
		},
	}
}

// checkHost returns an error unless u is an http or https URL whose host matches one of hosts; see Options.Hosts. A
// host without a port matches only a URL without a port.
func checkHost(hosts []string, u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s is not an http or https URL", quote(u.Redacted()))
	}
	if len(hosts) == 0 {
		return errors.New("http.fetch is off: fetchHosts in the settings allows no hosts")
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, host := range hosts {
		host, port, hasPort := strings.Cut(strings.ToLower(host), ":")
		if hasPort && port != u.Port() || !hasPort && u.Port() != "" {
			continue
		}
		domain, isWildcard := strings.CutPrefix(host, "*.")
		if host == name || isWildcard && strings.HasSuffix(name, "."+domain) {
			return nil
		}
	}
	return fmt.Errorf("the host %s is not among the hosts that fetchHosts in the settings allows", quote(u.Host))
}

// fetched is the response to a request that a script has sent with http.fetch.
type fetched struct {
	status  int
	headers http.Header
	body    []byte
}

// fetch sends a request and reads the response, of at most maxFetch bytes. It returns an error if the host is not
// allowed. It ignores a Host header of the script.
func (e *Engine) fetch(
	ctx context.Context, method, address string, headers map[string]string, body []byte,
) (*fetched, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL", quote(address))
	}
	if err := checkHost(e.Hosts(), u); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s is not an HTTP method", quote(method))
	}
	for name, value := range headers {
		if strings.EqualFold(name, "Host") {
			continue
		}
		r.Header.Set(name, value)
	}
	resp, err := e.client.Do(r)
	if err != nil {
		// The text of a url.Error would show the script's URL, which may contain secrets.
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err
		}
		return nil, fmt.Errorf("fetching from %s: %w", u.Host, err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxFetch+1))
	if err != nil {
		return nil, fmt.Errorf("fetching from %s: %w", u.Host, err)
	}
	if len(content) > maxFetch {
		return nil, fmt.Errorf("fetching from %s: the response is larger than 4 MiB", u.Host)
	}
	return &fetched{resp.StatusCode, resp.Header, content}, nil
}
