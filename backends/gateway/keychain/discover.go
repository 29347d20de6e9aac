package keychain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// Limits of the search for model servers.
const (
	probeTimeout = time.Second
	maxProbe     = 1 << 20
	maxFound     = 50 // largest number of models of one server
)

// ModelServer is an address at which an OpenAI-compatible server may run.
type ModelServer struct {
	// BaseURL is the address to which /models and /chat/completions are appended.
	BaseURL string
	// APIKey is sent as a Bearer token. It is empty if the server needs no key.
	APIKey string
}

// Discover looks for OpenAI-compatible servers at the given addresses. Each model that a server lists becomes an entry
// "prefix/model" of the user, in the low tier, which requests for every tier can reach. Entries that an earlier search
// has found and this search does not find are removed, even if their servers are not among the given ones. Discover
// returns the base URLs of the servers that answered.
func (s *Service) Discover(
	ctx context.Context, userID, prefix string, servers []ModelServer, transport http.RoundTripper,
) ([]string, error) {
	stored, err := s.selectModels(ctx, userID)
	if err != nil {
		return nil, err
	}
	var answering []string                // base URLs of servers that answered
	var entries []string                  // the names of the listed models, in the order of the servers
	toAdd := make(map[string]CustomModel) // by entry name
	probed := make(map[string]bool)       // base URLs
	for _, server := range servers {
		server.BaseURL = strings.TrimRight(server.BaseURL, "/")
		if probed[server.BaseURL] {
			continue
		}
		probed[server.BaseURL] = true
		models := listModels(ctx, server, transport)
		if len(models) == 0 {
			continue
		}
		answering = append(answering, server.BaseURL)
		for _, id := range models {
			entry := prefix + "/" + id
			if _, taken := toAdd[entry]; !taken {
				toAdd[entry] = CustomModel{
					Entry: entry, BaseURL: server.BaseURL, Model: id, Tier: catalog.Low, APIKey: server.APIKey, found: true,
				}
				entries = append(entries, entry)
			}
		}
	}
	for i := range stored {
		row := &stored[i]
		if !row.Custom || !strings.HasPrefix(row.Entry, prefix+"/") {
			continue
		}
		model, listed := toAdd[row.Entry]
		if listed && model.BaseURL == row.BaseURL {
			unchanged, err := s.hasKey(ctx, row, model.APIKey)
			if err != nil {
				return nil, err
			}
			if unchanged {
				delete(toAdd, row.Entry)
				continue
			}
		}
		if !listed && !row.Found && !probed[row.BaseURL] {
			continue // the user added this entry, for another server
		}
		if err := s.RemoveModel(ctx, userID, row.ID); err != nil {
			return nil, err
		}
	}
	for _, entry := range entries { // the models are tried in the order in which they are added
		model, ok := toAdd[entry]
		if !ok {
			continue
		}
		if _, err := s.AddModel(ctx, userID, model); err != nil && !alreadyExists(err) {
			return nil, fmt.Errorf("adding the model %s found at %s: %w", model.Entry, model.BaseURL, err)
		}
	}
	return answering, nil
}

// hasKey reports whether key is the stored API key of an entry. An empty key means that the entry has no API key.
func (s *Service) hasKey(ctx context.Context, m *modelRow, key string) (bool, error) {
	if m.Sealed == "" || key == "" {
		return m.Sealed == key, nil
	}
	old, err := s.ring.Open(ctx, m.Sealed, m.associated())
	if err != nil && !errors.Is(err, keyring.ErrOpen) {
		return false, err
	}
	return err == nil && string(old) == key, nil
}

// alreadyExists reports whether err is AddModel's error for an entry that exists: either another node was faster, or
// the user has changed a catalog model of that name.
func alreadyExists(err error) bool {
	refusal, ok := apierror.From(err)
	return ok && refusal.Code == "already_exists"
}

// listModels returns the names of the models that a server lists. It returns nil if the server gives no valid answer.
func listModels(ctx context.Context, server ModelServer, transport http.RoundTripper) []string {
	if transport == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.BaseURL+"/models", nil)
	if err != nil {
		return nil
	}
	if server.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+server.APIKey)
	}
	resp, err := transport.RoundTrip(request)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxProbe)).Decode(&list) != nil {
		return nil
	}
	var models []string
	for _, m := range list.Data {
		if checkText("model", m.ID, 1, 150) == nil && !strings.ContainsAny(m.ID, " \t") && len(models) < maxFound {
			models = append(models, m.ID)
		}
	}
	return models
}

// SyncProviderKey makes secret the text of the user's key with that provider and label, and adds the key if it does not
// exist. An empty secret removes the key. Nothing is written if the stored key has this text already.
func (s *Service) SyncProviderKey(ctx context.Context, userID, provider, label, secret string) error {
	rows, err := s.selectProviderKeys(ctx, userID)
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		if row.Provider != provider || row.Label != label {
			continue
		}
		if secret != "" {
			old, err := s.ring.Open(ctx, row.sealed, row.associated())
			if err != nil && !errors.Is(err, keyring.ErrOpen) {
				return err // without the keyring the texts cannot be compared, so the key must not be replaced
			}
			if err == nil && string(old) == secret {
				return nil
			}
		}
		if err := s.DeleteProviderKey(ctx, userID, row.ID); err != nil {
			return err
		}
	}
	if secret == "" {
		return nil
	}
	_, err = s.AddProviderKey(ctx, userID, provider, secret, label, func(string) bool { return true })
	return err
}
