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

// Cascade in the place of a URL is the gateway of this configuration, which is asked
// without a connection.
const Cascade = "cascade"

// Endpoint is where models are asked: a provider's API, a gateway's, or the cascade of
// this configuration.
type Endpoint struct {
	// URL is its base, such as http://localhost:8080/v1, or cascade: the models that the
	// keys of User reach here, with their fallbacks and usage.
	URL string `json:"url"`
	// Key is sent as a bearer token. Of the cascade it is a gateway key, whose user is asked
	// and charged, with its budgets and allowed models. Default: none.
	Key string `json:"key,omitempty"`
	// User is whose models the cascade asks and who is charged. Required with it, or a Key.
	User string `json:"user,omitempty"`
}

// Model is an endpoint for chat completions.
type Model struct {
	Endpoint
	// Low, Medium and High are the models of the tiers. Default: keychain-low,
	// keychain-medium, keychain-high, as a gateway of Tollgate has them.
	Low    string `json:"low,omitempty"`
	Medium string `json:"medium,omitempty"`
	High   string `json:"high,omitempty"`
	// ExtractWhenDown has answers extracted while no model can be used. Default: they are
	// a 503.
	ExtractWhenDown bool `json:"extract_when_down,omitempty"`
}

// Dense is an endpoint for vectors of meaning, by which passages are found beside words.
type Dense struct {
	Endpoint
	// Model is its name. Vectors of another one are made anew. Required.
	Model string `json:"model"`
}

// WebSearch is a provider of web search: it answers GET URL?q=QUERY&count=N with
// {"results": [{"title", "url", "text", "published"}]}.
type WebSearch struct {
	// URL is where it is asked.
	URL string `json:"url"`
	// Key is sent as a bearer token. Default: none.
	Key string `json:"key,omitempty"`
	// Hosts are those whose pages are fetched where the provider sends no text,
	// example.com or *.example.com. Default: none.
	Hosts []string `json:"hosts,omitempty"`
	// Timeout is that of a search with its pages. Default: 5s.
	Timeout caddy.Duration `json:"timeout,omitempty"`
}

// door leads into the cascade of the newest configuration that runs. One that is refused
// after it has begun to start leaves the one before it, and the last one stays: connections of
// a configuration that was replaced may still bring questions.
type door struct {
	mu  sync.Mutex
	all []*http.RoundTripper // the newest last
	old *http.RoundTripper   // the last one, whose configuration has ended; nil: it has not
}

// open has it lead into a cascade, until it is shut.
func (d *door) open(into *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.old != nil {
		d.all, d.old = nil, nil
	}
	d.all = append(d.all, into)
}

func (d *door) shut(into *http.RoundTripper) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.all) == 1 && d.all[0] == into {
		d.old = into
		return
	}
	d.all = slices.DeleteFunc(d.all, func(one *http.RoundTripper) bool { return one == into })
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

// doors are those of a node.
type doors struct{ model, dense door }

// open has the doors lead into the cascade of the configuration that is provisioned, once
// it has started.
func (h *Handler) open(ctx caddy.Context, n *doors) error {
	for _, one := range []struct {
		of   *Endpoint
		door *door
	}{{h.modelEndpoint(), &n.model}, {h.denseEndpoint(), &n.dense}} {
		if one.of == nil || one.of.URL != Cascade {
			continue
		}
		into, err := cascade.Inside(ctx, one.of.User, one.of.Key)
		if err != nil {
			return err
		}
		h.app.OnStart(func() error {
			one.door.open(&into)
			return nil
		})
		h.shut = append(h.shut, func() { one.door.shut(&into) })
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

// resolve replaces placeholders in texts.
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

// check refuses what no endpoint is.
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
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return fmt.Errorf("%s: the URL must be the base of an API, such as http://localhost:8080/v1, or cascade", option)
	}
	return nil
}

// at is the address of a path, and who asks there.
func (e *Endpoint) at(path string, into *door) (string, *http.Client) {
	if e.URL == Cascade {
		return "http://cascade/v1" + path, &http.Client{Transport: into}
	}
	return strings.TrimSuffix(e.URL, "/") + path, http.DefaultClient
}

// bearer is what is sent as a token: the cascade is told on the way in.
func (e *Endpoint) bearer() string {
	if e.URL == Cascade {
		return ""
	}
	return e.Key
}

// provisionModel is the model of the option; nil: there is none.
func (h *Handler) provisionModel(into *door) (models.Model, error) {
	if h.Model == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := errors.Join(h.Model.check("model"), resolve("model", &h.Model.Low, &h.Model.Medium, &h.Model.High)); err != nil {
		return nil, err
	}
	name := func(given, byDefault string) string {
		if given == "" {
			return byDefault
		}
		return given
	}
	at, client := h.Model.at("/chat/completions", into)
	return &models.Chat{
		URL: at, Key: h.Model.bearer(), Client: client,
		Names: map[models.Tier]string{
			models.Low: name(h.Model.Low, "keychain-low"), models.Medium: name(h.Model.Medium, "keychain-medium"), models.High: name(h.Model.High, "keychain-high"),
		},
	}, nil
}

// provisionDense makes vectors; nil: nobody does.
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
	at, client := h.Dense.at("/embeddings", into)
	return &models.Embeddings{URL: at, Key: h.Dense.bearer(), Name: h.Dense.Model, Client: client}, nil
}

// provisionWeb is the provider of web search; nil: there is none.
func (h *Handler) provisionWeb(allow []netip.Prefix) (*websearch.Provider, error) {
	if h.WebSearch == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := resolve("web_search", &h.WebSearch.URL, &h.WebSearch.Key); err != nil {
		return nil, err
	}
	return websearch.New(websearch.Options{
		Endpoint: h.WebSearch.URL, Key: h.WebSearch.Key, Hosts: h.WebSearch.Hosts, Timeout: time.Duration(h.WebSearch.Timeout), Allow: allow,
	})
}
