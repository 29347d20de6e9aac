package cms

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAdminPages is the administration as people use it: the cases of testdata/npm/cms_admin.mjs run in a headless
// Chromium without script.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	program, browser := e2e.NodeProgram(t), e2e.Chromium(t)
	s := newSite(t)
	password := strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann"))
	s.begin()
	e2e.RunNode(t, program, "cms_admin.mjs", "CHROMIUM="+browser, "CMS_URL="+s.base, "CMS_PASSWORD="+password, "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))
	s.Stop()
}
