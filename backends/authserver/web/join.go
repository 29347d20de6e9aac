package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A user joins (connects) an account at a provider with the account here by signing in to both. A short-lived cookie,
// which is bound to the browser, proves the sign-in at the provider. The session proves the sign-in here. The user
// confirms the connection in a form, so that opening a link is not enough to connect accounts.

const (
	joinPath   = accountPath + "/join"
	joinCookie = "authserver_join"
	// maxJoinAge is the maximum time between the sign-in at the provider and the confirmation.
	maxJoinAge = 15 * time.Minute
	// maxJoinCookie is the maximum length of the cookie; browsers store about 4 KB.
	maxJoinCookie = 3500
)

// pendingJoin is the content of the cookie: the account at the provider.
type pendingJoin struct {
	Upstream string `json:"upstream"` // the slug of the provider
	Subject  string `json:"subject"`
	Username string `json:"username"` // for display; may be empty
	At       int64  `json:"at"`       // when the user signed in at the provider, in microseconds since 1970
}

// joinForm is the data of the form that confirms the connection.
type joinForm struct {
	Upstream string // the display name of the provider
	Username string // the user name at the provider, or empty
	User     string // the mail address of the account here
	Redirect string
}

var errJoin = apierror.New(http.StatusBadRequest, "bad_request",
	"This took too long, or you began in another browser. Begin again on the page of your account.")

// offerJoin lets a person who has signed in at a provider connect the account there with an account here. It sets the
// join cookie and redirects to the page that connects the accounts, which first requires a sign-in here. Afterwards
// the browser continues at nextPath.
func (c *call) offerJoin(provider *upstreams.Upstream, person *oidclogin.Person, nextPath string) error {
	username := cmp.Or(person.Username, person.Email)
	raw, err := json.Marshal(pendingJoin{provider.Slug, person.Subject, username, c.Micros()})
	if err != nil {
		return err
	}
	cookie := c.Signer("join").Sign(raw, c.Browser())
	if len(cookie) > maxJoinCookie { // the name is too long, so it is omitted
		if raw, err = json.Marshal(pendingJoin{provider.Slug, person.Subject, "", c.Micros()}); err != nil {
			return err
		}
		cookie = c.Signer("join").Sign(raw, c.Browser())
	}
	c.setCookie(joinCookie, "/", cookie, maxJoinAge)
	return c.redirectTo(c.At(withRedirect(joinPath, nextPath)))
}

// readJoinCookie returns the provider and the content of the cookie. The provider is nil if the browser has no valid
// cookie.
func (c *call) readJoinCookie() (*upstreams.Upstream, *pendingJoin) {
	cookie, err := c.R.Cookie(joinCookie)
	if err != nil {
		return nil, nil
	}
	raw, ok := c.Signer("join").Open(cookie.Value, c.Browser())
	j := new(pendingJoin)
	if !ok || json.Unmarshal(raw, j) != nil {
		return nil, nil
	}
	if age := c.Now().Sub(time.UnixMicro(j.At)); age < 0 || age >= maxJoinAge {
		return nil, nil
	}
	return c.Upstreams.Find(j.Upstream), j
}

// joinLocation returns the path of the page that connects accounts, including the path at which the browser continues
// afterwards.
func (c *call) joinLocation() string { return withRedirect(joinPath, c.continuation()) }

// toJoin redirects to the page that connects accounts. It also handles a form if the signed-in user has changed since
// the form was shown.
func (c *call) toJoin() error { return c.redirectTo(c.At(c.joinLocation())) }

// requireJoin returns the account at the provider if the user has recently signed in to both accounts. Otherwise it
// redirects to the login page or returns an error, and done is true.
func (c *call) requireJoin() (provider *upstreams.Upstream, j *pendingJoin, done bool, err error) {
	provider, j = c.readJoinCookie()
	if provider == nil {
		return nil, nil, true, errJoin
	}
	if c.session == nil || c.session.ID == 0 { // an id of 0 means that the database does not answer
		return nil, nil, true, c.redirectTo(c.At("/login?" + url.Values{"redirect": {c.joinLocation()}}.Encode()))
	}
	list, err := c.Factors.Of(c.Context(), c.session.User.ID)
	if err != nil {
		return nil, nil, true, err
	}
	if !c.Login.Fresh(c.session, factors.KindsOf(list)) {
		query := url.Values{"again": {"1"}, "redirect": {c.joinLocation()}}
		return nil, nil, true, c.redirectTo(c.At("/login?" + query.Encode()))
	}
	return provider, j, false, nil
}

// askJoin shows the form that confirms the connection of two accounts.
func (c *call) askJoin() error {
	provider, j, done, err := c.requireJoin()
	if done {
		return err
	}
	return c.showJoin(nil, provider, j)
}

// showJoin shows the form that confirms the connection of two accounts. The refusal is the error of the previous
// attempt, or nil.
func (c *call) showJoin(refusal error, provider *upstreams.Upstream, j *pendingJoin) error {
	nextPath := c.continuation()
	_ = c.loginFormTo(nextPath, false) // called only to allow the redirects after this form in the Content-Security-Policy
	return c.ShowForm(refusal, "join", c.T("Connect an account"),
		&joinForm{provider.Name, j.Username, c.session.User.Email, nextPath})
}

// join handles the form that confirms the connection of two accounts.
func (c *call) join() error {
	provider, j, done, err := c.requireJoin()
	if done {
		return err
	}
	if err := c.Upstreams.Link(c.Context(), c.session.User.ID, provider, j.Subject, j.Username); err != nil {
		return c.showJoin(err, provider, j)
	}
	c.deleteCookie(joinCookie, "/")
	if nextPath := c.continuation(); nextPath != "" {
		return c.redirectTo(c.At(nextPath))
	}
	return c.Redirect(accountPath, c.T("You can sign in with {provider} from now on.", "provider", provider.Name))
}

// connected is a connected account in the list on the account page.
type connected struct {
	upstreams.Identity
	Name string // the display name of the provider
}

// providersOf returns the connected accounts of a user, and links to further providers that the user can connect. A
// hidden provider is included only if it serves the domain of the user's mail address, since other users should not
// learn of it.
func (c *call) providersOf(u *users.User) (accounts []connected, further []providerLink, err error) {
	identities, err := c.Upstreams.Of(c.Context(), u.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, identity := range identities {
		accounts = append(accounts, connected{identity, identity.Name()})
	}
	for _, provider := range c.Upstreams.List {
		isConnected := slices.ContainsFunc(identities,
			func(identity upstreams.Identity) bool { return identity.Upstream == provider })
		if !isConnected && (!provider.Hidden || c.Upstreams.OfAddress(u.Email) == provider) {
			start := c.providerStartLocation(provider, url.Values{"join": {"1"}, "redirect": {"/"}})
			further = append(further, providerLink{provider.Name, start})
		}
	}
	return accounts, further, nil
}

// removeProvider handles the form that disconnects an account at a provider.
func (c *call) removeProvider() error {
	if done, err := c.requireSession(); done {
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
		page, pageErr := c.accountPage()
		if pageErr != nil {
			return pageErr
		}
		return c.ShowForm(err, "account", c.T("Your account"), page)
	}
	return c.Then(err, accountPath, c.T("The account is disconnected, and all other sessions are ended."))
}
