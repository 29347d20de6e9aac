package body

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
)

// Offer is a client's original request. A middleware that translates requests offers it to the next handler. If the
// next handler takes the offer, it answers the original request in the client's format, and the middleware translates
// nothing.
type Offer struct {
	Request *http.Request
	Format  formats.Format // the client's format, in which the answer must be
	taken   atomic.Bool
}

type offerKey struct{}

// With returns a copy of the request whose context contains the offer.
func (o *Offer) With(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), offerKey{}, o))
}

// OfferOf returns the offer in a request's context, or nil if there is no offer.
func OfferOf(r *http.Request) *Offer {
	o, _ := r.Context().Value(offerKey{}).(*Offer)
	return o
}

// Take marks the offer as taken.
func (o *Offer) Take() { o.taken.Store(true) }

// Taken reports whether the offer was taken.
func (o *Offer) Taken() bool { return o.taken.Load() }
