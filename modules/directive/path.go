package directive

import (
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// ResolvePath returns the path of a file or folder that a Caddyfile names. A relative path is relative to the folder of
// that Caddyfile, as for import, because such files are usually moved together.
func ResolvePath(d *caddyfile.Dispenser, file string) string {
	if file == "" || filepath.IsAbs(file) || strings.HasPrefix(file, "{") { // a placeholder stays as it is
		return file
	}
	return filepath.Join(filepath.Dir(d.File()), file)
}
