// Package documents fetches clients' metadata documents, whose URL is the client_id (OAuth Client ID Metadata
// Document). Since anybody can send any URL, fetches are restricted to public addresses and limited in size, time and
// number.
package documents

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

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
)

const (
	maxURL      = 2048
	maxDocument = 5 << 10
	// maxFetches is the maximum number of concurrent fetches. hostPerSecond and hostBurst limit the fetches from one
	// host.
	maxFetches    = 32
	hostPerSecond = 1
	hostBurst     = 5
	// minFresh is the minimum time for which a document is fresh, whatever its headers contain.
	minFresh = time.Minute
)

// duration is the name of the metric for the duration of fetches.
const duration = "cimd_fetch_duration_seconds"

// ErrUnavailable means that a document cannot be fetched now.
var ErrUnavailable = errors.New("the document cannot be fetched")

// Options are the settings of Documents.
type Options struct {
	// TTL is the maximum time for which a document is fresh. Default: 1 hour.
	TTL time.Duration
	// Timeout is the time limit of a whole fetch. Default: 10 s.
	Timeout time.Duration
	// HTTP also permits URLs with the scheme http.
	HTTP bool
	// Networks are the private networks from which documents may be fetched. Public addresses are always allowed.
	Networks []netip.Prefix
}

// Documents fetches metadata documents.
type Documents struct {
	*kernel.Server
	options Options
	client  *http.Client
	slots   chan struct{} // has an element for each running fetch
	hosts   *ratelimit.Limiter
}

// New returns a Documents.
func New(s *kernel.Server, o Options) *Documents {
	if o.TTL == 0 {
		o.TTL = time.Hour
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	client := outbound.NewClient(o.Networks, o.Timeout)
	client.Transport = s.Follow(client.Transport)
	return &Documents{
		Server: s, options: o, client: client, slots: make(chan struct{}, maxFetches),
		hosts: ratelimit.New(ratelimit.PerSecond(hostPerSecond, hostBurst), s.Now),
	}
}

// IsURL reports whether a client_id is the URL of a client's metadata document. The ids that this server generates
// are never URLs.
func IsURL(id string) bool {
	return strings.HasPrefix(id, "https://") || strings.HasPrefix(id, "http://")
}

// Document is a fetched document: JSON whose member client_id equals the document's URL.
type Document struct {
	Text []byte
	// Fresh is the time until which the document is fresh; after that it must be fetched again. For a document that
	// must not be stored, it is the time of the fetch.
	Fresh time.Time
}

// Fetch fetches the document whose URL is id. The error is a refusal of the client if the URL or the document is
// invalid, or if there are too many fetches. If there is no document at the URL, the error wraps ErrUnavailable.
func (d *Documents) Fetch(ctx context.Context, id string) (*Document, error) {
	return d.fetch(ctx, id, d.hosts.Allow)
}

// Refetch is like Fetch, for a client that is already known. It may exceed the rate limit of the host, at the expense
// of later fetches. Requests for unknown URLs of the host therefore cannot block Refetch.
func (d *Documents) Refetch(ctx context.Context, id string) (*Document, error) {
	return d.fetch(ctx, id, d.hosts.Borrow)
}

// fetch fetches the document whose URL is id, if allow returns true for the host of the URL.
func (d *Documents) fetch(ctx context.Context, id string, allow func(host string) bool) (*Document, error) {
	u, err := d.parse(id)
	if err != nil {
		return nil, err
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	default:
		return nil, kernel.Refuse(kernel.Unavailable,
			"the server is fetching too many client metadata documents; try again shortly")
	}
	if !allow(strings.ToLower(u.Hostname())) {
		return nil, kernel.Refuse(kernel.Unavailable,
			"the server has fetched too many client metadata documents from this host; try again shortly")
	}
	began, outcome := time.Now(), "ok"
	found, err := d.get(ctx, id)
	switch {
	case errors.Is(err, outbound.ErrNotAllowed):
		outcome = "refused"
	case errors.Is(err, ErrUnavailable):
		outcome = "unavailable"
	case err != nil:
		outcome = "invalid"
	}
	d.Took(duration, outcome, began)
	return found, err
}

// refuse returns the error invalid_client.
func refuse(format string, args ...any) error {
	return kernel.Refuse(kernel.InvalidClient, format, args...)
}

// parse parses a client_id. It returns an error if the client_id cannot be the URL of a document.
func (d *Documents) parse(id string) (*url.URL, error) {
	if len(id) > maxURL || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
		return nil, refuse("client_id must be a URL of at most %d ASCII characters", maxURL)
	}
	_, rest, _ := strings.Cut(id, "://")
	authority, _, _ := strings.Cut(rest, "/")
	u, err := url.Parse(id)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || strings.ContainsFunc(authority, outsideHost):
		return nil, refuse("client_id must be a URL with a host and without a user")
	case !IsURL(id) || u.Scheme != "https" && !d.options.HTTP:
		return nil, refuse("client_id must begin with https://")
	case strings.Contains(id, "#"):
		return nil, refuse("client_id must not have a fragment")
	case !validPort(authority):
		return nil, refuse("client_id must have a port from 1 to 65535, or none")
	case u.Path == "" || u.Path == "/":
		return nil, refuse("client_id must have a path")
	}
	// The segments are checked before and after the percent-encoding is decoded.
	segments := append(strings.Split(u.EscapedPath()[1:], "/"), strings.Split(u.Path[1:], "/")...)
	if slices.ContainsFunc(segments, func(s string) bool { return s == "" || s == "." || s == ".." }) {
		return nil, refuse("the path of client_id must not have empty segments, and no segments \".\" and \"..\"")
	}
	return u, nil
}

// outsideHost reports whether a character cannot occur in a host and port. Such a character indicates user information,
// an escape, or a query without a path.
func outsideHost(c rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]", c)
}

// validPort reports whether an authority has a port from 1 to 65535, or none.
func validPort(authority string) bool {
	_, port, ok := strings.Cut(authority[strings.LastIndexByte(authority, ']')+1:], ":")
	if !ok {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// get requests a document and checks the response.
func (d *Documents) get(ctx context.Context, id string) (*Document, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.Header.Set("Accept", "application/json")
	response, err := d.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: status %d", ErrUnavailable, response.StatusCode)
	case err != nil || media != "application/json" && (!strings.HasPrefix(media, "application/") ||
		!strings.HasSuffix(media, "+json")):
		return nil, fmt.Errorf("%w: its media type is not JSON", ErrUnavailable)
	case response.ContentLength > maxDocument:
		return nil, fmt.Errorf("%w: it is too large", ErrUnavailable)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("%w: it is too large", ErrUnavailable)
	}
	now := d.Now()
	return &Document{text, now.Add(d.fresh(response.Header, now))}, check(text, id)
}

// check returns an error if a text is not the document whose URL is id. The error reveals nothing of the text.
func check(text []byte, id string) error {
	var members map[string]json.RawMessage
	var clientID string
	if json.Unmarshal(text, &members) != nil || json.Unmarshal(members["client_id"], &clientID) != nil || clientID != id {
		return fmt.Errorf("%w: it must be JSON whose client_id is the URL of the document", ErrUnavailable)
	}
	for _, member := range []string{"client_secret", "client_secret_expires_at"} {
		if _, ok := members[member]; ok {
			return refuse("the document of the client must not have %s", member)
		}
	}
	return nil
}

// fresh returns how long a response is fresh (RFC 9111 section 4.2), between minFresh and the TTL. Without freshness
// headers it is the TTL. Zero means that the response must not be stored.
func (d *Documents) fresh(h http.Header, now time.Time) time.Duration {
	lifetime, ok := time.Duration(0), false // ok is true if the headers set the lifetime
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store":
			return 0
		case "no-cache":
			return min(minFresh, d.options.TTL)
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				seconds = 0
			}
			lifetime, ok = time.Duration(seconds)*time.Second-age(h), true
		}
	}
	if text := h.Get("Expires"); !ok && text != "" {
		ok = true
		if date, err := http.ParseTime(text); err == nil { // an invalid date, such as 0, means expired
			sentAt := now
			if headerDate, err := http.ParseTime(h.Get("Date")); err == nil {
				sentAt = headerDate
			}
			lifetime = date.Sub(sentAt)
		}
	}
	if !ok {
		lifetime = d.options.TTL
	}
	return min(max(lifetime, minFresh), d.options.TTL)
}

// age returns the Age header of a response (RFC 9111 section 5.1).
func age(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Age"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
