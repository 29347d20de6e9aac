package protocol

import (
	"encoding/json"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// DevicePath is the device authorization endpoint.
const DevicePath = "/oauth/device_authorization"

// authorizeDevice starts a device authorization (RFC 8628 section 3.1).
func (p *Protocol) authorizeDevice(w http.ResponseWriter, r *http.Request) error {
	form, err := kernel.ReadForm(w, r, "resource")
	if err != nil {
		return err
	}
	c, err := p.client(w, r, form)
	if err != nil {
		return err
	}
	if !c.May(clients.GrantDevice) {
		p.denied(r, c.ID, kernel.UnauthorizedClient)
		return kernel.Refuse(kernel.UnauthorizedClient, "the client is not registered for the grant %s", clients.GrantDevice)
	}
	resources, err := p.Catalog.Resolve(r.Context(), form.All("resource"))
	if err != nil {
		return err
	}
	answer, err := p.Devices.Begin(r.Context(), c, form.Get("scope"), resources)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, text)
}

// device serves the device_code grant: the device polls until the user has decided (RFC 8628 section 3.4). The jkt is
// the thumbprint of the key in the DPoP proof, or "" without a proof.
func (p *Protocol) device(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	code := form.Get("device_code")
	if code == "" {
		return answer, kernel.Refuse(kernel.InvalidRequest, "device_code is required")
	}
	g, useUp, err := p.Devices.Poll(r.Context(), c, code)
	if err != nil {
		return answer, err
	}
	return p.Tokens.Start(r.Context(), c, g, clients.GrantDevice, jkt, p.Address(r), useUp)
}
