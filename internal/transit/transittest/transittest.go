// Package transittest provides a key management server for tests. The server implements the part of the protocol that
// package transit uses, with real keys and with faults on demand.
package transittest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Credentials that the server accepts from the beginning.
const (
	Root     = "s.root-token-of-tests"
	RoleID   = "role-of-tests"
	SecretID = "secret-of-tests"
	// Lease is the lease of a login's token.
	Lease = time.Hour
)

// Server is a key management server for tests.
type Server struct {
	URL string

	mu       sync.Mutex
	faults   Faults
	tokens   map[string]bool
	keys     map[string]*key // by mount and name
	requests map[string]int
	gate     chan struct{} // closed while requests are answered
}

// Faults are faults of the server. The zero value means no faults.
type Faults struct {
	// Sealed answers every request with 503.
	Sealed bool
	// Busy is how many requests are answered with BusyStatus, which defaults to 429.
	Busy, BusyStatus int
	// Denied is a path prefix for which requests are answered with 403.
	Denied string
	// RefuseLogin answers every login with 400.
	RefuseLogin bool
	// Signature replaces a signature in an answer. Its argument is the right signature, vault:v<n>:….
	Signature func(text string) string
	// Answer replaces the body of every successful answer, unless it is empty.
	Answer string
	// Redirect is a URL to which every request is redirected with 307.
	Redirect string
	// DER encodes signatures in ASN.1. Standard encodes them in standard base64 with padding.
	DER, Standard bool
	// NoRenewal makes tokens that cannot be renewed.
	NoRenewal bool
}

// New starts a server, which is closed at the end of the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := newServer()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	tb.Cleanup(s.Release)
	s.URL = server.URL
	return s
}

// NewTLS starts a server with https, and also returns the httptest.Server with its certificate.
func NewTLS(tb testing.TB) (*Server, *httptest.Server) {
	tb.Helper()
	s := newServer()
	server := httptest.NewTLSServer(s)
	tb.Cleanup(server.Close)
	s.URL = server.URL
	return s, server
}

func newServer() *Server {
	s := &Server{
		tokens: map[string]bool{Root: true}, keys: make(map[string]*key), requests: make(map[string]int),
		gate: make(chan struct{}),
	}
	close(s.gate)
	return s
}

// Set replaces the faults of the server.
func (s *Server) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Hold makes requests wait until Release.
func (s *Server) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

// Release ends Hold.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

// Revoke revokes the tokens of all logins.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = map[string]bool{Root: true}
}

// Rotate makes another version of a key, as an operator may do.
func (s *Server) Rotate(mount, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[mount+"/"+name].rotate()
}

// Oldest sets min_decryption_version of a key.
func (s *Server) Oldest(mount, name string, version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[mount+"/"+name].oldest = version
}

// Asked returns how often an operation was requested: login, renew, keys, create, rotate, sign, encrypt or decrypt.
func (s *Server) Asked(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[op]
}

// refusal is an error that the server answers with a status and messages.
type refusal struct {
	status   int
	messages []string
}

func (refusal) Error() string { return "refused" }

func refuse(status int, messages ...string) error {
	if messages == nil {
		messages = []string{}
	}
	return refusal{status, messages}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	select {
	case <-gate:
	case <-r.Context().Done():
		return
	}
	s.mu.Lock()
	answer, err := s.serve(w, r)
	s.mu.Unlock()
	var no refusal
	switch {
	case errors.As(err, &no):
		write(w, no.status, map[string]any{"errors": no.messages})
	case answer == nil:
		if w.Header().Get("Location") == "" {
			w.WriteHeader(http.StatusNoContent)
		}
	default:
		write(w, http.StatusOK, answer)
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if text, ok := body.(string); ok {
		_, _ = io.WriteString(w, text) //nolint:gosec // a test gave it
		return
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.faults.Redirect != "" {
		w.Header().Set("Location", s.faults.Redirect+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil, nil
	}
	if r.Header.Get("X-Vault-Request") != "true" {
		return nil, refuse(http.StatusPreconditionFailed, "the header X-Vault-Request is missing")
	}
	if s.faults.Sealed {
		return nil, refuse(http.StatusServiceUnavailable, "Vault is sealed")
	}
	if s.faults.Busy > 0 {
		s.faults.Busy--
		status := s.faults.BusyStatus
		if status == 0 {
			status = http.StatusTooManyRequests
		}
		return nil, refuse(status)
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	if !ok {
		return nil, refuse(http.StatusNotFound)
	}
	var body map[string]any
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&body); err != nil {
			return nil, refuse(http.StatusBadRequest, "error parsing JSON")
		}
	}
	answer, err := s.route(r.Method, path, r.Header.Get("X-Vault-Token"), body)
	if err == nil && s.faults.Answer != "" {
		return s.faults.Answer, nil
	}
	return answer, err
}

func (s *Server) route(method, path, token string, body map[string]any) (any, error) {
	if mount, ok := strings.CutPrefix(path, "auth/"); ok && method == http.MethodPost &&
		strings.HasSuffix(mount, "/login") {
		s.requests["login"]++
		if s.faults.RefuseLogin || body["role_id"] != RoleID || body["secret_id"] != SecretID {
			return nil, refuse(http.StatusBadRequest, "invalid role or secret ID")
		}
		token := "s." + rand.Text()
		s.tokens[token] = true
		return s.auth(token), nil
	}
	if !s.tokens[token] || s.faults.Denied != "" && strings.HasPrefix(path, s.faults.Denied) {
		return nil, refuse(http.StatusForbidden, "permission denied for "+token)
	}
	if path == "auth/token/renew-self" {
		s.requests["renew"]++
		if s.faults.NoRenewal {
			return nil, refuse(http.StatusBadRequest, "lease is not renewable")
		}
		return s.auth(token), nil
	}
	mount, op, name, ok := parts(path)
	if !ok {
		return nil, refuse(http.StatusNotFound)
	}
	keyPath := mount + "/" + name
	k := s.keys[keyPath]
	switch {
	case op == "keys" && method == http.MethodGet:
		s.requests["keys"]++
		if k == nil {
			return nil, refuse(http.StatusNotFound)
		}
		return data(k.info()), nil
	case method != http.MethodPost:
		return nil, refuse(http.StatusMethodNotAllowed, "unsupported operation")
	case op == "keys":
		s.requests["create"]++
		kind, _ := body["type"].(string)
		if k != nil {
			return nil, nil // an existing key stays unchanged
		}
		created, err := newKey(kind)
		if err != nil {
			return nil, err
		}
		s.keys[keyPath] = created
		return nil, nil
	case k == nil:
		return nil, refuse(http.StatusBadRequest, "encryption key not found")
	}
	s.requests[op]++
	switch op {
	case "rotate":
		k.rotate()
		return nil, nil
	case "sign":
		text, err := k.sign(body, s.faults)
		if err == nil && s.faults.Signature != nil {
			text = s.faults.Signature(text)
		}
		return data(map[string]any{"signature": text}), err
	case "encrypt":
		text, err := k.encrypt(body)
		return data(map[string]any{"ciphertext": text, "key_version": len(k.versions)}), err
	case "decrypt":
		text, err := k.decrypt(body)
		return data(map[string]any{"plaintext": text}), err
	}
	return nil, refuse(http.StatusNotFound)
}

func data(d map[string]any) map[string]any { return map[string]any{"data": d} }

func (s *Server) auth(token string) any {
	return map[string]any{"auth": map[string]any{
		"client_token": token, "lease_duration": int64(Lease / time.Second), "renewable": !s.faults.NoRenewal,
	}}
}

// parts splits <mount>/<op>/<name>, or <mount>/keys/<name>/rotate.
func parts(path string) (mount, op, name string, ok bool) {
	words := strings.Split(path, "/")
	if n := len(words); n >= 4 && words[n-1] == "rotate" && words[n-3] == "keys" {
		return strings.Join(words[:n-3], "/"), "rotate", words[n-2], true
	}
	n := len(words)
	if n < 3 {
		return "", "", "", false
	}
	return strings.Join(words[:n-2], "/"), words[n-2], words[n-1], true
}
