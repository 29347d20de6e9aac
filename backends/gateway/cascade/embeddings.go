package cascade

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/embeddings"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// ReadEmbeddings parses a client's request for vectors (embeddings). Its errors are *apierror.Error with status 400.
func (q *Request) ReadEmbeddings(body []byte) (err error) {
	q.Embed, err = embeddings.Parse(body)
	return err
}

// planVectors returns the candidates of a request for vectors: the requested model, with or without its provider's
// name, and the same model at other providers. No other model is tried, since vectors of two models cannot be compared.
// The errors are 400 no_provider_keys, 403 permission_denied, 404 model_not_found and 409 no_models_available.
func (r *run) planVectors() ([]*keychain.Candidate, error) {
	routing := r.req.Account.RoutingFor(r.Catalog(), r.req.TeamID)
	if !routing.Connected {
		return nil, noProviderKeys()
	}
	r.resolve(routing)
	names := routing.Entries()
	entry, isEntry := routing.Entry(r.model)
	if !isEntry { // the name may be without a provider: take the first entry whose family has this name
		for _, name := range names {
			if c, _ := routing.Entry(name); c.Model.Embeddings && c.Model.Family == r.model {
				entry = c
				break
			}
		}
	}
	switch {
	case entry == nil:
		return nil, r.embeddingModelNotFound(routing, names)
	case !entry.Model.Embeddings && !entry.Custom: // the abilities of a user's own server are unknown
		return nil, &apierror.Error{
			Status: http.StatusConflict, Code: "no_models_available", Type: "invalid_request_error", Param: "model",
			NoRetry: true,
			Message: "the model \"" + wire.Mask(r.model, 100) + "\" makes no embeddings" + r.embeddingModelsHint(routing, names),
		}
	}
	forbiddenBy := r.req.forbids(entry)
	if isEntry && forbiddenBy != "" { // not replaced by the model at another provider, since the client has named this one
		return nil, notAllowed(r.model, forbiddenBy)
	}
	plan := []*keychain.Candidate{entry}
	for _, name := range names {
		if c, _ := routing.Entry(name); c != entry && c.Model.Embeddings && c.Model.Family == entry.Model.Family {
			plan = append(plan, c)
		}
	}
	plan = slices.DeleteFunc(plan, func(c *keychain.Candidate) bool { return r.req.forbids(c) != "" })
	if len(plan) == 0 {
		return nil, notAllowed(r.model, forbiddenBy)
	}
	slices.SortStableFunc(plan, func(a, b *keychain.Candidate) int { return r.fails(a) - r.fails(b) })
	return plan, nil
}

// fails returns 1 for a candidate whose provider is in a back-off, and 0 for any other, as a sort key.
func (r *run) fails(c *keychain.Candidate) int {
	if r.Memory.Health.failing(ProviderScope(c), r.req.User) {
		return 1
	}
	return 0
}

// embeddingModelNotFound returns the error for a model that makes no vectors or is unknown. names are the entries from
// which the error may list alternatives.
func (r *run) embeddingModelNotFound(routing *keychain.Routing, names []string) error {
	return &apierror.Error{
		Status: http.StatusNotFound, Code: "model_not_found", Type: "not_found_error", Param: "model", NoRetry: true,
		Message: "there is no model \"" + wire.Mask(r.model, 100) + "\" for this key that makes embeddings" +
			r.embeddingModelsHint(routing, names),
	}
}

// embeddingModelsHint returns the end of an error message, which lists the models that make vectors.
func (r *run) embeddingModelsHint(routing *keychain.Routing, names []string) string {
	const limit = 20
	var models []string
	for _, name := range names {
		if c, _ := routing.Entry(name); c.Model.Embeddings && r.req.forbids(c) == "" && len(models) < limit {
			models = append(models, name)
		}
	}
	if len(models) == 0 {
		return "; no connected provider has a model for embeddings"
	}
	return "; use one of " + strings.Join(models, ", ")
}

// embedding prepares a request for vectors for a candidate.
func (r *run) embedding(c *keychain.Candidate, s *shape) *exchange {
	body, dropped := r.req.Embed.For(c.Model.ID, s.Drop)
	return &exchange{
		url: c.Provider.EmbeddingsURL(), format: formats.Chat(), written: body, dropped: dropped,
		vectors: embeddings.NewPass(r.req.Embed),
	}
}
