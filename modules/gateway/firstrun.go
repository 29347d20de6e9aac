package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

func init() {
	caddy.RegisterModule(new(FirstRun))
}

// FirstRun makes a new installation usable at once. At each start it takes provider keys from the environment variables
// that the catalog names (OPENAI_API_KEY, GROQ_API_KEY …). It looks for model servers on this machine and at the base
// URLs in the environment, such as OPENAI_BASE_URL with the key in OPENAI_API_KEY. If the database is new, it creates
// the user "local" with a gateway key and prints a command line that uses the key. It is meant for a personal machine.
// It is the option first_run of the app tollgate.
type FirstRun struct {
	// URL is the address of the gateway, as used in the printed line. Required.
	URL string `json:"url,omitempty"`

	// Discover lists base URLs at which an OpenAI-compatible server may run, for example http://127.0.0.1:11434/v1 for
	// Ollama. The models of servers that answer become models of the user "local". The base URL in the variable
	// OPENAI_BASE_URL is tried too, with the key in OPENAI_API_KEY. So are the base URLs in the variables of other
	// providers whose keys are set.
	Discover []string `json:"discover,omitempty"`

	// Fallback is the base URL of the scripted model, which is used only while there are no provider keys and no server of
	// Discover answers.
	Fallback string `json:"fallback,omitempty"`
}

// LocalUser is the user that FirstRun creates.
const LocalUser = "local"

// CaddyModule returns the Caddy module information.
func (*FirstRun) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.first_run",
		New: func() caddy.Module { return new(FirstRun) },
	}
}

// Provision checks the addresses.
func (f *FirstRun) Provision(caddy.Context) error {
	if f.URL == "" {
		return errors.New("the URL of the gateway is required")
	}
	f.URL = strings.TrimRight(f.URL, "/")
	for _, text := range append(append([]string{f.URL}, f.Discover...), f.Fallback) {
		if u, err := url.Parse(text); text != "" &&
			(err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")) {
			return fmt.Errorf("%q is not an http or https URL", text)
		}
	}
	return nil
}

// firstRun prepares the first run when the database is ready. It logs errors, because the gateway works without the
// first run.
func (a *App) firstRun(ctx context.Context, g *gateway.Gateway) {
	if err := a.db.WaitReady(ctx); err != nil {
		return // the configuration was stopped
	}
	err := g.CheckRing(ctx)
	if err == nil {
		err = a.prepare(ctx, g)
	}
	if err != nil && ctx.Err() == nil {
		a.logger.Error("first run could not be prepared", zap.Error(err))
	}
}

// prepare creates the local user, and brings the user's provider keys and models up to date with the environment and
// the model servers that answer. At the first start of the process, or if it created the user, it prints the banner.
func (a *App) prepare(ctx context.Context, g *gateway.Gateway) error {
	_, key, created, err := g.Keychain.InitUser(ctx, LocalUser)
	if err != nil {
		return err
	}
	fromEnvironment, environmentServers, err := a.keysFromEnvironment(ctx, g.Keychain)
	if err != nil {
		return err
	}
	servers := environmentServers
	for _, base := range a.first.Discover {
		servers = append(servers, keychain.ModelServer{BaseURL: base})
	}
	answering, err := g.Keychain.Discover(ctx, LocalUser, "local", servers, g.Custom)
	if err != nil {
		return err
	}
	for _, server := range environmentServers {
		if !slices.Contains(answering, server.BaseURL) {
			a.logger.Warn("a base URL of the environment lists no models, so neither the URL nor the key for it is used",
				zap.String("base_url", server.BaseURL))
		}
	}
	stored, err := storedKeys(ctx, g.Keychain)
	if err != nil {
		return err
	}
	sources := slices.Concat(fromEnvironment, stored, answering)
	scripted, err := a.useFallback(ctx, g, len(sources) == 0)
	if err != nil {
		return err
	}
	if !g.Greeted.Swap(true) || created {
		a.waitUntilServing(ctx)
		a.banner(key, created, sources, scripted)
	}
	return nil
}

// useFallback adds the models of the fallback server if use is true, otherwise it removes them. It reports whether the
// server has models. The server may be a site of this process that does not listen yet, so useFallback retries for a
// few seconds.
func (a *App) useFallback(ctx context.Context, g *gateway.Gateway, use bool) (bool, error) {
	if a.first.Fallback == "" {
		return false, nil
	}
	servers := []keychain.ModelServer{{BaseURL: a.first.Fallback}}
	if !use {
		_, err := g.Keychain.Discover(ctx, LocalUser, "scripted", servers, nil) // without a transport no server answers
		return false, err
	}
	for range 20 {
		answering, err := g.Keychain.Discover(ctx, LocalUser, "scripted", servers, g.Custom)
		if err != nil || len(answering) > 0 {
			return len(answering) > 0, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
	return false, nil
}

// waitUntilServing waits until the gateway accepts connections at its address, for 10 seconds at most, so that the
// command line which is printed next works at once. Until then the gateway may wait for its certificate.
func (a *App) waitUntilServing(ctx context.Context) {
	u, err := url.Parse(a.first.URL)
	if err != nil {
		return
	}
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = new(net.Dialer)
	if u.Scheme == "https" {
		// No data is sent, so the certificate need not be verified.
		dialer = &tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: true}} //nolint:gosec // see above
	}
	for {
		if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// environmentLabel is the prefix of the labels of keys taken from the environment.
const environmentLabel = "env "

// storedKeys returns descriptions of the providers for which the user has stored keys, with the console or by the
// command line.
func storedKeys(ctx context.Context, service *keychain.Service) ([]string, error) {
	keys, err := service.ProviderKeys(ctx, LocalUser)
	if err != nil {
		return nil, err
	}
	var descriptions []string
	for _, key := range keys {
		description := key.Provider + " (a stored key)"
		if !strings.HasPrefix(key.Label, environmentLabel) && !slices.Contains(descriptions, description) {
			descriptions = append(descriptions, description)
		}
	}
	return descriptions, nil
}

// keysFromEnvironment creates provider keys from the environment variables that are set, and removes keys whose
// variable is no longer set. found describes the created keys. If another variable sets a base URL for a key, the key
// belongs to the server at that URL and not to the provider; servers has these servers with their keys. servers also
// has the server at OPENAI_BASE_URL if there is no key for it.
func (a *App) keysFromEnvironment(ctx context.Context, service *keychain.Service,
) (found []string, servers []keychain.ModelServer, err error) {
	for _, p := range a.Catalog().Providers() {
		key, isSet := p.EnvironmentKey(os.Getenv)
		if !isSet && slices.Contains(p.Env, "OPENAI_API_KEY") {
			_, key.BaseURL = catalog.EnvironmentBase("OPENAI_API_KEY", os.Getenv)
		}
		isForProvider := isSet && key.BelongsTo(p.BaseURL)
		used := isForProvider && a.Catalog().OwnKeys != catalog.OwnKeysNever
		for _, name := range p.Env {
			secret := "" // removes the key that an earlier start took from this variable
			if used && name == key.Variable {
				secret = key.Secret
			}
			if err := service.SyncProviderKey(ctx, LocalUser, p.Code, environmentLabel+name, secret); err != nil {
				return nil, nil, err
			}
		}
		if used {
			found = append(found, p.Code+" ("+key.Variable+")")
			continue
		}
		// Clients of this gateway read the same variables, so the base URL may be the address of this gateway.
		isGateway := strings.TrimSuffix(key.BaseURL, "/v1") == a.first.URL
		if !isForProvider && key.BaseURL != "" && !isGateway {
			servers = append(servers, keychain.ModelServer{BaseURL: key.BaseURL, APIKey: key.Secret})
		}
	}
	return found, servers, nil
}

// banner prints instructions for the first steps. created means that key is new and must be shown. sources describes
// the sources of models. If sources is empty, scripted reports whether the scripted model is used. The instructions
// are not logged, because a new key is shown only once and must not be written to a log file.
func (a *App) banner(key *keychain.NewKey, created bool, sources []string, scripted bool) {
	var b strings.Builder
	b.WriteString("\n  Tollgate is up at " + a.first.URL + "\n\n")
	switch {
	case len(sources) > 0:
		b.WriteString("  Models from:  " + strings.Join(sources, ", ") + "\n")
	case scripted:
		b.WriteString("  Models from:  the built-in scripted model, which is not a language model. Set OPENAI_API_KEY,\n" +
			"                GROQ_API_KEY … or start Ollama, and start Tollgate again, to reach a real one.\n")
	default:
		b.WriteString("  Models from:  nowhere yet. Set OPENAI_API_KEY, GROQ_API_KEY … and start Tollgate again.\n")
	}
	program := os.Args[0]
	secret := "$TOLLGATE_KEY" //nolint:gosec // a variable for the reader to fill
	if created {
		secret = key.Key
		b.WriteString("  Gateway key:  " + key.Key + "   (shown only once)\n")
	} else {
		b.WriteString("  Gateway key:  shown at the first start; make another with: " + program +
			" keychain keys create --user " + LocalUser + "\n")
	}
	b.WriteString("  Console:      " + a.first.URL + "/console, sign in with what this prints: " + program +
		" keychain token " + LocalUser + "\n")
	root := a.root()
	trust := ""
	if root != "" {
		trust = "--cacert " + root + " "
		absolute, err := filepath.Abs(root)
		if err != nil {
			absolute = root
		}
		b.WriteString("\n  Let clients trust its certificate, which is of this machine's own authority:\n\n" +
			"  export SSL_CERT_FILE=" + quoted(absolute) + "         # Python, Go\n" +
			"  export NODE_EXTRA_CA_CERTS=" + quoted(absolute) + "   # Node.js\n" +
			"  " + program + " trust --config " + quoted(configFile()) + "   # this machine, browsers too\n")
	}
	b.WriteString("\n  Try it:\n\n  curl -N " + trust + a.first.URL + "/v1/chat/completions \\\n" +
		`    -H "Authorization: Bearer ` + secret + `" -H 'Content-Type: application/json' \` + "\n" +
		`    -d '{"model":"keychain-high","stream":true,"messages":[{"role":"user","content":"Say hello in one sentence."}]}'` + "\n\n")
	_, _ = os.Stdout.WriteString(b.String()) // without output there is nobody to notify
}

// root returns the path of the root certificate behind `tls internal`, or "" if it is not known.
func (a *App) root() string {
	u, err := url.Parse(a.first.URL)
	storage, local := a.ctx.Storage().(*certmagic.FileStorage)
	if err != nil || u.Scheme != "https" || !local {
		return ""
	}
	return filepath.Join(storage.Path, "pki", "authorities", "local", "root.crt")
}

// configFile returns the configuration file that the command line of this process names, or "Caddyfile".
func configFile() string {
	for i, arg := range os.Args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case name != "--config" && name != "-c":
		case joined:
			return value
		case i+1 < len(os.Args):
			return os.Args[i+1]
		}
	}
	return "Caddyfile"
}

// quoted quotes a path for a shell if that is necessary.
func quoted(path string) string {
	if path == "" || strings.ContainsAny(path, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// Interface guards
var _ caddy.Provisioner = (*FirstRun)(nil)
