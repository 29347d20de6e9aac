package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
)

const (
	nodeClients = "testdata/npm"
	nodeLimit   = 5 * time.Minute // for all cases of one client
)

// TestNodeClients is the gateway as the SDKs of Node.js see it. Each file of
// testdata/npm is one client with its cases, run by node on a gateway and an
// upstream of its own.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	program := nodeProgram(t)
	for _, file := range []string{"messages.mjs", "chat.mjs", "responses.mjs"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			up.answer = up.forNode
			g := newGateway(t, "\t\tcatalog {\n\t\t\tprovider openrouter {\n\t\t\t\tbase_url "+up.url+"/openrouter/v1\n\t\t\t}\n\t\t}")
			key := g.user("nora", up, "scripted", "scripted", "scripted")
			_, err := g.AddProviderKey(t.Context(), "nora", "openrouter", "sk-or-000000000000", "", func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			once := int64(1)
			limited, err := g.CreateKey(t.Context(), "nora", keychain.KeyOptions{Label: "limited", RateLimitPerMinute: &once})
			if err != nil {
				t.Fatal(err)
			}
			runNode(t, program, file,
				"TOLLGATE_URL="+g.base, "TOLLGATE_KEY="+key, "TOLLGATE_LIMITED_KEY="+limited.Key, "TOLLGATE_UPSTREAM="+up.url,
				"TOLLGATE_MODEL=own/1", "TOLLGATE_FAILING_MODEL=own/2", "TOLLGATE_BREAKING_MODEL=own/3",
				"TOLLGATE_STATEFUL_MODEL=openrouter/openai/gpt-oss-20b")
		})
	}
}

// nodeProgram finds node, and the packages in the versions of package.json.
func nodeProgram(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	var clients struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	readJSON(t, filepath.Join(nodeClients, "package.json"), &clients)
	for name, version := range clients.DevDependencies {
		var installed struct{ Version string }
		readJSON(t, filepath.Join(nodeClients, "node_modules", name, "package.json"), &installed)
		if installed.Version != version {
			t.Fatalf("%s is installed in version %s, want %s: run make deps", name, installed.Version, version)
		}
	}
	return program
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v: run make deps", err)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// runNode runs one file. It is no "node --test", which would start another
// process for the file: one is all that has to end here.
func runNode(t *testing.T, program, file string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--test-reporter=spec", file)
	cmd.Dir = nodeClients
	cmd.Env = append(environment(t.TempDir()), append(env, "NO_COLOR=1")...)
	out := new(output)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch(cmd.Process.Pid, true)
	err := cmd.Wait()
	watch(cmd.Process.Pid, false)
	t.Logf("%s", out)
	if ctx.Err() != nil {
		t.Errorf("%s has not ended after %s", file, nodeLimit)
	} else if err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// forNode adds two things to the scripted model: /stats, and an answer to tool
// results, which is the request itself. The script of a conversation asks for
// tools in the first turn, and would so in every other.
func (u *upstream) forNode(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/stats" {
		u.statsForNode(w, r)
		return true
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	if gjson.GetBytes(body, "messages.@reverse.0.role").String() == "tool" {
		body = fmt.Appendf(nil, `{"model":%q,"stream":%t,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`,
			script("words", "100000", "text", string(body)), gjson.GetBytes(body, "stream").Bool())
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return false
}

// statsForNode answers the counts of the upstream, as soon as they have
// reached those that the query names.
func (u *upstream) statsForNode(w http.ResponseWriter, r *http.Request) {
	atLeast := func(name string) int64 {
		n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
		return n
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitLimit)
	defer cancel()
	requests, cancelled := atLeast("requests"), atLeast("cancelled")
	err := u.Wait(ctx, func(s scriptedmodel.Stats) bool { return s.Requests >= requests && s.Cancelled >= cancelled })
	if err != nil {
		w.WriteHeader(http.StatusGatewayTimeout)
	}
	s := u.Stats()
	_, _ = fmt.Fprintf(w, `{"requests":%d,"cancelled":%d}`, s.Requests, s.Cancelled)
}
