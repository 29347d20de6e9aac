package keychain

import (
	"context"
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

// Bounds of a look for model servers.
const (
	probeTimeout = time.Second
	maxProbe     = 1 << 20
	maxFound     = 50 // models of one server
)

// Discover looks for OpenAI-compatible servers at base URLs and makes each
// model that they list an entry "prefix/model" of the user, in the low tier, so
// that every tier reaches it. Entries of these bases that are not found any
// more are removed. It returns the bases that answered.
func (s *Service) Discover(ctx context.Context, userID, prefix string, bases []string, transport http.RoundTripper) ([]string, error) {
	known, err := s.selectModels(ctx, userID)
	if err != nil {
		return nil, err
	}
	var found, order []string
	wanted := make(map[string]CustomModel)
	for _, base := range bases {
		base = strings.TrimRight(base, "/")
		models := listModels(ctx, base, transport)
		if len(models) == 0 {
			continue
		}
		found = append(found, base)
		for _, id := range models {
			entry := prefix + "/" + id
			if _, taken := wanted[entry]; !taken {
				wanted[entry] = CustomModel{Entry: entry, BaseURL: base, Model: id, Tier: catalog.Low}
				order = append(order, entry)
			}
		}
	}
	for _, m := range known {
		if !m.Custom || !strings.HasPrefix(m.Entry, prefix+"/") {
			continue
		}
		if w, ok := wanted[m.Entry]; ok && w.BaseURL == m.BaseURL {
			delete(wanted, m.Entry) // it is there already
			continue
		}
		_, replaced := wanted[m.Entry]
		if !replaced && !slices.ContainsFunc(bases, func(b string) bool { return strings.TrimRight(b, "/") == m.BaseURL }) {
			continue // not one of these servers: the user's own entry
		}
		if err := s.RemoveModel(ctx, userID, m.ID); err != nil {
			return nil, err
		}
	}
	for _, entry := range order { // as the servers list them: that is the order of trial
		w, missing := wanted[entry]
		if !missing {
			continue
		}
		if _, err := s.AddModel(ctx, userID, w); err != nil && !exists(err) {
			return nil, fmt.Errorf("adding the model %s found at %s: %w", w.Entry, w.BaseURL, err)
		}
	}
	return found, nil
}

// exists reports that another node was faster, or that the name is taken by a
// change of the user's.
func exists(err error) bool {
	refusal, ok := apierror.From(err)
	return ok && refusal.Code == "already_exists"
}

// listModels asks a server for its models; one that does not answer well has none.
func listModels(ctx context.Context, base string, transport http.RoundTripper) []string {
	if transport == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return nil
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

// SyncProviderKey makes the user's key of that provider and label hold secret;
// an empty secret removes it. It writes only when something changes.
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
				return err // to be replaced by nothing
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
