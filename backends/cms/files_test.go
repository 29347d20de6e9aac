package cms_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

// album makes a published page that takes pictures, and gives its id and a token of ann.
func (s *site) album() (id int64, bearer []string) {
	s.Helper()
	c := s.server.Content()
	field := content.Field{Name: "pictures", Type: content.TypeFile, Settings: content.Settings{Extensions: []string{"png", "csv"}, Sizes: []string{"32x"}}}
	if _, err := c.SaveField(s.Context(), kernel.Site(), field); err != nil {
		s.Fatal(err)
	}
	if _, err := c.SaveTemplate(s.Context(), kernel.Site(), content.Template{Name: "album", Fields: []string{"pictures"}, View: []string{"guest"}}); err != nil {
		s.Fatal(err)
	}
	home, err := c.At(s.Context(), kernel.Site(), "/home")
	if err != nil {
		s.Fatal(err)
	}
	title, status := "Album", "published"
	page, err := c.Save(s.Context(), kernel.Site(), content.Edit{Parent: home.ID, Template: "album", Title: &title, Status: &status})
	if err != nil {
		s.Fatal(err)
	}
	return page.ID, []string{"Authorization", "Bearer " + s.issue("/api/auth", s.login()).JWT}
}

func picture(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewRGBA(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// form returns a multipart form with a file, and its content type.
func form(t *testing.T, member, name, text string) (body, kind string) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.WriteField("note", "a note"); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile(member, name)
	if err == nil {
		_, err = part.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), w.FormDataContentType()
}

// fileOf returns the ID of the n-th file of an answer's page.
func fileOf(t *testing.T, body []byte, n int) int64 {
	t.Helper()
	var page struct {
		Fields struct {
			Pictures []struct{ ID int64 }
		}
	}
	if err := json.Unmarshal(body, &page); err != nil || len(page.Fields.Pictures) <= n {
		t.Fatalf("%s: %v", body, err)
	}
	return page.Fields.Pictures[n].ID
}

func TestContentFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, Content: settings.ContentWrite}, func(s *site) {
		id, bearer := s.album()
		raw := picture(s.T)
		fieldPath := fmt.Sprintf("/api/content/pages/%d/files/pictures", id)
		headers := func(more ...string) []string { return append(more, bearer...) }
		s.expect("POST", fieldPath+"?name=a.png", raw, 401, "*")
		s.expect("POST", fieldPath, raw, 400, `{"error":"Required parameter 'name' is missing"}`, headers("Content-Type", "image/png")...)
		s.expect("POST", fieldPath+"?name=a.gif", raw, 422, "*", headers("Content-Type", "image/gif")...)
		w := s.expect("POST", fieldPath+"?name=a.png", raw, 201, "*", headers("Content-Type", "image/png")...)
		first := fileOf(s.T, w.Body.Bytes(), 0)
		if w.Header().Get("ETag") != `"2"` {
			t.Errorf("ETag: %s", w.Header().Get("ETag"))
		}
		body, kind := form(s.T, "photo", "b.png", raw)
		w = s.expect("POST", fieldPath, body, 201, "*", headers("Content-Type", kind)...)
		if fileOf(s.T, w.Body.Bytes(), 1) == first {
			t.Error("a file is listed twice")
		}
		filePath := fmt.Sprintf("/api/content/files/%d", first)
		w = s.expect("GET", filePath, "", 200, "*")
		for name, want := range map[string]string{
			"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Content-Disposition": `inline; filename="a.png"; filename*=UTF-8''a.png`, "Cache-Control": "public, max-age=300",
			"Accept-Ranges": "bytes", "Cross-Origin-Resource-Policy": "cross-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		tag := w.Header().Get("ETag")
		s.expect("GET", filePath, "", 304, "", "If-None-Match", tag)
		if w = s.expect("GET", filePath, "", 206, "*", "Range", "bytes=1-3"); w.Body.String() != "PNG" {
			t.Errorf("a range is %q", w.Body)
		}
		s.expect("GET", filePath, "", 416, "*", "Range", "bytes=999999-")
		if w = s.expect("GET", filePath+"?width=32", "", 200, "*"); w.Header().Get("ETag") == tag {
			t.Error("a scaled image has the same ETag as the original")
		}
		if small, err := png.DecodeConfig(w.Body); err != nil || small.Width != 32 {
			t.Errorf("%+v: %v", small, err)
		}
		s.expect("GET", filePath+"?width=33", "", 403, `{"error":"the field of the file does not allow the size 33x"}`)
		s.expect("GET", filePath+"?width=9999", "", 400, "*")
		s.expect("GET", "/api/content/files/999999", "", 404, "*")

		// A guest, who may not see an unpublished page, gets no file of it.
		page := fmt.Sprintf("/api/content/pages/%d", id)
		s.expect("POST", page+"/unpublish", "", 200, "*", bearer...)
		s.expect("GET", filePath, "", 404, "*")
		w = s.expect("GET", filePath, "", 200, "*", bearer...)
		if w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" || w.Header().Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%v", w.Header())
		}
	})
}

// TestScriptFiles checks that handlers can store files of forms and answer with files.
func TestScriptFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT}, scriptFiles)
}

func scriptFiles(s *site) {
	id, bearer := s.album()
	s.file("api/Album.js", `exports.Album = class Album {
  static add(data) {
    const page = pages.attach(Number(data.id), "pictures", "photo");
    const file = page.pictures[page.pictures.length - 1];
    return {files: input.files, note: data.note, id: file.id, image: pages.image(file, {width: 20, height: 10, fit: "cover"})};
  }
  static table(data) { return pages.attach(Number(data.id), "pictures", {name: "a.csv", text: "a,b\n"}).pictures.length }
  static show(data) { return pages.file(Number(data.id), data.width ? {width: Number(data.width)} : undefined) }
}`)
	s.file("api/Routes.php", `<?php
require 'Album.js';
$routes = [
  ['POST', 'album/{id}', Album::class, 'add'],
  ['POST', 'table/{id}', Album::class, 'table'],
  ['GET', 'show/{id}', Album::class, 'show', ['auth' => false]],
];`)
	s.reload()
	raw := picture(s.T)
	body, kind := form(s.T, "photo", "b.png", raw)
	albumPath := fmt.Sprintf("/api/album/%d", id)
	w := s.expect(http.MethodPost, albumPath, body, 200, "*", append([]string{"Content-Type", kind}, bearer...)...)
	var answer struct {
		Files []struct {
			Field, Name string
			Size        int
		}
		Note, Image string
		ID          int64
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Files) != 1 || answer.Files[0].Name != "b.png" || answer.Files[0].Size != len(raw) || answer.Note != "a note" {
		s.Fatalf("%s: %v", w.Body, err)
	}
	s.expect(http.MethodPost, albumPath, `{"photo":"b.png"}`, 400, `{"error":"a file 'photo' is missing"}`, bearer...)
	s.expect(http.MethodPost, fmt.Sprintf("/api/table/%d", id), "", 200, "2", bearer...)
	if w = s.expect(http.MethodGet, fmt.Sprintf("/api/show/%d", answer.ID), "", 200, "*"); w.Header().Get("Content-Type") != "image/png" {
		s.Errorf("%v", w.Header())
	}
	w = s.expect(http.MethodGet, fmt.Sprintf("/api/show/%d?width=16", answer.ID), "", 200, "*")
	if small, err := png.DecodeConfig(w.Body); err != nil || small.Width != 16 {
		s.Errorf("%+v: %v", small, err)
	}
	s.expect(http.MethodGet, fmt.Sprintf("/api/show/%d?width=9999", answer.ID), "", 400, "*")
	s.expect(http.MethodGet, "/api/show/999999", "", 404, "*")
	path, ok := strings.CutPrefix(answer.Image, "http://example.com")
	if !ok {
		s.Fatalf("image: %s", answer.Image)
	}
	w = s.expect(http.MethodGet, path, "", 200, "*")
	if small, err := png.DecodeConfig(w.Body); err != nil || small.Width != 20 || small.Height != 10 {
		s.Errorf("%+v: %v", small, err)
	}
	s.expect(http.MethodGet, strings.Replace(path, "width=20", "width=21", 1), "", 403, "*")
}

// TestContentLife checks the life of a page by way of the content API.
func TestContentLife(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, Content: settings.ContentWrite}, func(s *site) {
		s.posts()
		id, bearer := s.album()
		token := bearer[1]
		var home, page, got content.Page
		call := func(method, path, body string, status int, result any, more ...string) {
			s.Helper()
			w := s.expect(method, "/api/content/"+path, body, status, "*", append([]string{"Authorization", token}, more...)...)
			if result != nil {
				got = content.Page{}
				if err := json.Unmarshal(w.Body.Bytes(), result); err != nil {
					s.Fatalf("%s: %v", w.Body, err)
				}
			}
		}
		call("GET", "path/home", "", 200, &home)
		call("POST", "pages", fmt.Sprintf(`{"template":"post","parent":%d,"title":"One","status":"published","fields":{"body":"First"}}`, home.ID), 201, &page)
		pagePath := fmt.Sprintf("pages/%d", page.ID)

		call("PATCH", pagePath, `{"draft":true,"fields":{"body":"Draft"}}`, 200, nil)
		call("GET", pagePath, "", 200, &got)
		if got.Fields["body"] != "First" || !got.Draft {
			s.Errorf("%+v", got)
		}
		var link struct{ URL, Until string }
		call("POST", pagePath+"/preview", `{"seconds":60}`, 200, &link)
		preview := strings.TrimPrefix(link.URL, "http://example.com")
		if w := s.expect("GET", preview, "", 200, "*"); !strings.Contains(w.Body.String(), `"Draft"`) || w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			s.Errorf("%s %v", w.Body, w.Header())
		}
		s.expect("GET", preview[:len(preview)-2]+"xx", "", 404, "*")
		call("POST", pagePath+"/preview", `{"seconds":9999999999}`, 400, nil)
		call("POST", pagePath+"/preview", `{"minutes":1}`, 400, nil)
		call("DELETE", pagePath+"/draft", "", 200, &got)
		call("PATCH", pagePath, `{"draft":true,"fields":{"body":"Second"}}`, 200, &got)
		call("GET", pagePath+"/draft", "", 200, &got)
		if got.Fields["body"] != "Second" {
			s.Errorf("%+v", got)
		}
		call("POST", pagePath+"/publish", "", 412, nil, "If-Match", `"1"`)
		call("POST", pagePath+"/publish", "", 200, &got)
		if got.Fields["body"] != "Second" || got.Draft {
			s.Errorf("%+v", got)
		}
		call("POST", pagePath+"/publish", "", 409, nil)
		var history struct{ Revisions []content.Revision }
		call("GET", pagePath+"/revisions", "", 200, &history)
		if len(history.Revisions) != 1 || history.Revisions[0].Fields["body"] != "First" {
			s.Errorf("%+v", history)
		}
		call("POST", fmt.Sprintf("%s/revisions/%d/restore", pagePath, history.Revisions[0].Revision), "", 200, &got)
		call("POST", pagePath+"/revisions/99/restore", "", 404, nil)
		if got.Fields["body"] != "First" {
			s.Errorf("%+v", got)
		}
		call("POST", pagePath+"/unpublish", "", 200, &got)
		if got.Status != "unpublished" {
			s.Errorf("%+v", got)
		}
		call("PATCH", pagePath, `{"publish_at":"2030-01-01T00:00:00Z"}`, 200, &got)
		if got.PublishAt == 0 {
			s.Errorf("%+v", got)
		}
		call("POST", pagePath+"/publish", "", 200, &got)

		call("POST", fmt.Sprintf("pages/%d/order", home.ID), fmt.Sprintf(`{"children":[%d]}`, page.ID), 204, nil)
		call("POST", pagePath+"/move", fmt.Sprintf(`{"parent":%d}`, id), 200, &got)
		if got.Path != "/home/album/one" {
			s.Errorf("%s", got.Path)
		}
		call("POST", pagePath+"/move", `{"parent":"x"}`, 400, nil)
		call("POST", pagePath+"/move", fmt.Sprintf(`{"parent":%d}`, page.ID), 422, nil)

		call("DELETE", pagePath, "", 204, nil)
		var trash struct {
			Pages  []content.Page
			Before int64
		}
		call("GET", "trash?limit=1", "", 200, &trash)
		if len(trash.Pages) != 1 || trash.Pages[0].ID != page.ID || trash.Before != page.ID {
			s.Errorf("%+v", trash)
		}
		call("GET", fmt.Sprintf("trash?before=%d", page.ID), "", 200, &trash)
		if len(trash.Pages) != 0 {
			s.Errorf("%+v", trash)
		}
		call("GET", "trash?limit=0", "", 400, nil)
		call("POST", pagePath+"/restore", "", 200, &got)
		if got.Path != "/home/album/one" {
			s.Errorf("%s", got.Path)
		}
		call("DELETE", fmt.Sprintf("trash/%d", page.ID), "", 409, nil)
		call("DELETE", pagePath, "", 204, nil)
		call("DELETE", fmt.Sprintf("trash/%d", page.ID), "", 204, nil)
		call("GET", pagePath, "", 404, nil)

		// A user who may not change the pages can do none of this.
		reader := bob(s)
		for _, c := range [][2]string{{"GET", "/revisions"}, {"POST", "/publish"}, {"POST", "/unpublish"}, {"POST", "/move"}, {"POST", "/preview"}, {"DELETE", "/draft"}} {
			s.expect(c[0], fmt.Sprintf("/api/content/pages/%d%s", id, c[1]), "", 403, "*", reader...)
		}
		if w := s.expect("GET", "/api/content/trash", "", 200, "*", reader...); w.Body.String() != `{"before":0,"pages":[]}` {
			s.Errorf("%s", w.Body)
		}
	})
}

// bob returns the Authorization header of a user without roles.
func bob(s *site) []string {
	s.Helper()
	password := "a password of bob"
	if _, err := s.server.Accounts().Create(s.Context(), nil, "bob", accounts.Change{Password: &password}); err != nil {
		s.Fatal(err)
	}
	return []string{"Authorization", "Bearer " + s.issue("/api/auth", `{"username":"bob","password":"`+password+`"}`).JWT}
}
