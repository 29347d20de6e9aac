package protocol

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// idJAG is the profile of the jwt-bearer grant type that this server supports.
const idJAG = "urn:ietf:params:oauth:grant-profile:id-jag"

// assertion serves the jwt-bearer grant type (RFC 7523 section 2.1) with an ID-JAG. The jkt is the thumbprint of the
// key in the DPoP proof, or "" without a proof.
func (p *Protocol) assertion(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	text := form.Get("assertion")
	switch {
	case c.Public():
		err = kernel.Refuse(kernel.UnauthorizedClient, "a public client must not use the grant %s", clients.GrantJWT)
	case text == "":
		err = kernel.Refuse(kernel.InvalidRequest, "assertion is required")
	}
	var result xaa.Result
	if err == nil {
		result, err = p.Enterprise.Redeem(r.Context(),
			xaa.Request{Client: c, Assertion: text, Scope: form.Get("scope"), Resources: form.All("resource"), JKT: jkt})
	}
	if err != nil {
		detail := ""
		if e, ok := apierror.From(err); ok {
			detail = e.Message
		}
		p.deniedToken(r, c, "jwt_bearer.denied", "jwt_bearer_denied_total", "", err, "detail", detail)
		return answer, err
	}
	p.Audit(r.Context(), kernel.Event{
		Action: "jwt_bearer.issued", Actor: result.Subject, Client: c.ID, Address: p.Address(r),
		Detail: []string{"idp", result.IdP, "scope", result.Answer.Scope},
	})
	return result.Answer, nil
}
