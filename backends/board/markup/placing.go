package markup

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// A text refers to a file of the board by attachment:NAME if the file belongs to the same post, or else by the file's
// URL. Stored HTML contains attachment:NAME or attachment:/ID, since a new post has no id yet when its text is
// rendered. When the HTML is shown, these references are replaced by paths.

const scheme = "attachment"

// filePath matches the path of a file on the pages or in the API.
var filePath = regexp.MustCompile(`^(?:` + kernel.Mount + `)?/attachments(/[1-9][0-9]{0,17})$`)

// placeFile converts the destination of a link or image to the reference that stored HTML contains, if it is a file of
// the board. Other destinations are returned unchanged.
func placeFile(to []byte) []byte {
	if match := filePath.FindSubmatch(to); match != nil {
		return append([]byte(scheme+":"), match[1]...)
	}
	name, ok := strings.CutPrefix(string(to), scheme+":")
	if !ok {
		return to
	}
	if plain, err := url.PathUnescape(name); err == nil { // spaces can be written either way
		name = plain
	}
	return []byte(scheme + ":" + url.PathEscape(name))
}

// isFile reports whether a URL with the scheme attachment refers to a file, by an id or by a name that a file can have.
func isFile(u *url.URL) bool {
	if u.RawQuery != "" || u.Fragment != "" || u.Host != "" || u.User != nil {
		return false
	}
	if u.Opaque == "" {
		return filePath.MatchString("/attachments" + u.Path)
	}
	name, err := url.PathUnescape(u.Opaque)
	if err != nil || strings.ContainsAny(name, `/\`) {
		return false
	}
	return blob.CheckName(name) == nil
}

// WithPaths replaces references to files in stored HTML by paths. It finds them only in src and href attributes,
// because quotes in texts are escaped.
func WithPaths(html string, post int64) string {
	if !strings.Contains(html, `="`+scheme+`:`) {
		return html
	}
	const src, href = ` src="`, ` href="`
	const named, byID = scheme + ":", scheme + ":/"
	path := FilesPath(post)
	return strings.NewReplacer(src+byID, src+"/attachments/", src+named, src+path, href+byID, href+"/attachments/",
		href+named, href+path).Replace(html)
}

// FilesPath returns the path below which the files of a post are served by name.
func FilesPath(post int64) string { return "/posts/" + kernel.Itoa(post) + "/files/" }
