package answer

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/websearch"
	"github.com/tollgate-gateway/tollgate/modules/cascade"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

// Cascade is the URL that stands for the model gateway of the same configuration, which is called without a network
// connection.
const Cascade = "cascade"

// Endpoint is a model API: of a provider, of a gateway, or of the cascade in the same configuration.
type Endpoint struct {
	// URL is the base URL, such as http://localhost:8080/v1, or the word cascade. The cascade answers with the models of
	// User, or of the user to whom Key belongs, with its usual fallbacks, and records the usage.
	URL string `json:"url"`
	// Key is sent as a bearer token. For the cascade it is a gateway key: the key's user is charged, and the key's budgets
	// and allowed models apply. Default: none.
	Key string `json:"key,omitempty"`
	// User is the user whose models the cascade uses, and who is charged. The cascade requires either User or Key;
	// other endpoints have no User.
	User string `json:"user,omitempty"`
}

// Model is an endpoint for chat completions.
type Model struct {
	Endpoint
	// Low, Medium and High are the models for easy, medium and hard tasks. Default: keychain-low, keychain-medium and
	// keychain-high, the names that a Tollgate gateway has for its tiers.
	Low    string `json:"low,omitempty"`
	Medium string `json:"medium,omitempty"`
	High   string `json:"high,omitempty"`
	// ExtractWhenDown extracts answers while no model can be used. Default: questions get 503 during that time.
	ExtractWhenDown bool `json:"extract_when_down,omitempty"`
}

// Dense is an endpoint for embeddings. With it, passages are found by their meaning in addition to their words.
type Dense struct {
	Endpoint
	// Model is the name of the model. If it changes, all vectors are made anew. Required.
	Model string `json:"model"`
}

// WebSearch is a provider of web search. The provider must answer GET URL?q=QUERY&count=N with {"results": [{"title",
// "url", "text", "published"}]}.
type WebSearch struct {
	// URL is the address of the provider.
	URL string `json:"url"`
	// Key is sent as a bearer token. Default: none.
	Key string `json:"key,omitempty"`
	// Hosts lists the hosts whose pages are fetched if the provider sends no text. An entry has the form example.com or
	// *.example.com. Default: none.
	Hosts []string `json:"hosts,omitempty"`
	// Timeout bounds a search, including the time to fetch its pages. Default: 5s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
}

// cascadeTransport is an http.RoundTripper that sends requests into the cascade of the newest running configuration.
// The node keeps it across reloads, while each configuration connects and disconnects its own cascade. If a
// configuration is refused after it has begun to start, requests go to the previous configuration's cascade again.
// After the last configuration has ended, requests still go to its cascade, because connections of a replaced
// configuration may bring more questions.
type cascadeTransport struct {
	mu    sync.Mutex           // guards all and ended, which reloads change while requests read them
	all   []*http.RoundTripper // the newest is last; pointers distinguish equal round trippers
	ended *http.RoundTripper   // the only cascade in all, if its configuration has ended; otherwise nil
}

// connect directs requests to cascade until disconnect is called with the same cascade.
func (d *cascadeTransport) connect(cascade *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended != nil {
		d.all, d.ended = nil, nil
	}
	d.all = append(d.all, cascade)
}

// disconnect ends the use of a cascade that was passed to connect. If no other cascade is connected, requests still go
// to this one until the next call of connect.
func (d *cascadeTransport) disconnect(cascade *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 1 && d.all[0] == cascade {
		d.ended = cascade
		return
	}
	d.all = slices.DeleteFunc(d.all, func(other *http.RoundTripper) bool { return other == cascade })
}

// newest returns the cascade to which requests go, or nil before the first call of connect.
func (d *cascadeTransport) newest() *http.RoundTripper {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 {
		return nil
	}
	return d.all[len(d.all)-1]
}

var errNotStarted = errors.New("the cascade of this configuration has not started yet")

// RoundTrip implements http.RoundTripper.
func (d *cascadeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	newest := d.newest()
	if newest == nil {
		return nil, errNotStarted
	}
	return (*newest).RoundTrip(r)
}

// cascadeTransports are a node's transports: for the language model and for the model of dense vectors.
type cascadeTransports struct{ model, dense cascadeTransport }

// connectCascade connects n's transports with the cascade of the configuration that is being provisioned. They use
// the endpoints' users and keys. The connection is made when the configuration starts: if the configuration fails to
// start, the previous cascade stays in use. Cleanup ends the connection. Endpoints whose URL is not Cascade are left
// out.
func (h *Handler) connectCascade(ctx caddy.Context, n *cascadeTransports) error {
	for _, connection := range []struct {
		endpoint  *Endpoint
		transport *cascadeTransport
	}{{h.modelEndpoint(), &n.model}, {h.denseEndpoint(), &n.dense}} {
		if connection.endpoint == nil || connection.endpoint.URL != Cascade {
			continue
		}
		inside, err := cascade.Inside(ctx, connection.endpoint.User, connection.endpoint.Key)
		if err != nil {
			return err
		}
		h.app.OnStart(func() error {
			connection.transport.connect(&inside)
			return nil
		})
		h.disconnects = append(h.disconnects, func() { connection.transport.disconnect(&inside) })
	}
	return nil
}

// modelEndpoint returns the endpoint of the language model, or nil if none is configured.
func (h *Handler) modelEndpoint() *Endpoint {
	if h.Model == nil {
		return nil
	}
	return &h.Model.Endpoint
}

// denseEndpoint returns the endpoint of the embedding model, or nil if none is configured.
func (h *Handler) denseEndpoint() *Endpoint {
	if h.Dense == nil {
		return nil
	}
	return &h.Dense.Endpoint
}

// resolve replaces the placeholders in texts. option is the option's name for errors.
func resolve(option string, texts ...*string) error {
	for _, text := range texts {
		resolved, err := placeholder.Resolve(*text)
		if err != nil {
			return fmt.Errorf("%s: %w", option, err)
		}
		*text = resolved
	}
	return nil
}

// check resolves the placeholders of an endpoint and validates it. option is the option's name for errors.
func (e *Endpoint) check(option string) error {
	if err := resolve(option, &e.URL, &e.Key, &e.User); err != nil {
		return err
	}
	switch {
	case e.URL == Cascade && e.User == "" && e.Key == "":
		return fmt.Errorf("%s: cascade requires user, the user whose models it uses, or key, a gateway key", option)
	case e.URL == Cascade && e.User != "" && e.Key != "":
		return fmt.Errorf("%s: set either user or key, not both: a gateway key already belongs to a user", option)
	case e.URL == Cascade:
		return nil
	case e.User != "":
		return fmt.Errorf("%s: user can be set only for cascade, not for a URL", option)
	}
	base, err := url.Parse(e.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" ||
		base.User != nil {
		return fmt.Errorf("%s: the URL must be the base URL of an API, such as http://localhost:8080/v1, or cascade", option)
	}
	return nil
}

// target returns the URL of a path at the endpoint, and the client for it. The client uses transport if the endpoint is
// the cascade.
func (e *Endpoint) target(path string, transport *cascadeTransport) (string, *http.Client) {
	if e.URL == Cascade {
		return "http://cascade/v1" + path, &http.Client{Transport: transport}
	}
	return strings.TrimSuffix(e.URL, "/") + path, endpointClient
}

// endpointClient is the client for endpoints whose URLs the operator sets, which may therefore be private. It does not
// follow redirects, because they would send the key to another server.
var endpointClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// bearer returns the token to send. For the cascade it is empty: the cascade gets the key in connectCascade.
func (e *Endpoint) bearer() string {
	if e.URL == Cascade {
		return ""
	}
	return e.Key
}

// provisionModel returns the configured model, or nil if no model is configured. transport is used if the model is the
// cascade.
func (h *Handler) provisionModel(transport *cascadeTransport) (models.Model, error) {
	if h.Model == nil {
		return nil, nil // there is none
	}
	if err := errors.Join(h.Model.check("model"),
		resolve("model", &h.Model.Low, &h.Model.Medium, &h.Model.High)); err != nil {
		return nil, err
	}
	address, client := h.Model.target("/chat/completions", transport)
	return &models.Chat{
		URL: address, Key: h.Model.bearer(), Client: client,
		Names: map[models.Tier]string{
			models.Low: cmp.Or(h.Model.Low, "keychain-low"), models.Medium: cmp.Or(h.Model.Medium, "keychain-medium"),
			models.High: cmp.Or(h.Model.High, "keychain-high"),
		},
	}, nil
}

// provisionDense returns the configured embedder, or nil if no embedder is configured. transport is used if the
// embedder is the cascade.
func (h *Handler) provisionDense(transport *cascadeTransport) (*models.Embeddings, error) {
	if h.Dense == nil {
		return nil, nil // there is none
	}
	if err := errors.Join(h.Dense.check("dense"), resolve("dense", &h.Dense.Model)); err != nil {
		return nil, err
	}
	if h.Dense.Model == "" {
		return nil, errors.New("dense: model is missing: set it to the name of the embedding model")
	}
	address, client := h.Dense.target("/embeddings", transport)
	return &models.Embeddings{URL: address, Key: h.Dense.bearer(), Name: h.Dense.Model, Client: client}, nil
}

// provisionWeb returns the configured provider of web search, or nil if no provider is configured. Pages may be at
// public addresses and in the networks of allow.
func (h *Handler) provisionWeb(allow []netip.Prefix) (*websearch.Provider, error) {
	if h.WebSearch == nil {
		return nil, nil // there is none
	}
	if err := resolve("web_search", &h.WebSearch.URL, &h.WebSearch.Key); err != nil {
		return nil, err
	}
	return websearch.New(websearch.Options{
		Endpoint: h.WebSearch.URL, Key: h.WebSearch.Key, Hosts: h.WebSearch.Hosts,
		Timeout: time.Duration(h.WebSearch.Timeout), Allow: allow,
	})
}
