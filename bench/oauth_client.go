package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/bench/load"
)

// oauthClient is a confidential client of an authorization server, together with the browser of a user. The user is
// signed in at the server and has allowed the client everything.
type oauthClient struct {
	site          load.Site
	authorizePath string
	tokenPath     string
	resource      string      // the resource indicator (RFC 8707) of its authorization requests
	id            string      // its client_id
	authorization string      // its Authorization header, with the line end
	cookie        string      // the value of the browser's Cookie header
	refreshes     chan string // refresh tokens that are not in use
}

// form returns a POST request of the client with a form as its body. The strings in more are further header lines.
func (o *oauthClient) form(path string, form url.Values, more ...string) []byte {
	body := form.Encode()
	return []byte("POST " + path + " HTTP/1.1\r\nHost: " + o.site.Address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n" +
		o.authorization + strings.Join(more, "") +
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// ask sends a request to the token endpoint and returns the text of the response.
func (o *oauthClient) ask(ctx context.Context, c *load.Client, request []byte) (string, error) {
	got, err := c.Do(ctx, request)
	if err == nil {
		err = isToken(got)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %.300s", err, got.Text)
	}
	return got.Text, nil
}

// authorizing returns the path of an authorization request, including the query, for the client with the given id.
func (o *oauthClient) authorizing(id string) string {
	sum := sha256.Sum256([]byte(issuingVerifier))
	return o.authorizePath + "?" + url.Values{
		"response_type": {"code"}, "client_id": {id}, "redirect_uri": {issuingBack}, "scope": {"notes:read"},
		"resource": {o.resource}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// granted requests a code, redeems it, and returns the response of the token endpoint.
func (o *oauthClient) granted(ctx context.Context, c *load.Client) (string, error) {
	got, err := c.Do(ctx, []byte("GET "+o.authorizing(o.id)+" HTTP/1.1\r\nHost: "+
		o.site.Address+"\r\nUser-Agent: bench\r\nAccept: */*\r\nCookie: "+o.cookie+"\r\n\r\n"))
	if err != nil {
		return "", err
	}
	redirect, err := url.Parse(got.Location)
	if err != nil || redirect.Query().Get("code") == "" {
		return "", fmt.Errorf("status %d to %q instead of a redirect with a code: %.300s", got.Status, got.Location, got.Text)
	}
	return o.ask(ctx, c, o.form(o.tokenPath, url.Values{
		"grant_type": {"authorization_code"}, "code": {redirect.Query().Get("code")}, "redirect_uri": {issuingBack},
		"code_verifier": {issuingVerifier},
	}))
}

// collect obtains refresh tokens for the load that refreshing returns. It returns the access tokens that were issued
// with them.
func (o *oauthClient) collect(ctx context.Context, c *load.Client) (access []string, err error) {
	o.refreshes = make(chan string, 2*conns)
	for range cap(o.refreshes) {
		text, err := o.granted(ctx, c)
		if err != nil {
			return nil, err
		}
		o.refreshes <- gjson.Get(text, "refresh_token").String()
		access = append(access, gjson.Get(text, "access_token").String())
	}
	return access, nil
}

// refreshing returns the load of clients that refresh their tokens.
func (o *oauthClient) refreshing() *load.Load {
	return &load.Load{
		Site: o.site, Conns: conns, Settle: backgroundPause,
		Talk: func(ctx context.Context, c *load.Client) error {
			token := <-o.refreshes // there are more tokens than connections
			text, err := o.ask(ctx, c, o.form(o.tokenPath, url.Values{
				"grant_type": {"refresh_token"}, "refresh_token": {token},
			}))
			if err == nil {
				token = gjson.Get(text, "refresh_token").String()
			}
			o.refreshes <- token
			return err
		},
	}
}

// flow returns the load of a browser whose user is signed in and has given consent, and of the client that
// redeems the code.
func (o *oauthClient) flow() *load.Load {
	return &load.Load{
		Site: o.site, Conns: conns, Settle: backgroundPause,
		Talk: func(ctx context.Context, c *load.Client) error {
			_, err := o.granted(ctx, c)
			return err
		},
	}
}

// isToken checks that a response of the token endpoint is long enough to contain a JWT.
func isToken(got load.Reply) error {
	if got.Status != 200 || got.Bytes < 300 {
		return fmt.Errorf("status %d with %d bytes instead of 200 with a token", got.Status, got.Bytes)
	}
	return nil
}

// backgroundPause is the time that the server may take to write its batches.
const backgroundPause = 300 * time.Millisecond
