package protocol

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/exchange"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// exchange serves the token-exchange grant type (RFC 8693). The jkt is the thumbprint of the key in the DPoP proof, or
// "" without a proof.
func (p *Protocol) exchange(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	result, err := p.Exchange.Exchange(r.Context(), exchange.Request{
		Client: c, Subject: form.Get("subject_token"), SubjectType: form.Get("subject_token_type"),
		Actor: form.Get("actor_token"), ActorType: form.Get("actor_token_type"),
		RequestedType: form.Get("requested_token_type"), Resources: slices.Concat(form.All("resource"), form.All("audience")),
		Scope: form.Get("scope"), JKT: jkt,
	})
	if err != nil {
		reason := ""
		if exchange.IsTooDeep(err) {
			reason = "chain_too_deep"
		}
		p.deniedToken(r, c, "token.exchange_denied", "token_exchange_denied_total", reason, err)
		return answer, err
	}
	p.Count("token_exchange_total", result.Kind)
	e := kernel.Event{
		Action: "token.exchanged", Actor: result.Subject, Client: c.ID, Address: p.Address(r),
		Detail: []string{"kind", result.Kind, "scope", result.Scope, "parent", result.Parent},
	}
	if result.Kind == exchange.Brokered {
		e.Action = "upstream.token.issued"
	} else {
		e.Detail = append(e.Detail, "jti", result.JTI, "depth", strconv.Itoa(result.Depth))
	}
	p.Audit(r.Context(), e)
	return result.Answer, nil
}
