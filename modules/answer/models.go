package answer

import (
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

// Cascade is used in place of a URL for the gateway of the same configuration, which is called without a
// connection.
const Cascade = "cascade"

// Endpoint is an API for models: that of a provider, of a gateway, or the cascade of the same configuration.
type Endpoint struct {
	// URL is the base URL, such as http://localhost:8080/v1, or cascade: the models that the keys of User can
	// reach, with their fallbacks and usage.
	URL string `json:"url"`
	// Key is sent as a bearer token. For the cascade it is a gateway key, whose user is charged, with the key's
	// budgets and allowed models. Default: none.
	Key string `json:"key,omitempty"`
	// User is the user whose models the cascade uses and who is charged. The cascade requires either User or
	// Key.
	User string `json:"user,omitempty"`
}

// Model is an endpoint for chat completions.
type Model struct {
	Endpoint
	// Low, Medium and High are the models of the tiers. Default: keychain-low, keychain-medium, keychain-high,
	// the names that a Tollgate gateway has for them.
	Low    string `json:"low,omitempty"`
	Medium string `json:"medium,omitempty"`
	High   string `json:"high,omitempty"`
	// ExtractWhenDown extracts answers while no model can be used. Default: questions are answered with 503
	// then.
	ExtractWhenDown bool `json:"extract_when_down,omitempty"`
}

// Dense is an endpoint for embeddings, by which passages are found in addition to their words.
type Dense struct {
	Endpoint
	// Model is the name of the model. If it changes, all vectors are made anew. Required.
	Model string `json:"model"`
}

// WebSearch is a provider of web search. It answers GET URL?q=QUERY&count=N with {"results": [{"title",
// "url", "text", "published"}]}.
type WebSearch struct {
	// URL is the address of the provider.
	URL string `json:"url"`
	// Key is sent as a bearer token. Default: none.
	Key string `json:"key,omitempty"`
	// Hosts lists the hosts whose pages are fetched if the provider sends no text, as example.com or
	// *.example.com. Default: none.
	Hosts []string `json:"hosts,omitempty"`
	// Timeout bounds a search with its pages. Default: 5s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
}

// door is an http.RoundTripper into the cascade of the newest running configuration. If a configuration is
// refused after it has begun to start, the door leads to the previous one again. After the last configuration
// has ended the door stays open, because connections of a replaced configuration may still bring questions.
type door struct {
	mu  sync.Mutex
	all []*http.RoundTripper // the newest is last
	old *http.RoundTripper   // the last one, if its configuration has ended, otherwise nil
}

// open makes the door lead into a cascade until shut is called for it.
func (d *door) open(into *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.old != nil {
		d.all, d.old = nil, nil
	}
	d.all = append(d.all, into)
}

// shut disconnects the door from a cascade for which open was called, unless it is the only one left.
func (d *door) shut(into *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 1 && d.all[0] == into {
		d.old = into
		return
	}
	d.all = slices.DeleteFunc(d.all, func(transport *http.RoundTripper) bool { return transport == into })
}

func (d *door) newest() *http.RoundTripper {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 0 {
		return nil
	}
	return d.all[len(d.all)-1]
}

var errClosed = errors.New("the gateway has not started yet")

// RoundTrip implements http.RoundTripper.
func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	into := d.newest()
	if into == nil {
		return nil, errClosed
	}
	return (*into).RoundTrip(r)
}

// doors are the doors of a node: one for the language model and one for the model of dense vectors.
type doors struct{ model, dense door }

// open connects the doors in n with the cascade of the configuration that is being provisioned, as the user and
// with the key of the endpoint. It does so when the configuration has started, so that the doors still lead to
// the previous one if it fails; Cleanup disconnects them. Endpoints whose URL is not Cascade need no door.
func (h *Handler) open(ctx caddy.Context, n *doors) error {
	for _, connection := range []struct {
		endpoint *Endpoint
		door     *door
	}{{h.modelEndpoint(), &n.model}, {h.denseEndpoint(), &n.dense}} {
		if connection.endpoint == nil || connection.endpoint.URL != Cascade {
			continue
		}
		into, err := cascade.Inside(ctx, connection.endpoint.User, connection.endpoint.Key)
		if err != nil {
			return err
		}
		h.app.OnStart(func() error {
			connection.door.open(&into)
			return nil
		})
		h.shut = append(h.shut, func() { connection.door.shut(&into) })
	}
	return nil
}

func (h *Handler) modelEndpoint() *Endpoint {
	if h.Model == nil {
		return nil
	}
	return &h.Model.Endpoint
}

func (h *Handler) denseEndpoint() *Endpoint {
	if h.Dense == nil {
		return nil
	}
	return &h.Dense.Endpoint
}

// resolve replaces the placeholders in texts.
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

// check resolves the placeholders of an endpoint and validates it.
func (e *Endpoint) check(option string) error {
	if err := resolve(option, &e.URL, &e.Key, &e.User); err != nil {
		return err
	}
	switch {
	case e.URL == Cascade && e.User == "" && e.Key == "":
		return fmt.Errorf("%s: user is missing: whose models the cascade asks, or a gateway key", option)
	case e.URL == Cascade && e.User != "" && e.Key != "":
		return fmt.Errorf("%s: either a user or a key, which has its user", option)
	case e.URL == Cascade:
		return nil
	case e.User != "":
		return fmt.Errorf("%s: user is for the cascade alone", option)
	}
	base, err := url.Parse(e.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" ||
		base.User != nil {
		return fmt.Errorf("%s: the URL must be the base of an API, such as http://localhost:8080/v1, or cascade", option)
	}
	return nil
}

// target returns the URL of a path at the endpoint and the client for it.
func (e *Endpoint) target(path string, into *door) (string, *http.Client) {
	if e.URL == Cascade {
		return "http://cascade/v1" + path, &http.Client{Transport: into}
	}
	return strings.TrimSuffix(e.URL, "/") + path, endpointClient
}

// endpointClient is the client for endpoints whose URLs the operator sets, so that they may be private. It follows no
// redirects, which would take the key elsewhere.
var endpointClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// bearer returns the token to send. It is empty for the cascade, which gets the key when it is entered.
func (e *Endpoint) bearer() string {
	if e.URL == Cascade {
		return ""
	}
	return e.Key
}

// provisionModel returns the configured model, or nil if there is none.
func (h *Handler) provisionModel(into *door) (models.Model, error) {
	if h.Model == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := errors.Join(h.Model.check("model"),
		resolve("model", &h.Model.Low, &h.Model.Medium, &h.Model.High)); err != nil {
		return nil, err
	}
	name := func(configuredName, byDefault string) string {
		if configuredName == "" {
			return byDefault
		}
		return configuredName
	}
	address, client := h.Model.target("/chat/completions", into)
	return &models.Chat{
		URL: address, Key: h.Model.bearer(), Client: client,
		Names: map[models.Tier]string{
			models.Low: name(h.Model.Low, "keychain-low"), models.Medium: name(h.Model.Medium, "keychain-medium"),
			models.High: name(h.Model.High, "keychain-high"),
		},
	}, nil
}

// provisionDense returns the configured embedder, or nil if there is none.
func (h *Handler) provisionDense(into *door) (*models.Embeddings, error) {
	if h.Dense == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := errors.Join(h.Dense.check("dense"), resolve("dense", &h.Dense.Model)); err != nil {
		return nil, err
	}
	if h.Dense.Model == "" {
		return nil, errors.New("dense: model is missing: the name of the model that makes vectors")
	}
	address, client := h.Dense.target("/embeddings", into)
	return &models.Embeddings{URL: address, Key: h.Dense.bearer(), Name: h.Dense.Model, Client: client}, nil
}

// provisionWeb returns the configured provider of web search, or nil if there is none.
func (h *Handler) provisionWeb(allow []netip.Prefix) (*websearch.Provider, error) {
	if h.WebSearch == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := resolve("web_search", &h.WebSearch.URL, &h.WebSearch.Key); err != nil {
		return nil, err
	}
	return websearch.New(websearch.Options{
		Endpoint: h.WebSearch.URL, Key: h.WebSearch.Key, Hosts: h.WebSearch.Hosts,
		Timeout: time.Duration(h.WebSearch.Timeout), Allow: allow,
	})
}
