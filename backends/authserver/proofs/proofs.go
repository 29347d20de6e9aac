// Package proofs is DPoP at the endpoints (RFC 9449): it looks at the proof of a request,
// and gives out nonces.
package proofs

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
)

// The error codes of RFC 9449 sections 5 and 8.
const (
	Invalid  = "invalid_dpop_proof"
	UseNonce = "use_dpop_nonce"
)

// Options of the proofs.
type Options struct {
	Lifetime     time.Duration // how far from now a proof may be made
	NonceLife    time.Duration
	RequireNonce bool
}

// Proofs looks at proofs. Nil, DPoP is switched off: no proof counts.
type Proofs struct {
	*kernel.Server
	verifier dpop.Verifier
}

// New makes what looks at proofs.
func New(s *kernel.Server, o Options) *Proofs {
	return &Proofs{s, dpop.Verifier{
		Lifetime: o.Lifetime, Nonces: dpop.Nonces{Signer: s.Signer("dpop-nonce"), Life: o.NonceLife}, RequireNonce: o.RequireNonce,
		Replays: s.Counters, Prefix: "authserver:dpop:", Now: s.Now,
	}}
}

// Key is the thumbprint of the key that a request to an endpoint proves to have; empty:
// it has no proof. path is that of the endpoint behind the issuer, token the access token
// that came along, if any did.
func (p *Proofs) Key(w http.ResponseWriter, r *http.Request, path, token string) (jkt string, err error) {
	if p == nil || !Sent(r) {
		return "", nil
	}
	p.Greet(w, r)
	proof, err := p.verifier.Verify(r.Context(), r.Header[header], dpop.Request{Method: r.Method, URL: p.Issuer + path, Token: token})
	if bad, ok := errors.AsType[*dpop.Error](err); ok {
		p.Count("dpop_proofs_rejected_total", bad.Reason)
		if bad == dpop.ErrNonce {
			p.renew(w)
			return "", kernel.Refuse(UseNonce, "%s", bad.Text)
		}
		return "", kernel.Refuse(Invalid, "%s", bad.Text)
	}
	if err != nil {
		return "", err
	}
	if proof.Renew {
		p.renew(w)
	}
	p.Count("dpop_proofs_validated_total", "")
	return proof.Thumbprint, nil
}

// Greet gives a nonce to who sends a proof, where one is required, whatever the answer
// will be.
func (p *Proofs) Greet(w http.ResponseWriter, r *http.Request) {
	if p != nil && p.verifier.RequireNonce && Sent(r) && w.Header().Get(dpop.NonceHeader) == "" {
		p.renew(w)
	}
}

func (p *Proofs) renew(w http.ResponseWriter) {
	w.Header().Set(dpop.NonceHeader, p.verifier.Nonces.New(p.Now()))
}

// header is dpop.Header as net/http writes it.
var header = http.CanonicalHeaderKey(dpop.Header)

// Sent reports whether a request has a proof, good or not.
func Sent(r *http.Request) bool { return len(r.Header[header]) > 0 }

// Challenge is what is wanted of who calls with a bound token (RFC 9449 section 7.1).
func Challenge(code string) string {
	return `DPoP error="` + code + `", algs="` + strings.Join(dpop.Algorithms, " ") + `"`
}
