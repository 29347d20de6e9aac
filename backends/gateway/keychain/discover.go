package keychain

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// Discover looks for OpenAI-compatible servers at the given addresses. Each model that a server lists becomes an
// entry "prefix/model" of the user. The entries are in the low tier, which requests for every tier can reach. Entries
// that an earlier search has found and this search does not find are removed, even if their servers are not among the
// given ones. Discover returns the base URLs of the servers that answered.
func (s *Service) Discover(
	ctx context.Context, userID, prefix string, servers []ModelServer, transport http.RoundTripper,
) ([]string, error) {
	stored, err := s.selectModels(ctx, userID)
	if err != nil {
		return nil, err
	}
	found := search(ctx, prefix, servers, transport)
	unchanged := make(map[string]bool) // names of entries that are stored as they were found
	for i := range stored {
		row := &stored[i]
		if !row.Custom || !strings.HasPrefix(row.Entry, prefix+"/") {
			continue
		}
		model := found.model(row.Entry)
		if model == nil && !row.Found && !found.asked[row.BaseURL] {
			continue // the user added this entry, for another server
		}
		if model != nil && model.BaseURL == row.BaseURL {
			sameKey, err := s.hasKey(ctx, row, model.APIKey)
			if err != nil {
				return nil, err
			}
			if sameKey {
				unchanged[row.Entry] = true
				continue
			}
		}
		if err := s.RemoveModel(ctx, userID, row.ID); err != nil { // added anew below if it was found
			return nil, err
		}
	}
	for _, model := range found.models {
		if unchanged[model.Entry] {
			continue
		}
		if _, err := s.AddModel(ctx, userID, model); err != nil && !alreadyExists(err) {
			return nil, fmt.Errorf("adding the model %s found at %s: %w", model.Entry, model.BaseURL, err)
		}
	}
	return found.answering, nil
}

// found is what a search has found.
type found struct {
	models    []CustomModel   // in the order of the servers, in which the models are also tried; entry names are unique
	asked     map[string]bool // base URLs of all servers that were asked
	answering []string        // base URLs of the servers that listed models
}

// model returns the model with an entry name, or nil if it was not found.
func (f *found) model(entry string) *CustomModel {
	index := slices.IndexFunc(f.models, func(m CustomModel) bool { return m.Entry == entry })
	if index < 0 {
		return nil
	}
	return &f.models[index]
}

// search asks each server for its models, which become entries "prefix/model". If several servers list a model of the
// same name, the first of them has the entry.
func search(ctx context.Context, prefix string, servers []ModelServer, transport http.RoundTripper) *found {
	f := &found{asked: make(map[string]bool)}
	for _, server := range servers {
		server.BaseURL = strings.TrimRight(server.BaseURL, "/")
		if f.asked[server.BaseURL] {
			continue
		}
		f.asked[server.BaseURL] = true
		ids := listModels(ctx, server, transport)
		if len(ids) > 0 {
			f.answering = append(f.answering, server.BaseURL)
		}
		for _, id := range ids {
			if entry := prefix + "/" + id; f.model(entry) == nil {
				f.models = append(f.models, CustomModel{
					Entry: entry, BaseURL: server.BaseURL, Model: id, Tier: catalog.Low, APIKey: server.APIKey, found: true,
				})
			}
		}
	}
	return f
}

// hasKey reports whether key is the stored API key of an entry. An empty key means that the entry has no API key.
func (s *Service) hasKey(ctx context.Context, m *modelRow, key string) (bool, error) {
	if m.Sealed == "" || key == "" {
		return m.Sealed == key, nil
	}
	return s.holds(ctx, m.Sealed, m.associated(), key)
}

// holds reports whether sealed is the sealed form of text, with the given associated data. It reports false if sealed
// cannot be decrypted because its master key is not in the keyring. Other errors of the keyring are returned.
func (s *Service) holds(ctx context.Context, sealed string, associated []byte, text string) (bool, error) {
	stored, err := s.ring.Open(ctx, sealed, associated)
	if errors.Is(err, keyring.ErrOpen) {
		return false, nil
	}
	return err == nil && subtle.ConstantTimeCompare(stored, []byte(text)) == 1, err
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

// SyncProviderKey sets the text of the user's key with the given provider and label to secret. If the key does not
// exist, it is added. An empty secret removes the key. Nothing is written if the stored key has this text already.
func (s *Service) SyncProviderKey(ctx context.Context, userID, provider, label, secret string) error {
	rows, err := s.keysOf(ctx, Owner{OnUser, userID})
	if err != nil {
		return err
	}
	for i := range rows {
		row := &rows[i]
		if row.Provider != provider || row.Label != label {
			continue
		}
		if secret != "" {
			same, err := s.holds(ctx, row.sealed, row.associated(), secret)
			if err != nil || same {
				return err // if the texts cannot be compared, the key must not be replaced
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
