package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
)

// metadata returns a handler that serves the discovery document at the given path. The documents are cached.
func (p *Protocol) metadata(path string) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		text, err := p.documents.Get(r.Context(), path)
		if err != nil {
			return err
		}
		return publish(w, text)
	}
}

// publish sends JSON that any cache may store for five minutes.
func publish(w http.ResponseWriter, text []byte) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, fresh
	_, _ = w.Write(text) // an error means that the client is gone
	return nil
}

// proofAlgorithms is a member of authorization server metadata (RFC 9449 section 5.1) and of protected resource
// metadata (RFC 9728 section 2).
const proofAlgorithms = "dpop_signing_alg_values_supported"

// document returns the authorization server metadata (RFC 8414 section 2) or the OpenID discovery document, depending
// on the path. The OpenID discovery document has additional members, which only OpenID clients need.
func (p *Protocol) document(ctx context.Context, path string) ([]byte, error) {
	all, err := p.Catalog.All(ctx)
	if err != nil {
		return nil, err
	}
	scopes, err := p.Catalog.Scopes(ctx)
	if err != nil {
		return nil, err
	}
	mode, err := p.Clients.Mode(ctx)
	if err != nil {
		return nil, err
	}
	var uris []string
	for _, r := range all {
		if r.Kind == resources.Mint {
			uris = append(uris, r.URI)
		}
	}
	methods := []string{clients.MethodNone, clients.MethodBasic, clients.MethodPost, clients.MethodKey}
	document := map[string]any{
		"issuer":                                p.Issuer,
		"authorization_endpoint":                p.Issuer + AuthorizePath,
		"token_endpoint":                        p.Issuer + TokenPath,
		"revocation_endpoint":                   p.Issuer + RevokePath,
		"introspection_endpoint":                p.Issuer + IntrospectPath,
		"jwks_uri":                              p.Issuer + JWKSPath,
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 p.Grants,
		"token_endpoint_auth_methods_supported": methods,
		"token_endpoint_auth_signing_alg_values_supported":         clients.AssertionAlgorithms,
		"introspection_endpoint_auth_methods_supported":            methods[1:], // not MethodNone
		"introspection_endpoint_auth_signing_alg_values_supported": clients.AssertionAlgorithms,
		"revocation_endpoint_auth_methods_supported":               methods,
		"revocation_endpoint_auth_signing_alg_values_supported":    clients.AssertionAlgorithms,
		"code_challenge_methods_supported":                         []string{"S256"},
		"resource_indicators_supported":                            true,
		"authorization_response_iss_parameter_supported":           true,
		"agent_identity_supported":                                 true,
	}
	if p.Proofs != nil {
		document[proofAlgorithms] = dpop.Algorithms
	}
	if p.Devices != nil {
		document["device_authorization_endpoint"] = p.Issuer + DevicePath
	}
	if p.Authorize != nil {
		document["response_modes_supported"] = p.Authorize.Modes()
		document["pushed_authorization_request_endpoint"] = p.Issuer + PushPath
	}
	if p.Enterprise != nil {
		document["authorization_grant_profiles_supported"] = []string{idJAG}
	}
	if p.Documents {
		document["client_id_metadata_document_supported"] = true
	}
	if mode != clients.AdminOnly {
		document["registration_endpoint"] = p.Issuer + RegisterPath
	}
	if len(uris) > 0 {
		document["protected_resources"] = uris
	}
	if path == openIDPath {
		document["subject_types_supported"] = []string{"public"}
	}
	if path == openIDPath || p.OpenID != nil { // strict clients expect this member in both documents
		document["id_token_signing_alg_values_supported"] = []string{p.Algorithm}
	}
	if p.OpenID != nil {
		maps.Copy(document, p.OpenID)
		openIDScopes, _ := p.OpenID["scopes_supported"].([]string)
		scopes = slices.Concat(scopes, openIDScopes)
		slices.Sort(scopes)
		scopes = slices.Compact(scopes)
	}
	delete(document, "scopes_supported") // the copied member has only the scopes of OpenID
	if len(scopes) > 0 {
		document["scopes_supported"] = scopes
	}
	return json.Marshal(document)
}

// jwks serves the JWK set of the public keys (RFC 7517 section 5), with the list of agents if that is enabled.
func (p *Protocol) jwks(w http.ResponseWriter, r *http.Request) error {
	text, err := p.Keys.JWKS(r.Context())
	if err != nil {
		return err
	}
	if !p.Agents {
		return publish(w, text)
	}
	agents, err := p.Clients.Agents(r.Context(), maxAgents)
	if err != nil {
		return err
	}
	type agent struct {
		ID   string `json:"client_id"`
		Text string `json:"description"`
	}
	list := make([]agent, len(agents))
	for i, c := range agents {
		list[i] = agent{c.ID, c.AgentText}
	}
	agentsJSON, err := json.Marshal(list)
	if err != nil {
		return err
	}
	withoutBrace := text[:len(text)-1]
	out := append(slices.Clone(withoutBrace), `,"agents":`...)
	return publish(w, append(append(out, agentsJSON...), '}'))
}

// maxAgents is the maximum number of agents in the response with the JWK set.
const maxAgents = 1000

// protectedResource serves the metadata of a resource (RFC 9728 section 2).
func (p *Protocol) protectedResource(w http.ResponseWriter, r *http.Request) error {
	ref := r.PathValue("ref")
	notFound := apierror.New(http.StatusNotFound, "not_found", "there is no such resource")
	if ref == "" || !utf8.ValidString(ref) {
		return notFound
	}
	resource, err := p.Catalog.ByRef(r.Context(), ref)
	if errors.Is(err, resources.ErrUnknown) {
		return notFound
	}
	if err != nil {
		return err
	}
	document := map[string]any{
		"resource": resource.URI, "authorization_servers": []string{p.Issuer}, "bearer_methods_supported": []string{"header"},
	}
	if p.Proofs != nil {
		document[proofAlgorithms] = dpop.Algorithms
	}
	if names := resource.Names(); len(names) > 0 {
		document["scopes_supported"] = names
	}
	if resource.DisplayName != "" {
		document["resource_name"] = resource.DisplayName
	}
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return publish(w, text)
}
