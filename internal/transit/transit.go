// Package transit is a client of the transit engine of a key management server, such as OpenBao. Keys sign and encrypt
// in the server and never leave it.
package transit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ErrUnavailable is wrapped by every error that is expected to be temporary: the server cannot be reached, is sealed,
// on standby or busy, or did not answer in time.
var ErrUnavailable = errors.New("the key management server is not available")

// RefusedError is the error of a request that the server refused.
type RefusedError struct {
	Status   int
	Messages []string // messages of the server, with the client's secrets replaced
}

// Error implements error.
func (e *RefusedError) Error() string {
	if len(e.Messages) == 0 {
		return fmt.Sprintf("the key management server answered %d", e.Status)
	}
	return fmt.Sprintf("the key management server answered %d: %s", e.Status, strings.Join(e.Messages, "; "))
}

// Missing reports whether an error means that the key does not exist.
func Missing(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && refused.Status == http.StatusNotFound
}

// AppRole has the credentials with which a program logs in.
type AppRole struct {
	// Mount is the path of the authentication method. Default: approle.
	Mount string
	// RoleID and SecretID are the credentials of a role.
	RoleID, SecretID string
}

// Options are the options of a Client.
type Options struct {
	// Address is the URL of the server, such as https://kms.example:8200. Required.
	Address string
	// Token is a fixed token. AppRole has credentials with which the client gets tokens. Exactly one of them is
	// required.
	Token   string
	AppRole AppRole
	// Timeout limits one request including its answer. Default: 10 s.
	Timeout time.Duration
	// TLS has the roots and certificates for https. If it is nil the system's are used.
	TLS *tls.Config
	// Observe is called after each request with its operation and duration. The operations are login, renew, keys,
	// create, rotate, sign, encrypt and decrypt. Default: none.
	Observe func(op string, took time.Duration)
	// Wrap wraps the transport of requests. Default: none.
	Wrap func(base http.RoundTripper) http.RoundTripper
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

const (
	defaultTimeout = 10 * time.Second
	defaultMount   = "approle"
	// maxAnswer limits an answer, in bytes.
	maxAnswer = 1 << 20
	// maxMessages and maxMessage limit the number and the length of a refusal's messages.
	maxMessages, maxMessage = 3, 200
)

// pauses are the waits before a request is repeated because the server is on standby or busy.
var pauses = []time.Duration{50 * time.Millisecond, 200 * time.Millisecond}

// Client is a client of one server. It is safe for concurrent use and does not need to be closed.
type Client struct {
	options Options
	base    string // beginning of all URLs
	http    *http.Client

	mu       sync.Mutex // guards the fields below
	present  *session   // the latest session, or nil
	underWay *login     // the login under way, or nil
}

// New makes a client. It does not contact the server.
func New(o Options) (*Client, error) {
	address, err := url.Parse(o.Address)
	switch {
	case err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Hostname() == "" ||
		address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return nil, errors.New("the address of a key management server must be an http or https URL, without user and query")
	case o.Token != "" && o.AppRole.RoleID != "":
		return nil, errors.New("a token and an AppRole exclude each other")
	case o.Token == "" && (o.AppRole.RoleID == "" || o.AppRole.SecretID == ""):
		return nil, errors.New("a key management server needs a token, or an AppRole with role id and secret id")
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	o.AppRole.Mount = cmp.Or(o.AppRole.Mount, defaultMount)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: o.TLS, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: o.Timeout, MaxResponseHeaderBytes: 64 << 10,
	}
	c := &Client{
		options: o, base: strings.TrimSuffix(o.Address, "/") + "/v1/",
		http: &http.Client{Transport: transport, CheckRedirect: redirect},
	}
	if o.Wrap != nil {
		c.http.Transport = o.Wrap(transport)
	}
	if o.Token != "" {
		c.present = &session{token: o.Token}
	}
	return c, nil
}

// redirect allows a standby server to redirect to the active server, once and within the same scheme.
func redirect(r *http.Request, pastRequests []*http.Request) error {
	first := pastRequests[0]
	if len(pastRequests) > 1 || r.URL.Scheme != first.URL.Scheme || r.Method != first.Method {
		return errors.New("it redirects more than once, or to another scheme")
	}
	return nil
}

// escape escapes each segment of a path.
func escape(path string) string {
	words := strings.Split(strings.Trim(path, "/"), "/")
	for i, word := range words {
		words[i] = url.PathEscape(word)
	}
	return strings.Join(words, "/")
}

// call sends a request with a token, and decodes the member "data" of the answer into data. If the server refuses the
// token, call repeats the request once with a new token. op is the operation for Options.Observe. body is sent as
// JSON, unless it is nil.
func (c *Client) call(ctx context.Context, op, method, path string, body, data any) error {
	s, err := c.session(ctx, nil)
	if err != nil {
		return err
	}
	err = c.askPatiently(ctx, op, method, path, s.token, body, data)
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusForbidden &&
		c.options.Token == "" {
		if s, err = c.session(ctx, s); err != nil {
			return err
		}
		err = c.askPatiently(ctx, op, method, path, s.token, body, data)
	}
	return err
}

// errBusy means that the request should be repeated.
var errBusy = fmt.Errorf("%w: it is on standby or busy", ErrUnavailable)

// askPatiently sends a request with a token. While the server is on standby or busy, askPatiently repeats the
// request, after each of the waits in the variable pauses. The other arguments are as for call.
func (c *Client) askPatiently(ctx context.Context, op, method, path, token string, body, data any) error {
	for i := 0; ; i++ {
		err := c.ask(ctx, op, method, path, token, body, &struct {
			Data any `json:"data"`
		}{data})
		if i == len(pauses) || !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-time.After(pauses[i]):
		case <-ctx.Done():
			return err
		}
	}
}

// ask sends one request and decodes the body of the response into answer, unless the status is 204. op is the operation
// for Options.Observe. body is sent as JSON, unless it is nil. token may be empty. Errors do not contain it.
func (c *Client) ask(ctx context.Context, op, method, path, token string, body, answer any) error {
	defer func(began time.Time) { c.options.Observe(op, time.Since(began)) }(time.Now())
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	var text []byte // the body of the request, later that of the response
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("X-Vault-Request", "true")
	if token != "" {
		r.Header.Set("X-Vault-Token", token)
	}
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return unreached(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return unreached(err)
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("%w: its answer is larger than %d bytes", ErrUnavailable, maxAnswer)
	}
	if err := c.checkStatus(response.StatusCode, text, token); err != nil || response.StatusCode == http.StatusNoContent {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return errShape
	}
	return nil
}

// checkStatus returns the error for an answer whose status does not mean success. text and token are as for refused.
func (c *Client) checkStatus(status int, text []byte, token string) error {
	switch {
	case status == http.StatusPreconditionFailed || status == http.StatusTooManyRequests ||
		status == 472 || status == 473: // statuses of Vault's standby servers
		return errBusy
	case status == http.StatusServiceUnavailable:
		return fmt.Errorf("%w: it is sealed", ErrUnavailable)
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: it answered %d", ErrUnavailable, status)
	case status < http.StatusOK || status >= http.StatusMultipleChoices:
		return c.refused(status, text, token)
	}
	return nil
}

// unreached returns the error for a request that got no answer. It leaves out the URL, which is long and of no use to
// the operator.
func unreached(err error) error {
	if urlError, ok := errors.AsType[*url.Error](err); ok {
		err = urlError.Err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// refused returns the error for an answer with an error status. text is the body of the answer. The token and the other
// credentials are masked in the messages of the error.
func (c *Client) refused(status int, text []byte, token string) error {
	var body struct {
		Errors []string `json:"errors"`
	}
	_ = json.Unmarshal(text, &body) // the body may be a page of a proxy; the status is enough then
	e := &RefusedError{Status: status}
	for _, message := range body.Errors[:min(len(body.Errors), maxMessages)] {
		for _, secret := range []string{token, c.options.AppRole.SecretID, c.options.AppRole.RoleID} {
			if secret != "" {
				message = strings.ReplaceAll(message, secret, "***")
			}
		}
		message = strings.Join(strings.Fields(message), " ")
		e.Messages = append(e.Messages, strings.ToValidUTF8(message[:min(len(message), maxMessage)], ""))
	}
	return e
}
