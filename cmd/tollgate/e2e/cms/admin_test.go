package cms

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAdminPages is the administration as people use it: the cases of testdata/npm/cms_admin.mjs run in a headless
// Chromium without script.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	password := strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann"))
	s.begin()
	e2e.RunBrowser(t, "cms_admin.mjs", "CMS_URL="+s.base, "CMS_PASSWORD="+password)
	s.Stop()
}
