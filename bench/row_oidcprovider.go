package main

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed oidcprovider.mjs
var oidcProviderScript []byte

// oidcProviderRow compares the authorization server on SQLite, with durable commits and its audit log, with the npm
// package oidc-provider, which keeps everything in memory. The column "plain" has the figures of the package. The
// package runs in one thread, so the ratio of the CPU times is more meaningful than the ratio of the rates.
func oidcProviderRow(ctx context.Context, b *bench) ([]line, error) {
	dir, err := os.MkdirTemp(b.dir, "oidcprovider-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the servers: %w", err)
	}
	node, peer, err := b.startOIDCProvider(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer node.Stop()
	file := filepath.Join(dir, database)
	db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
	ours, err := b.issue(ctx, dir, `sqlite "`+file+`"`, db, err)
	if err != nil {
		return nil, err
	}
	defer ours.end()

	var lines []line
	for _, kind := range []struct {
		name, label string
		load        func(o *oauthClient) *load.Load
		aim         float64 // the aim for the ratio of the rates
	}{
		// Refreshing is measured first. The package keeps only the last 1,000 objects, so the codes of the code flow
		// would displace the refresh tokens.
		{"v-refresh", "refresh", (*oauthClient).refreshing, 1.5},
		{"v-code", "code flow of a user who is signed in", (*oauthClient).flow, 1.2},
	} {
		p, err := b.compareSides(ctx, b.rounds,
			side{node, kind.load(peer)}, side{ours.Child, kind.load(&ours.oauthClient)})
		if err != nil {
			return lines, fmt.Errorf("%s: %w", kind.label, err)
		}
		lines = append(lines, p.lines(kind.label+" (plain: oidc-provider in memory)", kind.aim)...)
		if err := b.profile(ctx, ours.Server, kind.load(&ours.oauthClient), kind.name); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// startOIDCProvider starts the package, signs a user in with a browser, and obtains refresh tokens.
func (b *bench) startOIDCProvider(ctx context.Context, dir string) (*process.Child, *oauthClient, error) {
	folder, err := filepath.Abs(b.npm)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the folder of -npm: %w", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "oidc-provider")); err != nil {
		return nil, nil, fmt.Errorf("oidc-provider is not installed: run npm ci in %s, or name another folder with -npm: %w",
			b.npm, err)
	}
	script := filepath.Join(dir, "oidcprovider.mjs")
	if err := os.WriteFile(script, oidcProviderScript, 0o600); err != nil {
		return nil, nil, fmt.Errorf("writing the script: %w", err)
	}
	addresses, err := process.FreeAddresses(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := strings.Cut(addresses[0], ":")
	node, err := process.Launch(ctx, dir, "node", nil, nil, []string{"PATH=" + os.Getenv("PATH"), "NODE_ENV=production"},
		"node", script, folder, port, issuingBack)
	if err != nil {
		return nil, nil, err
	}
	o := &oauthClient{
		site: load.Site{Address: addresses[0]}, authorizePath: "/auth", tokenPath: "/token",
		resource: "https://notes.example/mcp", id: "bench",
		authorization: "Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte("bench:"+url.QueryEscape("a secret of this benchmark"))) + "\r\n",
	}
	err = node.Await(ctx, &load.Load{Site: o.site, Request: o.site.Get("/jwks"), Check: isOK})
	if err == nil {
		err = o.signIn(ctx)
	}
	if err == nil {
		c := &load.Client{Address: o.site.Address, Keep: true}
		_, err = o.collect(ctx, c)
		c.Close()
	}
	if err != nil {
		output := node.Said()
		node.Stop()
		return nil, nil, fmt.Errorf("oidc-provider does not answer: %w\n%s", err, output)
	}
	return node, o, nil
}

// signIn follows an authorization request as a browser does, up to the redirect to the client, and keeps the
// cookies of the session.
func (o *oauthClient) signIn(ctx context.Context) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return fmt.Errorf("making a cookie jar: %w", err)
	}
	browser := &http.Client{
		Jar: jar, Timeout: 10 * time.Second,
		CheckRedirect: func(next *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(next.URL.String(), issuingBack) {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	root := "http://" + o.site.Address + "/"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, root+strings.TrimPrefix(o.authorizing(o.id), "/"), nil)
	if err != nil {
		return fmt.Errorf("making an authorization request: %w", err)
	}
	response, err := browser.Do(request)
	if err != nil {
		return fmt.Errorf("signing in: %w", err)
	}
	_ = response.Body.Close() // only its status and cookies matter
	if !strings.HasPrefix(response.Header.Get("Location"), issuingBack+"?code=") {
		return fmt.Errorf("signing in: status %d to %q instead of a redirect with a code",
			response.StatusCode, response.Header.Get("Location"))
	}
	address, err := url.Parse(root)
	if err != nil {
		return fmt.Errorf("reading the server's address: %w", err)
	}
	var cookies []string
	for _, cookie := range jar.Cookies(address) {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if len(cookies) == 0 {
		return errors.New("signing in: the server sets no cookie")
	}
	o.cookie = strings.Join(cookies, "; ")
	return nil
}
