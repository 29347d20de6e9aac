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

// scheme is the URL scheme of references to files of the board.
const scheme = "attachment"

// filePath matches the path of a file on the pages or in the API.
var filePath = regexp.MustCompile(`^(?:` + kernel.Mount + `)?/attachments(/[1-9][0-9]{0,17})$`)

// placeFile converts the destination of a link or image to the reference that stored HTML contains, if it is a file of
// the board. Other destinations are returned unchanged.
func placeFile(destination []byte) []byte {
	if match := filePath.FindSubmatch(destination); match != nil {
		return append([]byte(scheme+":"), match[1]...)
	}
	name, ok := strings.CutPrefix(string(destination), scheme+":")
	if !ok {
		return destination
	}
	if plain, err := url.PathUnescape(name); err == nil { // authors may write spaces escaped or not
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

// WithPaths replaces references to files in the stored HTML of a post by paths. post is the post's id. It finds
// references only in src and href attributes, because quotes in texts are escaped.
func WithPaths(html string, post int64) string {
	if !strings.Contains(html, `="`+scheme+`:`) {
		return html
	}
	const src, href = ` src="`, ` href="`
	const byName, byID = scheme + ":", scheme + ":/"
	path := FilesPath(post)
	// The replacer tries its arguments in their order, so byID must come before byName.
	return strings.NewReplacer(src+byID, src+"/attachments/", src+byName, src+path, href+byID, href+"/attachments/",
		href+byName, href+path).Replace(html)
}

// FilesPath returns the path below which the files of a post are served by name.
func FilesPath(post int64) string { return "/posts/" + kernel.Itoa(post) + "/files/" }
