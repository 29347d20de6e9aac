package cascade

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// NewTransport returns the connection pool to the providers of the catalog, whose base URLs are set by the operator.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		// Each open stream holds this buffer; larger bodies are written past it.
		WriteBufferSize:    2 << 10,
		DisableCompression: true, // streams must not wait for a decoder
	}
}

// NewGuardedTransport returns the connection pool to base URLs that users set. A dial to an address that is not public
// is refused unless allow contains it. The check is on the address that is connected to, so a host name cannot get
// around it.
func NewGuardedTransport(allow []netip.Prefix) *http.Transport {
	t := NewTransport()
	t.Proxy = nil // a proxy would dial in the gateway's place, past the guard
	t.DialContext = outbound.Dialer(allow).DialContext
	return t
}
