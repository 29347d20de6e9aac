package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A user connects an account at a provider with the account here by signing in to both. A short-lived cookie, which is
// bound to the browser, proves the sign-in at the provider. The session proves the sign-in here. The user confirms the
// connection in a form, so that opening a link is not enough to connect accounts.

const (
	joinPath   = accountPath + "/join"
	joinCookie = "authserver_join"
	// joinLasts is the maximum time between the sign-in at the provider and the confirmation.
	joinLasts = 15 * time.Minute
	// maxJoin is the maximum length of the cookie; browsers keep about 4 KB.
	maxJoin = 3500
)

// joins is the content of the cookie: it identifies the account at the provider.
type joins struct {
	Upstream string `json:"upstream"`
	Subject  string `json:"subject"`
	Username string `json:"username"`
	At       int64  `json:"at"`
}

// joinForm is the data of the form that confirms the connection.
type joinForm struct {
	Upstream string // the display name of the provider
	Username string // the user name at the provider, or empty
	User     string // the mail address of the account here
	Redirect string
}

var errJoin = apierror.New(http.StatusBadRequest, "bad_request",
	"This took too long, or began in another browser. Begin again at your account.")

// offer sets the cookie for a person who has signed in at a provider. It redirects to the page that connects the
// accounts, which first requires a sign-in here. Afterwards the browser continues at the path to.
func (c *call) offer(provider *upstreams.Upstream, person *oidclogin.Person, to string) error {
	called := person.Username
	if called == "" {
		called = person.Email
	}
	raw, err := json.Marshal(joins{provider.Slug, person.Subject, called, c.Micros()})
	if err != nil {
		return err
	}
	cookie := c.Signer("join").Sign(raw, c.Browser())
	if len(cookie) > maxJoin { // the name is too long
		if raw, err = json.Marshal(joins{provider.Slug, person.Subject, "", c.Micros()}); err != nil {
			return err
		}
		cookie = c.Signer("join").Sign(raw, c.Browser())
	}
	c.setJoin(cookie, int(joinLasts/time.Second))
	return c.leave(c.At(withOnward(joinPath, to)))
}

func (c *call) setJoin(value string, age int) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: joinCookie, Value: value, Path: c.At("/"), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}

// joined returns the provider and the content of the cookie. The provider is nil if the browser has no valid cookie.
func (c *call) joined() (*upstreams.Upstream, *joins) {
	cookie, err := c.R.Cookie(joinCookie)
	if err != nil {
		return nil, nil
	}
	raw, ok := c.Signer("join").Open(cookie.Value, c.Browser())
	j := new(joins)
	if !ok || json.Unmarshal(raw, j) != nil {
		return nil, nil
	}
	if age := c.Now().Sub(time.UnixMicro(j.At)); age < 0 || age >= joinLasts {
		return nil, nil
	}
	return c.Upstreams.Find(j.Upstream), j
}

// joinHere returns the path of the page that connects accounts, including the path at which the browser continues
// afterwards.
func (c *call) joinHere() string { return withOnward(joinPath, c.onward()) }

// toJoin redirects to the page that connects accounts. It answers a form if the signed-in user has changed since the
// form was shown.
func (c *call) toJoin() error { return c.leave(c.At(c.joinHere())) }

// mayJoin returns the account at the provider if the user has recently signed in to both accounts. Otherwise it
// redirects to the login page or returns an error, and done is true.
func (c *call) mayJoin() (provider *upstreams.Upstream, j *joins, done bool, err error) {
	if provider, j = c.joined(); provider == nil {
		return nil, nil, true, errJoin
	}
	if c.session == nil || c.session.ID == 0 {
		return nil, nil, true, c.leave(c.At("/login?" + url.Values{"redirect": {c.joinHere()}}.Encode()))
	}
	list, err := c.Factors.Of(c.Context(), c.session.User.ID)
	if err != nil {
		return nil, nil, true, err
	}
	if !c.Login.Fresh(c.session, factors.KindsOf(list)) {
		return nil, nil, true, c.leave(c.At("/login?" + url.Values{"again": {"1"}, "redirect": {c.joinHere()}}.Encode()))
	}
	return provider, j, false, nil
}

func (c *call) askJoin() error {
	provider, j, done, err := c.mayJoin()
	if done {
		return err
	}
	return c.showJoin(nil, provider, j)
}

func (c *call) showJoin(refusal error, provider *upstreams.Upstream, j *joins) error {
	to := c.onward()
	c.loginFormTo(to, false) // allows the redirects after this form in the Content-Security-Policy
	return c.ShowForm(
		refusal,
		"join",
		c.T("Connect an account"),
		&joinForm{provider.Name, j.Username, c.session.User.Email, to},
	)
}

// join handles the form that confirms the connection of two accounts.
func (c *call) join() error {
	provider, j, done, err := c.mayJoin()
	if done {
		return err
	}
	if err := c.Upstreams.Link(c.Context(), c.session.User.ID, provider, j.Subject, j.Username); err != nil {
		return c.showJoin(err, provider, j)
	}
	c.setJoin("", -1)
	if to := c.onward(); to != "" {
		return c.leave(c.At(to))
	}
	return c.Redirect(accountPath, c.T("You can sign in with {provider} from now on.", "provider", provider.Name))
}

// connected is a connected account in the list on the account page.
type connected struct {
	upstreams.Identity
	Name string
}

// providersOf returns the connected accounts of a user, and links to further providers that the user can connect. A
// hidden provider is included only if it serves the domain of the user's mail address, since other users should not
// learn of it.
func (c *call) providersOf(u *users.User) (list []connected, more []providerLink, err error) {
	identities, err := c.Upstreams.Of(c.Context(), u.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, identity := range identities {
		list = append(list, connected{identity, identity.Name()})
	}
	for _, provider := range c.Upstreams.List {
		joined := slices.ContainsFunc(
			identities,
			func(identity upstreams.Identity) bool { return identity.Upstream == provider },
		)
		if !joined && (!provider.Hidden || c.Upstreams.OfAddress(u.Email) == provider) {
			more = append(more, providerLink{provider.Name, c.startAt(provider, url.Values{"join": {"1"}, "redirect": {"/"}})})
		}
	}
	return list, more, nil
}

// removeProvider handles the form that disconnects an account at a provider.
func (c *call) removeProvider() error {
	if done, err := c.signedIn(); done {
		return err
	}
	id, err := strconv.ParseInt(c.Form.Text("id"), 10, 64)
	if err != nil {
		return c.toAccount()
	}
	session := c.session
	err = c.Upstreams.Unlink(c.Context(), session.User.ID, id, func(conn store.Conn) error {
		return c.Login.EndOthers(conn, session.User.ID, session.ID)
	})
	if e, ok := apierror.From(err); ok && e.Status == http.StatusConflict {
		page, old := c.accountPage()
		if old != nil {
			return old
		}
		return c.ShowForm(err, "account", c.T("Your account"), page)
	}
	return c.Then(err, accountPath, c.T("The account is disconnected, and all other sessions are ended."))
}
