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
	Found string // the code, signed: it proves that the code was entered in this browser and belongs to a waiting device
}

// askDevice shows the form for the user code of a device.
func (c *call) askDevice() error {
	code := c.Query.Text("user_code")
	if c.session == nil {
		return c.redirectTo(c.At("/login?" + url.Values{"redirect": {deviceLocation(code)}}.Encode()))
	}
	return c.Show("device", c.T("Connect a device"), &deviceForm{code})
}

// deviceUserChanged handles a form if the signed-in user has changed since the form was shown. It shows the form for
// the user code again, with the code filled in.
func (c *call) deviceUserChanged() error {
	code := c.Form.Text("user_code")
	if found, ok := c.Signer("device").Open(c.Form.Text("device"), c.Browser()); ok {
		code = string(found)
	}
	return c.redirectTo(c.At(deviceLocation(code)))
}

// deviceLocation returns the path of the form for the user code, with a code filled in.
func deviceLocation(code string) string {
	if code == "" {
		return device.Path
	}
	return device.Path + "?" + url.Values{"user_code": {code}}.Encode()
}

// device handles the form with the user code, and then the form with the user's decision.
func (c *call) device() error {
	if c.session == nil {
		return c.deviceUserChanged()
	}
	if done, err := c.requireSecondFactor(c.needsFactor(), device.Path); done {
		return err
	}
	signer := c.Signer("device")
	if action := c.Form.Text("action"); action != "" {
		code, ok := signer.Open(c.Form.Text("device"), c.Browser())
		if !ok || action != "allow" && action != "deny" {
			return apierror.New(http.StatusBadRequest, "bad_request",
				"this form is not valid in this browser; enter the code that the device shows once more")
		}
		allowed := action == "allow"
		if err := c.Device.Decide(c.Context(), string(code), c.session, allowed, c.Form.Values("scopes"),
			c.Address(c.R)); err != nil {
			return err
		}
		return c.Show("devicedone", c.T("Connect a device"), allowed)
	}
	form := &deviceForm{c.Form.Text("user_code")}
	waiting, err := c.Device.Find(c.Context(), c.session, form.Code)
	if err != nil {
		return c.ShowForm(err, "device", c.T("Connect a device"), form)
	}
	question, err := c.Authorize.Question(c.Context(), waiting.Request, waiting.Client)
	if err != nil {
		return err
	}
	signedCode := signer.Sign([]byte(waiting.Code), c.Browser())
	return c.Show("deviceconsent", question.Client, &deviceConsentForm{question, waiting.Code, signedCode})
}
