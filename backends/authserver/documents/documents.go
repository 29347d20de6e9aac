// Package documents fetches what clients say of themselves at the URL that is their
// client_id (OAuth Client ID Metadata Document). Anybody may name any URL, so that a fetch
// leads to public networks alone and is bounded in size, time and number.
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
)

const (
	maxURL      = 2048
	maxDocument = 5 << 10
	// fetchesMost bounds the fetches at the same time, hostPerSecond and hostBurst those
	// that one host gets.
	fetchesMost   = 32
	hostPerSecond = 1
	hostBurst     = 5
	// leastFresh is how long a document serves that says less.
	leastFresh = time.Minute
)

// duration is the metric of the fetches.
const duration = "cimd_fetch_duration_seconds"

// ErrUnavailable tells that a document cannot be had now.
var ErrUnavailable = errors.New("the document cannot be fetched")

// Options of the room.
type Options struct {
	// TTL is how long a document serves at most. Default: 1 hour.
	TTL time.Duration
	// Timeout is for a fetch as a whole. Default: 10 s.
	Timeout time.Duration
	// HTTP has URLs of http, too.
	HTTP bool
	// Networks are those that a URL may lead to, beside public ones.
	Networks []netip.Prefix
}

// Documents fetches them.
type Documents struct {
	*kernel.Server
	options Options
	client  *http.Client
	places  chan struct{}
	hosts   *kernel.Limiter
}

// New makes the room.
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
		Server: s, options: o, client: client, places: make(chan struct{}, fetchesMost),
		hosts: kernel.NewLimiter(hostPerSecond, hostBurst, s.Now),
	}
}

// IsURL reports whether a client_id means a document. What this server makes itself never
// begins so.
func IsURL(id string) bool {
	return strings.HasPrefix(id, "https://") || strings.HasPrefix(id, "http://")
}

// Document is one that was fetched: JSON whose client_id is the URL.
type Document struct {
	Text []byte
	// Fresh is until when it serves; the time of the fetch where it must not be stored.
	Fresh time.Time
}

// Fetch gets the document of a URL. The error is a refusal where the URL or the document
// is not good or too much is fetched, and ErrUnavailable where none can be had.
func (d *Documents) Fetch(ctx context.Context, id string) (*Document, error) {
	return d.fetch(ctx, id, d.hosts.Allow)
}

// Refetch is Fetch for a client that is known: whoever names other URLs of its host does not
// keep it out.
func (d *Documents) Refetch(ctx context.Context, id string) (*Document, error) {
	return d.fetch(ctx, id, d.hosts.Borrow)
}

func (d *Documents) fetch(ctx context.Context, id string, allow func(host string) bool) (*Document, error) {
	u, err := d.parse(id)
	if err != nil {
		return nil, err
	}
	select {
	case d.places <- struct{}{}:
		defer func() { <-d.places }()
	default:
		return nil, kernel.Refuse(kernel.Unavailable, "too many documents of clients are fetched at the moment, try again shortly")
	}
	if !allow(strings.ToLower(u.Hostname())) {
		return nil, kernel.Refuse(kernel.Unavailable, "documents of this host are fetched too often, try again shortly")
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

// refuse is for a client that cannot be one.
func refuse(format string, args ...any) error {
	return kernel.Refuse(kernel.InvalidClient, format, args...)
}

// parse refuses a URL that must not be a client_id.
func (d *Documents) parse(id string) (*url.URL, error) {
	if len(id) > maxURL || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
		return nil, refuse("client_id must be a URL of at most %d characters of ASCII", maxURL)
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
	case !goodPort(authority):
		return nil, refuse("client_id must have a port from 1 to 65535, or none")
	case u.Path == "" || u.Path == "/":
		return nil, refuse("client_id must have a path")
	}
	segments := append(strings.Split(u.EscapedPath()[1:], "/"), strings.Split(u.Path[1:], "/")...)
	if slices.ContainsFunc(segments, func(s string) bool { return s == "" || s == "." || s == ".." }) {
		return nil, refuse("the path of client_id must not have empty segments, nor those of dots")
	}
	return u, nil
}

// outsideHost tells of what neither a name, an address nor a port is written with: a user,
// an escape, a query in the place of a path.
func outsideHost(c rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]", c)
}

func goodPort(authority string) bool {
	_, port, ok := strings.Cut(authority[strings.LastIndexByte(authority, ']')+1:], ":")
	if !ok {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

func (d *Documents) get(ctx context.Context, id string) (*Document, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	r.Header.Set("Accept", "application/json")
	answer, err := d.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer answer.Body.Close()
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: status %d", ErrUnavailable, answer.StatusCode)
	case err != nil || media != "application/json" && (!strings.HasPrefix(media, "application/") || !strings.HasSuffix(media, "+json")):
		return nil, fmt.Errorf("%w: it is no JSON", ErrUnavailable)
	case answer.ContentLength > maxDocument:
		return nil, fmt.Errorf("%w: it is too large", ErrUnavailable)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("%w: it is too large", ErrUnavailable)
	}
	now := d.Now()
	return &Document{text, now.Add(d.fresh(answer.Header, now))}, check(text, id)
}

// check refuses what is not the document of a URL. What else answers there tells nothing of
// itself.
func check(text []byte, id string) error {
	var members map[string]json.RawMessage
	var named string
	if json.Unmarshal(text, &members) != nil || json.Unmarshal(members["client_id"], &named) != nil || named != id {
		return fmt.Errorf("%w: it is not that of the URL", ErrUnavailable)
	}
	for _, member := range []string{"client_secret", "client_secret_expires_at"} {
		if _, ok := members[member]; ok {
			return refuse("the document of the client must not have %s", member)
		}
	}
	return nil
}

// fresh is how long an answer serves (RFC 9111 section 4.2): what it says itself, within
// the bounds, or the upper one where it says nothing. 0: it must not be stored.
func (d *Documents) fresh(h http.Header, now time.Time) time.Duration {
	said, ok := time.Duration(0), false
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store":
			return 0
		case "no-cache":
			return min(leastFresh, d.options.TTL)
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				seconds = 0
			}
			said, ok = time.Duration(seconds)*time.Second-age(h), true
		}
	}
	if text := h.Get("Expires"); !ok && text != "" {
		ok = true
		if at, err := http.ParseTime(text); err == nil {
			if sent, err := http.ParseTime(h.Get("Date")); err == nil {
				now = sent
			}
			said = at.Sub(now)
		}
	}
	if !ok {
		said = d.options.TTL
	}
	return min(max(said, leastFresh), d.options.TTL)
}

// age is how long an answer was on its way (RFC 9111 section 5.1).
func age(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Age"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
