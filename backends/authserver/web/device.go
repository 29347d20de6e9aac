package web

import (
	"net/http"
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// deviceForm is the data of the form that asks for the user code of a device (RFC 8628).
type deviceForm struct{ Code string }

// deviceConsentForm is the data of the form that asks for consent to the request of a device.
type deviceConsentForm struct {
	*authorize.Question
	Code  string // as the device shows it
	Found string // the code, signed for this browser, which proves that it was entered and found here
}

func (c *call) askDevice() error {
	code := c.Query.Text("user_code")
	if c.session == nil {
		return c.leave(c.At("/login?" + url.Values{"redirect": {deviceAt(code)}}.Encode()))
	}
	return c.Show("device", c.T("Connect a device"), &deviceForm{code})
}

// deviceMeanwhile handles a form if the signed-in user has changed since the form was shown. It shows the form for the
// user code again, with the code filled in.
func (c *call) deviceMeanwhile() error {
	code := c.Form.Text("user_code")
	if found, ok := c.Signer("device").Open(c.Form.Text("device"), c.Browser()); ok {
		code = string(found)
	}
	return c.leave(c.At(deviceAt(code)))
}

// deviceAt returns the path of the form for the user code, with a code filled in.
func deviceAt(code string) string {
	if code == "" {
		return device.Path
	}
	return device.Path + "?" + url.Values{"user_code": {code}}.Encode()
}

// device handles the form with the user code, and then the form with the user's decision.
func (c *call) device() error {
	if c.session == nil {
		return c.deviceMeanwhile()
	}
	if done, err := c.redirectToProve(c.needsFactor(), device.Path); done {
		return err
	}
	signer := c.Signer("device")
	if action := c.Form.Text("action"); action != "" {
		code, ok := signer.Open(c.Form.Text("device"), c.Browser())
		if !ok || action != "allow" && action != "deny" {
			return apierror.New(http.StatusBadRequest, "bad_request", "this form is not the one of a device")
		}
		allowed := action == "allow"
		if err := c.Device.Decide(c.Context(), string(code), c.session, allowed, c.Form.Values("scopes"),
			c.Address(c.R)); err != nil {
			return err
		}
		return c.Show("devicedone", c.T("Connect a device"), allowed)
	}
	form := &deviceForm{c.Form.Text("user_code")}
	w, err := c.Device.Find(c.Context(), c.session, form.Code)
	if err != nil {
		return c.ShowForm(err, "device", c.T("Connect a device"), form)
	}
	question, err := c.Authorize.Question(c.Context(), w.Request, w.Client)
	if err != nil {
		return err
	}
	return c.Show("deviceconsent", question.Client,
		&deviceConsentForm{question, w.Code, signer.Sign([]byte(w.Code), c.Browser())})
}
