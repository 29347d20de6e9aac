package body

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
)

// Offer is a client's own request, of which a middleware makes another one for the
// handler behind it: a handler that takes the client's own answers in its format, and
// nothing is translated.
type Offer struct {
	Request *http.Request
	Format  formats.Format
	taken   atomic.Bool
}

type offerKey struct{}

// With returns a request with the offer.
func (o *Offer) With(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), offerKey{}, o))
}

// OfferOf is the offer of a request; nil: there is none.
func OfferOf(r *http.Request) *Offer {
	o, _ := r.Context().Value(offerKey{}).(*Offer)
	return o
}

// Take takes it.
func (o *Offer) Take() { o.taken.Store(true) }

// Taken reports whether somebody has.
func (o *Offer) Taken() bool { return o.taken.Load() }
