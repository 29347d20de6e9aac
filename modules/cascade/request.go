package cascade

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/apiauth"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// client returns the gateway and the sender of the request.
func (h *Handler) client(r *http.Request) (*gateway.Gateway, *keychain.Identity, error) {
	identity, ok := apiauth.Identity(r)
	if !ok {
		identity = h.anonymous
	}
	if identity == nil {
		return nil, nil, refuse(http.StatusUnauthorized, "invalid_api_key",
			"no handler verified a gateway key: put `api_auth gateway_key` before `cascade`")
	}
	gw, err := h.app.Gateway()
	if err != nil {
		return nil, nil, caddyhttp.Error(http.StatusServiceUnavailable, err)
	}
	if !ok && identity.KeyID == "" { // anonymous: the operator may have imposed limits on the user
		identity, err = gw.Keychain.Keyless(r.Context(), identity.UserID)
	}
	return gw, identity, statusError(gateway.Unavailable(err))
}

// newRequest returns a cascade request of identity without a body.
func newRequest(r *http.Request, gw *gateway.Gateway, identity *keychain.Identity) *cascade.Request {
	request := &cascade.Request{
		ID: requestID(r), Via: r.Header["Via"], EffortMode: identity.EffortMode, Sealer: gw.Sealer, Items: gw.Items,
		User: identity.UserID, TeamID: identity.TeamID, KeyID: identity.KeyID,
	}
	request.Session = session(r)
	if identity.Restricted() {
		request.Forbids = identity.Forbids
	}
	if identity.RestrictsTools() {
		request.AdmitTools = identity.AdmitTools
	}
	return request
}

// read reads the request's body into request, and loads the account of the sender.
func (h *Handler) read(
	w http.ResponseWriter, r *http.Request, request *cascade.Request, place *formats.Place, gw *gateway.Gateway,
	identity *keychain.Identity,
) error {
	format := place.Format
	text, lease, err := body.Read(w, r, h.app.MemoryBudget(), identity.UserID)
	if err != nil {
		return err
	}
	if format == nil {
		err = request.ReadEmbeddings(text)
	} else if text, lease, err = h.expand(r, request, format, text, lease); err == nil {
		request.Header = headers(r, format)
		err = request.Read(format, text, place.Options(r.Header))
	}
	if err == nil {
		err = request.Label(r.Header, text)
	}
	switch {
	case err != nil:
		lease.Give()
		return statusError(err)
	case request.Chat == nil:
		lease.Keep()
		request.Lease = lease
	default:
		request.Chat.Lease = lease
	}
	if request.Account, err = gw.Keychain.Account(r.Context(), identity.UserID); err != nil {
		return statusError(gateway.Unavailable(err))
	}
	return nil
}

// expand returns the request body in text with the stored items that the body refers to: references to items are
// replaced by the items, and the earlier items of a continued response or conversation are inserted. The memory for
// the items is taken from the budget. lease holds the memory of text; the returned lease holds the memory of the
// returned body.
func (h *Handler) expand(
	r *http.Request, request *cascade.Request, format formats.Format, text []byte, lease *wire.Lease,
) ([]byte, *wire.Lease, error) {
	expanded, err := request.Expand(r.Context(), format, text)
	if k, ok := request.Stored.(*keeper); ok && err == nil {
		expanded, err = k.begin(r.Context(), expanded)
	}
	if err != nil || len(expanded) <= len(text) {
		return expanded, lease, gateway.Unavailable(err)
	}
	share := h.app.MemoryBudget().Share(request.User)
	if err := share.Grow(r.Context(), int64(len(expanded))); err != nil {
		return nil, lease, apierror.Unavailable("memory for the items that the request refers to", err)
	}
	lease.Give()
	return expanded, wire.NewLease(func(bool) { share.Free() }), nil
}

// headers returns the client's header fields that a provider gets if it uses the client's format. It returns nil if the
// format has no such fields.
func headers(r *http.Request, format formats.Format) map[string]string {
	names := format.Facts().Header
	if len(names) == 0 {
		return nil
	}
	header := make(map[string]string, len(names))
	for _, name := range names {
		if values := r.Header.Values(name); len(values) > 0 {
			header[name] = strings.Join(values, ",")
		}
	}
	return header
}

// session returns the session id that a coding agent sends in a header, or "".
func session(r *http.Request) string {
	const limit = 200 // in bytes; clients send less
	for _, name := range [...]string{
		"X-Claude-Code-Session-Id", "Session_id", "Session-Id", "X-Session-Id", "X-Session-Affinity",
	} {
		if value := r.Header.Get(name); value != "" && len(value) <= limit {
			return value
		}
	}
	return ""
}

// requestID returns the id that api_errors gave the request, or a new id if there is none.
func requestID(r *http.Request) string {
	if id := apierrors.RequestID(r.Context()); id != "" {
		return id
	}
	return wire.NewID("req_") // only without api_errors
}
