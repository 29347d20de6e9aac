package cms

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAdminPages runs the cases of testdata/npm/cms_admin.mjs in a headless Chromium without script: the administration
// pages as administrators use them.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	password := strings.TrimSpace(s.Tool("cms", "install", "--admin", "ann"))
	s.begin()
	e2e.RunBrowser(t, "cms_admin.mjs", "CMS_URL="+s.base, "CMS_PASSWORD="+password)
	s.Stop()
}
