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

// newClient returns the HTTP client for http.fetch. It checks the address at each connection, and the host at each
// redirect.
func newClient(o Options) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: outbound.Dialer(o.Networks).DialContext, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4,
			MaxIdleConns:           32,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 5 {
				return errors.New("more than 5 redirects")
			}
			return allowedHost(o.Hosts(), r.URL)
		},
	}
}

// allowedHost returns an error unless hosts contains the host of u.
func allowedHost(hosts []string, u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%s is not an address of http or https", quote(u.Redacted()))
	}
	if len(hosts) == 0 {
		return errors.New("http.fetch is off: no hosts are allowed in the settings")
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, host := range hosts {
		host, port, only := strings.Cut(strings.ToLower(host), ":")
		if only && port != u.Port() || !only && u.Port() != "" {
			continue
		}
		if below, ok := strings.CutPrefix(host, "*"); host == name || ok && strings.HasPrefix(below, ".") &&
			strings.HasSuffix(name, below) {
			return nil
		}
	}
	return fmt.Errorf("the host %s is not among those that may be fetched from", quote(u.Host))
}

// fetched is the response to a request by http.fetch.
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
		return nil, fmt.Errorf("%s is not an address", quote(address))
	}
	if err := allowedHost(e.Hosts(), u); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the method is not a token")
	}
	for name, value := range headers {
		if strings.EqualFold(name, "Host") {
			continue
		}
		r.Header.Set(name, value)
	}
	resp, err := e.client.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return nil, fmt.Errorf("fetching from %s: %w", u.Host, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxFetch+1))
	if err != nil {
		return nil, fmt.Errorf("fetching from %s: %w", u.Host, err)
	}
	if len(text) > maxFetch {
		return nil, fmt.Errorf("fetching from %s: the answer is larger than 4 MiB", u.Host)
	}
	return &fetched{resp.StatusCode, resp.Header, text}, nil
}
