package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// CheckConsole checks the document of a console and the files below root, which is relative to the document. The
// document's Content-Security-Policy must contain connect. CheckConsole returns the text of the document.
func CheckConsole(t *testing.T, document, root, connect string) string {
	t.Helper()
	page := Get(t, Client, document, "")
	policy := page.Header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none';", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none';",
		"base-uri 'none';", "form-action 'none';",
		"require-trusted-types-for 'script'; trusted-types 'none'", connect,
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s: %s", part, policy)
		}
	}
	tag := page.Header.Get("ETag")
	if page.Status != http.StatusOK || tag == "" || page.Header.Get("X-Content-Type-Options") != "nosniff" ||
		page.Header.Get("Referrer-Policy") != "no-referrer" || page.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("status %d, headers %v", page.Status, page.Header)
	}
	if strings.Contains(page.Body, "<style") || strings.Contains(page.Body, "style=") ||
		strings.Contains(page.Body, "onclick") {
		t.Errorf("something inline in %s", page.Body)
	}
	if a := Get(t, Client, document, "", "If-None-Match", tag); a.Status != http.StatusNotModified || a.Body != "" {
		t.Errorf("unchanged: status %d, %q", a.Status, a.Body)
	}
	for path, kind := range map[string]string{
		"app.js": "text/javascript; charset=utf-8", "pages/overview.js": "text/javascript; charset=utf-8",
		"parts/dom.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8",
		"parts/look.css": "text/css; charset=utf-8", "parts/logo.svg": "image/svg+xml",
		"parts/icons.svg": "image/svg+xml",
	} {
		a := Get(t, Client, document+root+path, "")
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != kind || a.Header.Get("ETag") == "" ||
			a.Header.Get("Content-Security-Policy") != policy {
			t.Errorf("%s: status %d, %v", path, a.Status, a.Header)
		}
	}
	return page.Body
}

// browsers lets one test at a time use a browser, because each browser takes a processor or two.
var browsers sync.Mutex

// RunBrowser runs the test cases in file, a program for node, in a browser. env is added to the program's environment.
func RunBrowser(t *testing.T, file string, env ...string) {
	t.Helper()
	browsers.Lock()
	defer browsers.Unlock()
	RunBrowserBeside(t, file, env...)
}

// RunBrowserBeside works like RunBrowser, but does not wait for other browsers to end. It is for cases that spend most
// of their time waiting.
func RunBrowserBeside(t *testing.T, file string, env ...string) {
	t.Helper()
	program, browser := NodeProgram(t), chromium(t)
	RunNode(t, program, file, append(env, "CHROMIUM="+browser, "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))...)
}

// chromium finds the browser. It prefers chromium-headless-shell, which takes half of the processor time.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("there is no chromium: run make deps")
	return ""
}
