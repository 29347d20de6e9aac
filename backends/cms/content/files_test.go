package content_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// TestRemovedFileStaysHidden checks that readers do not get a file that was removed from the page, even if another
// field contains an object in the form of a file.
func TestRemovedFileStaysHidden(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		page := s.post(s.top, "Page", nil)
		page, err := s.Attach(t.Context(), s.ann, content.Place{Page: page.ID, Field: "pictures"}, blob.File{Hash: "h", Name: "a.txt", MediaType: "text/plain", Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		id := page.Fields["pictures"].([]any)[0].(map[string]any)["id"].(float64)
		_, err = s.File(t.Context(), s.guest, int64(id))
		s.want(err, 0, "a file of the page, for a guest")
		s.save(content.Edit{ID: page.ID, Fields: map[string]any{"pictures": nil, "extra": []any{map[string]any{"id": id}}}})
		_, err = s.File(t.Context(), s.guest, int64(id))
		s.want(err, 404, "a removed file, for a guest")
		_, err = s.File(t.Context(), s.ann, int64(id))
		s.want(err, 0, "a removed file, for an editor")
	})
}
