// Package settings manages the file config.json of a site: the endpoint, the authorization mode, the secret for tokens,
// and the origins of web pages that may call the API. The file has mode 0600 and is replaced atomically.
//
// Each site has one such file. Nodes that serve the same site share its folder, or get the same files, and each node
// reads the file again when it has changed. Sessions, revoked tokens and the counts of failed logins are in the
// database, which all nodes share.
package settings

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The authorization modes.
const (
	None    = "none"
	Session = "session"
	JWT     = "jwt"
)

// The modes of the built-in content API.
const (
	ContentOff   = "off"
	ContentRead  = "read"
	ContentWrite = "write"
)

const (
	// File is the name of the settings file in the folder of a site.
	File = "config.json"
	// maxFile limits the length of the file, in bytes.
	maxFile = 256 << 10
	// defaultEndpoint is the endpoint of a site whose settings have none.
	defaultEndpoint = "api"
	// minSecret is the minimum length of the secret for tokens, in characters (RFC 7518, 3.2).
	minSecret = 32
	// maxList limits the length of the lists of origins and hosts.
	maxList = 100
)

// Settings are the settings of a site. The zero value is the settings of a new site.
type Settings struct {
	// Endpoint is the path of the API, without slashes at its ends. All routes are below this path. Default: api.
	Endpoint string `json:"endpoint,omitempty"`
	// Auth is the authorization mode: none, session or jwt. Default: none.
	Auth string `json:"auth,omitempty"`
	// JWTSecret is the secret with which tokens are signed (HS256), of at least 32 characters. If it is empty, Save
	// generates a secret. Changing it invalidates all tokens.
	JWTSecret string `json:"jwtSecret,omitempty"`
	// JWTSeconds is the lifetime of a token in seconds, from 60 to 31,536,000. Default: 86400.
	JWTSeconds int64 `json:"jwtSeconds,omitempty"`
	// JWTRefresh enables refresh tokens: a login in mode jwt then returns one with the token. Default: false.
	JWTRefresh bool `json:"jwtRefresh,omitempty"`
	// Origins are the origins of web pages that may call the API, such as https://app.example.com. * allows all
	// origins, but without credentials. Default: only the origin of the site itself.
	Origins []string `json:"origins,omitempty"`
	// Content is the mode of the built-in content API: off, read or write. Default: off in the authorization mode none,
	// read in the other modes.
	Content string `json:"content,omitempty"`
	// SiteURL is the address of the website that shows the pages, such as https://www.example.com. If it is set,
	// /sitemap.xml lists the pages that everybody may see. Default: no sitemap.
	SiteURL string `json:"siteUrl,omitempty"`
	// Redirects enables redirects from the previous paths of pages to their current paths. Default: false.
	Redirects bool `json:"redirects,omitempty"`
	// FetchHosts are the hosts to which scripts may send requests, with or without a port. Default: none.
	FetchHosts []string `json:"fetchHosts,omitempty"`
	// Debug adds the texts of internal errors, which otherwise are only in the log, to answers. Default: false.
	Debug bool `json:"debug,omitempty"`
}

var endpointForm = regexp.MustCompile(`^[a-z0-9-]+(/[a-z0-9-]+)*$`)

// Check returns an error that names the first invalid setting.
func (s *Settings) Check() error {
	switch {
	case s.Endpoint != "" && (!endpointForm.MatchString(s.Endpoint) || len(s.Endpoint) > 128):
		return fmt.Errorf("endpoint: %q must consist of segments of a-z, 0-9 and -, with / between them, "+
			"at most 128 characters", s.Endpoint)
	case !slices.Contains([]string{"", None, Session, JWT}, s.Auth):
		return fmt.Errorf("auth: %q must be none, session or jwt", s.Auth)
	case s.JWTSecret != "" && len(s.JWTSecret) < minSecret:
		return fmt.Errorf("jwtSecret: it must have at least %d characters", minSecret)
	case s.JWTSeconds != 0 && (s.JWTSeconds < 60 || s.JWTSeconds > 31_536_000):
		return fmt.Errorf("jwtSeconds: %d must be from 60 to 31536000", s.JWTSeconds)
	case !slices.Contains([]string{"", ContentOff, ContentRead, ContentWrite}, s.Content):
		return fmt.Errorf("content: %q must be off, read or write", s.Content)
	case len(s.Origins) > maxList || len(s.FetchHosts) > maxList:
		return fmt.Errorf("origins, fetchHosts: each list may have at most %d entries", maxList)
	}
	for _, origin := range s.Origins {
		if origin == "*" {
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origin ||
			strings.ToLower(origin) != origin || u.Hostname() == "" || u.User != nil {
			return fmt.Errorf("origins: %q is not an origin such as https://app.example.com", origin)
		}
	}
	if u, err := url.Parse(s.SiteURL); s.SiteURL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(s.SiteURL) > 1024) {
		return fmt.Errorf("siteUrl: %q is not an address such as https://www.example.com", s.SiteURL)
	}
	for _, host := range s.FetchHosts {
		if host == "" || strings.ContainsAny(host, "/@?# ") {
			return fmt.Errorf("fetchHosts: %q is not a host", host)
		}
	}
	return nil
}

// Mount returns the endpoint, or the default endpoint if none is set.
func (s *Settings) Mount() string {
	if s.Endpoint == "" {
		return defaultEndpoint
	}
	return s.Endpoint
}

// Mode returns the authorization mode.
func (s *Settings) Mode() string {
	if s.Auth == "" {
		return None
	}
	return s.Auth
}

// ContentMode returns the mode of the built-in content API. The mode is Content if that is set. Otherwise it is
// ContentRead, or ContentOff if there is no authorization.
func (s *Settings) ContentMode() string {
	switch {
	case s.Content != "":
		return s.Content
	case s.Mode() == None:
		return ContentOff
	}
	return ContentRead
}

// Lifetime returns the lifetime of a token.
func (s *Settings) Lifetime() time.Duration {
	if s.JWTSeconds == 0 {
		return 24 * time.Hour
	}
	return time.Duration(s.JWTSeconds) * time.Second
}

// Allowed reports whether web pages of the given origin may call the API, and whether they may send credentials. The
// origin of the site itself is not included.
func (s *Settings) Allowed(origin string) (ok, credentials bool) {
	if origin == "" {
		return false, false
	}
	if slices.Contains(s.Origins, origin) && origin != "*" {
		return true, true
	}
	return slices.Contains(s.Origins, "*"), false
}

// Store reads and writes the settings of one site. A Store is safe for concurrent use.
type Store struct {
	path    string // of the file
	current atomic.Pointer[snapshot]
	mu      sync.Mutex // is held while the file is read or written
}

// snapshot holds the settings together with the text of the file from which they were read.
type snapshot struct {
	settings Settings
	text     []byte
}

// Open reads the settings of a site. If the file does not exist, the settings are those of a new site.
func Open(site string) (*Store, error) {
	s := &Store{path: filepath.Join(site, File)}
	_, err := s.Reload()
	return s, err
}

// Current returns the settings that were last read or saved. The caller must not modify them.
func (s *Store) Current() *Settings { return &s.current.Load().settings }

// Reload reads the file again and reports whether it has changed. If the file has an error, the current settings stay
// in use.
func (s *Store) Reload() (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := readFile(s.path)
	if err != nil {
		return false, err
	}
	previous := s.current.Load()
	if previous != nil && bytes.Equal(previous.text, text) {
		return false, nil
	}
	var settings Settings
	if len(text) > 0 {
		if settings, err = decode(text); err != nil {
			return false, fmt.Errorf("%s: %w", File, err)
		}
	}
	s.current.Store(&snapshot{settings, text})
	return true, nil
}

// readFile returns the content of the file, or nil if it does not exist.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the settings: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is longer than %d bytes", File, maxFile)
	}
	return text, nil
}

// decode parses and checks the text of a settings file.
func decode(text []byte) (s Settings, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("the file contains more than one JSON object")
	}
	return s, s.Check()
}

// Save checks the settings, writes them to the file and makes them the current ones. If JWTSecret is empty, it
// generates a secret.
func (s *Store) Save(settings Settings) error {
	if err := settings.Check(); err != nil {
		return err
	}
	if settings.JWTSecret == "" {
		settings.JWTSecret = NewSecret()
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := replace(s.path, text); err != nil {
		return fmt.Errorf("saving the settings: %w", err)
	}
	s.current.Store(&snapshot{settings, text})
	return nil
}

// NewSecret returns a new random secret for tokens: 128 bytes in base64.
func NewSecret() string {
	raw := make([]byte, 128)
	_, _ = rand.Read(raw) // never fails
	return base64.StdEncoding.EncodeToString(raw)
}

// replace writes a file atomically.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".config-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
