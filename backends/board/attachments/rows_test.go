package attachments

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// TestNotPlaced checks that a name in a text stands for the newest file of that name.
func TestNotPlaced(t *testing.T) {
	t.Parallel()
	older, newer := Attachment{ID: 1, Post: 7, File: blob.File{Name: "a.png", Width: 1}}, Attachment{ID: 2, Post: 7, File: blob.File{Name: "a.png", Width: 1}}
	if rest := NotPlaced([]Attachment{older, newer}, `<img src="/posts/7/files/a.png">`); len(rest) != 1 || rest[0].ID != older.ID {
		t.Errorf("not placed: %+v", rest)
	}
}
