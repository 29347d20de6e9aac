package web

import (
	"errors"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// consentForm is the data of the form that asks for consent.
type consentForm struct {
	*authorize.Question
	Transaction string
}

// authorize handles an authorization request by GET.
func (c *call) authorize() error { return c.startAuthorization(c.R.URL.Query()) }

// authorizeForm handles an authorization request by POST (OpenID Connect Core section 3.1.2.1).
func (c *call) authorizeForm() error {
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.startAuthorization(c.R.PostForm)
}

// startAuthorization handles a new authorization request with the given parameters.
func (c *call) startAuthorization(values url.Values) error {
	r, err := c.Authorize.Parse(c.Context(), values)
	if err != nil {
		return c.refuse(err)
	}
	c.keepLanguage(locale.Wish(r.Locales))
	step, response, err := c.Authorize.Next(c.Context(), r, c.session)
	switch {
	case err != nil:
		return c.refuse(err)
	case step == authorize.Done:
		return c.respond(response)
	}
	transaction := c.Authorize.Seal(r, c.Browser())
	if step == authorize.SignIn {
		return c.toLogin(r, transaction)
	}
	return c.redirectTo(c.At(consentLocation(transaction)))
}

// refuse sends a *RefusalError to the client. It returns any other error, for the error page.
func (c *call) refuse(err error) error {
	refusal, ok := errors.AsType[*authorize.RefusalError](err)
	if !ok {
		return err
	}
	if cause := refusal.Reason.Cause; cause != nil && c.Context().Err() == nil {
		c.web.Server.Logger().Error("an authorization request failed", zap.Error(cause))
	}
	return c.respond(c.Authorize.Refused(refusal))
}

// respond sends a response to the client: either by a redirect, or by a page with a form that the browser posts to the
// client at once.
func (c *call) respond(response *authorize.Response) error {
	if !response.Form {
		return c.redirectTo(response.Location())
	}
	c.allowRedirectTo(response.To)
	return c.Show("respond", c.T("Back to the application"), &respondForm{response, authorize.TargetOf(response.To)})
}

// respondForm is the data of the form that the browser posts to a client.
type respondForm struct {
	*authorize.Response
	Target authorize.Target
}

// openTransaction returns the authorization request in a transaction and its client, if the user is signed in as the
// request requires. Otherwise it sends a response, and done is true. A transaction is an authorization request in
// progress, as a signed text that is bound to the browser; see authorize.Authorize.Seal.
func (c *call) openTransaction(
	transaction string,
) (r *authorize.Request, client *clients.Client, done bool, err error) {
	r, client, err = c.Authorize.Open(c.Context(), transaction, c.Browser())
	if err != nil {
		return nil, nil, true, c.refuse(err)
	}
	signedIn, err := c.Authorize.SignedIn(r, c.session)
	if err != nil {
		return nil, nil, true, c.refuse(err)
	}
	if !signedIn {
		return nil, nil, true, c.toLogin(r, transaction)
	}
	needed := c.Authorize.NeedsSecondFactor(r, c.session)
	if done, err := c.requireSecondFactor(needed, consentLocation(transaction)); done {
		return nil, nil, true, err
	}
	return r, client, false, nil
}

// consentLocation returns the path of the consent page for a transaction.
func consentLocation(transaction string) string {
	return "/consent?" + url.Values{"session_id": {transaction}}.Encode()
}

// askConsent shows the consent page of a transaction. If no consent is needed, it responds to the client.
func (c *call) askConsent() error {
	transaction := c.Query.Text("session_id")
	r, client, done, err := c.openTransaction(transaction)
	if done {
		return err
	}
	step, response, err := c.Authorize.Next(c.Context(), r, c.session)
	switch {
	case err != nil:
		return c.refuse(err)
	case step == authorize.Done:
		return c.respond(response)
	}
	return c.showConsent(r, client, transaction)
}

// showConsent shows the consent form.
func (c *call) showConsent(r *authorize.Request, client *clients.Client, transaction string) error {
	question, err := c.Authorize.Question(c.Context(), r, client)
	if err != nil {
		return c.refuse(err)
	}
	c.allowRedirectToClient(r)
	return c.Show("consent", question.Client, &consentForm{question, transaction})
}

// consentUserChanged handles a consent form if the signed-in user has changed since the form was shown. It asks the
// current user even if that user has already given consent, since the previous user may have denied the request.
func (c *call) consentUserChanged() error {
	transaction := c.Form.Text("session_id")
	r, client, done, err := c.openTransaction(transaction)
	if done {
		return err
	}
	return c.showConsent(r, client, transaction)
}

// consent handles the consent form. It responds to the client with a code or a refusal.
func (c *call) consent() error {
	r, client, done, err := c.openTransaction(c.Form.Text("session_id"))
	if done {
		return err
	}
	switch c.Form.Text("action") {
	case "allow":
		response, err := c.Authorize.Allow(c.Context(), r, client, c.session, c.Form.Values("scopes"), c.Address(c.R))
		if err != nil {
			return c.refuse(err)
		}
		return c.respond(response)
	case "deny":
		return c.respond(c.Authorize.Deny(c.Context(), r, c.session, c.Address(c.R)))
	}
	return apierror.New(http.StatusBadRequest, "bad_request", "the form field action must be allow or deny")
}
