package board

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/imagemeta/imagetest"
)

// photos returns images with a secret in their metadata, by file name.
func photos(t *testing.T) map[string]string {
	t.Helper()
	jpeg, gif := imagetest.Picture(t, "jpeg", 3, 2), imagetest.Picture(t, "gif", 3, 2)
	const exif = "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00secret place"
	return map[string]string{
		"photo.jpg":  jpeg[:2] + "\xff\xe1\x00" + string(rune(len(exif)+2)) + exif + jpeg[2:],
		"moving.gif": gif[:len(gif)-1] + "\x21\xfe\x06secret\x00;",
		"web.webp":   imagetest.WebPs()["lossless"][:52] + "EXIF\x06\x00\x00\x00secret",
	}
}

// TestImageMetadataStripped checks that nothing of an uploaded image is stored besides the picture.
func TestImageMetadataStripped(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s *site) {
		posts := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		for name, content := range photos(t) {
			f := data[api.AttachmentInfo](s.upload("alice", posts, name, content).want(201))
			got := s.do("", "GET", path("/attachments/%d", f.ID), "").want(200).body
			if strings.Contains(got, "secret") || !strings.Contains(content, "secret") {
				t.Errorf("%s tells the secret", name)
			}
			width, height := int64(3), int64(2)
			if name == "photo.jpg" { // its orientation swaps width and height
				width, height = height, width
			}
			if int64(len(got)) != f.Size || f.SHA256 != hashOf(got) || *f.Width != width || *f.Height != height {
				t.Errorf("%s: %+v of %d bytes", name, f, len(got))
			}
			if name == "photo.jpg" && !strings.Contains(got, "\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06") {
				t.Error("the photo is not turned any more")
			}
		}
		broken := imagetest.Picture(t, "jpeg", 3, 2)
		s.upload("alice", posts, "broken.jpg", broken[:len(broken)-30]).want(422, "validation_failed", "image")
	})
}

// putContent stores content without changing it.
func (s *site) putContent(content string) {
	s.t.Helper()
	hash := hashOf(content)
	folder := s.service.kernel.Options.Attachments
	if folder == "" {
		s.exec("INSERT INTO board_contents (sha256, part, data, stored_at) VALUES (?, 0, ?, ?) ON CONFLICT (sha256, part) DO NOTHING", hash, []byte(content), s.service.kernel.Moment())
		return
	}
	folder = filepath.Join(folder, hash[:2])
	must(s.t, os.MkdirAll(folder, 0o700))
	must(s.t, os.WriteFile(filepath.Join(folder, hash), []byte(content), 0o600))
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// TestStoredImages checks that images which were stored with their metadata lose it by the job, once, and when they
// are downloaded before that.
func TestStoredImages(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s *site) {
		list := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		ids := make(map[string]int64)
		store := func(name, content string) {
			t.Helper()
			f := data[api.AttachmentInfo](s.upload("alice", list, name, photos(t)["photo.jpg"]).want(201))
			s.putContent(content)
			s.exec("UPDATE board_attachments SET sha256 = ?, size = ?, stripped = 0 WHERE id = ?", hashOf(content), len(content), f.ID)
			ids[name] = f.ID
		}
		store("photo.jpg", photos(t)["photo.jpg"])
		store("again.jpg", photos(t)["photo.jpg"])
		store("clean.jpg", imagetest.Picture(t, "jpeg", 3, 2))
		store("broken.jpg", photos(t)["photo.jpg"][:80])
		store("first.jpg", photos(t)["photo.jpg"][:90])
		s.do("", "GET", path("/attachments/%d", ids["first.jpg"]), "").want(404, "not_found") // also before the job has run
		store("asked.jpg", photos(t)["photo.jpg"]+"secret, too")
		get := func(name string) *answer { return s.do("", "GET", path("/attachments/%d", ids[name]), "").want(200) }
		if strings.Contains(get("asked.jpg").body, "secret") {
			t.Error("the secret is served before the job")
		}
		stale := &attachments.Attachment{ID: ids["asked.jpg"], File: blob.File{Hash: strings.Repeat("0", 64), Size: 1, MediaType: "image/jpeg"}}
		if err := s.service.Attachments.StripStored(t.Context(), stale); err != nil || !stale.Stripped || stale.Width != 2 {
			t.Errorf("one that another request has stripped: %+v, %v", stale, err)
		}
		if n := s.number("SELECT count(*) FROM board_attachments WHERE stripped = 0"); n != 4 {
			t.Errorf("%d are left", n)
		}
		if n, err := s.service.Attachments.StripAttachments(t.Context()); n < 3 || err != nil {
			t.Errorf("%d stripped: %v", n, err)
		}
		for _, name := range []string{"photo.jpg", "again.jpg", "clean.jpg"} {
			if got := get(name); strings.Contains(got.body, "secret") || !strings.HasPrefix(got.header.Get("Content-Disposition"), "inline") {
				t.Errorf("%s: %v %q", name, got.header, got.body)
			}
		}
		if got := s.do("", "GET", path("/attachments/%d", ids["broken.jpg"]), "").want(404, "not_found"); strings.Contains(got.body, "secret") {
			t.Errorf("a broken image is served: %q", got.body)
		}
		if n, err := s.service.Attachments.StripAttachments(t.Context()); n != 0 || err != nil {
			t.Errorf("%d stripped again: %v", n, err)
		}
	})
}
