package protocol

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// PushPath is the pushed authorization request endpoint.
const PushPath = "/oauth/par"

// credentials are the parameters of a request that must not be stored.
var credentials = []string{"client_secret", "client_assertion", "client_assertion_type"}

// push stores an authorization request, to which the browser's request refers later (RFC 9126 section 2).
func (p *Protocol) push(w http.ResponseWriter, r *http.Request) error {
	p.Proofs.Greet(w, r)
	form, err := kernel.ReadForm(w, r, "resource")
	if err != nil {
		return err
	}
	c, err := p.client(w, r, form)
	if err != nil {
		return err
	}
	jkt, err := p.Proofs.Key(w, r, PushPath, "")
	if err != nil {
		return err
	}
	values := make(url.Values, len(form))
	for _, field := range form {
		if !slices.Contains(credentials, field.Name) {
			values.Add(field.Name, field.Value)
		}
	}
	if jkt != "" { // equivalent to dpop_jkt (RFC 9449 section 10.1)
		if requested := values.Get("dpop_jkt"); requested != "" && requested != jkt {
			return kernel.Refuse(kernel.InvalidProof, "dpop_jkt must be the thumbprint of the key in the DPoP proof")
		}
		values.Set("dpop_jkt", jkt)
	}
	uri, err := p.Authorize.Push(r.Context(), c, values)
	if err != nil {
		return err
	}
	out := jsontext.AppendQuoted([]byte(`{"request_uri":`), uri)
	out = strconv.AppendInt(append(out, `,"expires_in":`...), int64(authorize.PushedLife/time.Second), 10)
	return write(w, http.StatusCreated, append(out, '}'))
}
