package cms

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestDeclarations checks that TypeScript accepts the files of a new site, and finds mistakes in a handler class.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	node := e2e.NodeProgram(t)
	api := filepath.Join(t.TempDir(), "api")
	if err := os.CopyFS(api, os.DirFS(e2e.Repo("backends/cms/apiTemplate"))); err != nil {
		t.Fatal(err)
	}
	check := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), node, filepath.Join(e2e.NodeClients(), "node_modules", "typescript", "bin", "tsc"),
			"--project", filepath.Join(api, "jsconfig.json"), "--noEmit", "--pretty", "false").CombinedOutput()
		return string(out), err
	}
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(api, "Posts.js"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`
class Posts {
  /** @param {CmsData} data @param {CmsContext} ctx */
  static async list(data, ctx) {
    RestApiHelper.checkAndSanitizeRequiredParameters(data, ["from|int", "title"]);
    const list = pages.find("template=post, title%=" + sanitizer.selectorValue(data.title));
    const made = pages.add({template: "post", parent: "/posts", title: "New", body: "text"});
    pages.save(made);
    ctx.setStatus(201);
    ctx.setHeader("X-After", list.after);
    cache.set("key", [1], 60);
    log.info("listed", list.length, ctx.user.name, session.loggedIn, input.get("a", "text20"), config.endpoint);
    if (!users.get(1)) throw {code: 404, message: "user not found"};
    const n = cache.remember("n", 60, () => pages.count("template=post"));
    return n > 5 ? new Response(200, list, {"Content-Type": "application/json"}) : (await http.fetch("https://example.com")).json();
  }
}
module.exports = { Posts };
`)
	if out, err := check(); err != nil {
		t.Errorf("the correct class: %v\n%s", err, out)
	}
	write(`
/** @param {CmsContext} ctx */
function wrong(ctx) {
  pages.fined("template=post");
  sanitizer.tekst(1);
  ctx.setStatus("201");
  cache.set();
  setTimeout(() => 1, 5);
}
`)
	out, err := check()
	if err == nil || strings.Count(out, "error TS") != 5 {
		t.Errorf("the class with mistakes: %v\n%s", err, out)
	}
	for _, position := range []string{"Posts.js(4,9)", "Posts.js(5,13)", "Posts.js(6,17)", "Posts.js(7,9)", "Posts.js(8,3)"} {
		if !strings.Contains(out, position) {
			t.Errorf("nothing at %s in\n%s", position, out)
		}
	}
}
