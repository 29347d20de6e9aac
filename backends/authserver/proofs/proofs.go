// Package proofs implements DPoP (proof of possession, RFC 9449) at the endpoints: it checks the proof of a request and
// issues nonces.
package proofs

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
)

// UseNonce is the error code for a proof without a nonce of this server (RFC 9449 section 8).
const UseNonce = "use_dpop_nonce"

// Options are the settings of Proofs.
type Options struct {
	Lifetime     time.Duration // the maximum difference between now and the time of a proof
	NonceLife    time.Duration // how long a nonce of this server is accepted
	RequireNonce bool          // refuse proofs without a nonce of this server
}

// Proofs checks proofs. A nil Proofs means that DPoP is disabled and proofs are ignored.
type Proofs struct {
	*kernel.Server
	verifier dpop.Verifier
}

// New returns a Proofs.
func New(s *kernel.Server, o Options) *Proofs {
	return &Proofs{s, dpop.Verifier{
		Lifetime: o.Lifetime, Nonces: dpop.Nonces{Signer: s.Signer("dpop-nonce"), Life: o.NonceLife},
		RequireNonce: o.RequireNonce,
		Replays:      s.Counters, Prefix: "authserver:dpop:", Now: s.Now,
	}}
}

// Key returns the thumbprint of the key in a request's DPoP proof, or "" for a request without a proof. The path is the
// path of the endpoint, relative to the issuer. The token is the access token of the request, or "". If the proof is
// not accepted, the error is invalid_dpop_proof or use_dpop_nonce.
func (p *Proofs) Key(w http.ResponseWriter, r *http.Request, path, token string) (jkt string, err error) {
	if p == nil || !Sent(r) {
		return "", nil
	}
	p.Greet(w, r)
	proof, err := p.verifier.Verify(r.Context(), r.Header[header],
		dpop.Request{Method: r.Method, URL: p.Issuer + path, Token: token})
	if invalid, ok := errors.AsType[*dpop.Error](err); ok {
		p.Count("dpop_proofs_rejected_total", invalid.Reason)
		if invalid == dpop.ErrNonce {
			p.sendNonce(w)
			return "", kernel.Refuse(UseNonce, "%s", invalid.Text)
		}
		return "", kernel.Refuse(kernel.InvalidProof, "%s", invalid.Text)
	}
	if err != nil {
		return "", err
	}
	if proof.Renew {
		p.sendNonce(w)
	}
	p.Count("dpop_proofs_validated_total", "")
	return proof.Thumbprint, nil
}

// Greet adds a nonce to the response if nonces are required and the request has a proof. The client must use the
// nonce in its next proof. Endpoints call Greet before they check the request, so that refused requests get a nonce
// too.
func (p *Proofs) Greet(w http.ResponseWriter, r *http.Request) {
	if p != nil && p.verifier.RequireNonce && Sent(r) && w.Header().Get(dpop.NonceHeader) == "" {
		p.sendNonce(w)
	}
}

// sendNonce sets a new nonce in the header of the response.
func (p *Proofs) sendNonce(w http.ResponseWriter) {
	w.Header().Set(dpop.NonceHeader, p.verifier.Nonces.New(p.Now()))
}

// header is dpop.Header in the canonical form of net/http.
var header = http.CanonicalHeaderKey(dpop.Header)

// Sent reports whether a request has a DPoP proof, valid or not.
func Sent(r *http.Request) bool { return len(r.Header[header]) > 0 }

// Challenge returns the WWW-Authenticate challenge, with an error code, for a request with a bound token (RFC 9449
// section 7.1).
func Challenge(code string) string {
	return `DPoP error="` + code + `", algs="` + strings.Join(dpop.Algorithms, " ") + `"`
}
