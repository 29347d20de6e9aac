package body

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
)

// Offer is a client's own request, from which a middleware makes another one for the handler behind it. If that handler
// takes the client's own request it answers in its format, and nothing is translated.
type Offer struct {
	Request *http.Request
	Format  formats.Format
	taken   atomic.Bool
}

type offerKey struct{}

// With returns a copy of the request whose context has the offer.
func (o *Offer) With(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), offerKey{}, o))
}

// OfferOf returns the offer of a request, or nil if there is none.
func OfferOf(r *http.Request) *Offer {
	o, _ := r.Context().Value(offerKey{}).(*Offer)
	return o
}

// Take marks the offer as taken.
func (o *Offer) Take() { o.taken.Store(true) }

// Taken reports whether the offer was taken.
func (o *Offer) Taken() bool { return o.taken.Load() }
