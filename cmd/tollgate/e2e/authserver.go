package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// NewAuthserver runs the authorization server with a settings file only. The words PORT and ADMIN in text are replaced
// by two free ports.
func NewAuthserver(t *testing.T, text string, env ...string) (n *Node, public, admin string) {
	t.Helper()
	n, public, admin = PrepareAuthserver(t, text, env...)
	n.Start()
	return n, public, admin
}

// PrepareAuthserver works like NewAuthserver but does not start the node.
func PrepareAuthserver(t *testing.T, text string, env ...string) (n *Node, public, admin string) {
	t.Helper()
	ports := []string{FreePort(t), FreePort(t)}
	n = NewNode(t, "", env...)
	n.Env = append(n.Env, "CADDY_ADMIN=unix/"+n.Path("data", "admin.sock"))
	n.Args = []string{"--config", "config.yaml", "--adapter", "authserver"}
	text = strings.NewReplacer("PORT", ports[0], "ADMIN", ports[1]).Replace(text)
	n.WriteKeys(text)
	return n, "http://localhost:" + ports[0], "http://localhost:" + ports[1]
}

// ShippedAuthserver returns a node that is not started, with the shipped example name, which has a settings file. The
// node serves port, and the admin pages on the port admin.
func ShippedAuthserver(t *testing.T, name, port, admin string) *Node {
	t.Helper()
	keys, err := os.ReadFile(Repo("caddyfiles", name, "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := Shipped(t, name, "skip_install_trust", "skip_install_trust\n\tauto_https disable_redirects",
		":9001", ":"+admin)
	n := NewNode(t, config, "TOLLGATE_DOMAIN=localhost:"+port)
	n.WriteKeys(string(keys))
	return n
}

// WriteKeys writes the settings file of an authorization server.
func (n *Node) WriteKeys(text string) {
	n.T.Helper()
	if err := os.WriteFile(n.Path("config.yaml"), []byte(text), 0o600); err != nil {
		n.T.Fatal(err)
	}
}

// AnswersWith waits until a URL answers with a status, and returns that response.
func AnswersWith(t *testing.T, target string, status int) *Answer {
	t.Helper()
	var a *Answer
	Eventually(t, StartLimit, fmt.Sprintf("%d of %s", status, target), func() error {
		if a = Get(t, Client, target, ""); a.Err != nil {
			return a.Err
		}
		if a.Status != status {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return nil
	})
	return a
}
