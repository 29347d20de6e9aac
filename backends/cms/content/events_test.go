package content_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// TestEvents checks that each change notifies webhooks in its own transaction.
func TestEvents(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
		if err != nil {
			t.Fatal(err)
		}
		s.Hooks = webhook.New(webhook.Options{
			DB: s.DB, Prefix: "cms", Headers: "X-CMS", Agent: "cms", Topics: content.Topics, Max: 10,
			Keyring: func() (keyring.Keyring, error) { return ring, nil }, Now: s.Now,
		})
		address, topics, err := s.Hooks.Check("https://example.com/hook", content.Topics)
		if err != nil {
			t.Fatal(err)
		}
		_, sealed, err := s.Hooks.NewSecret(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		var hook int64
		err = s.Write(t.Context(), func(c store.Conn) (err error) {
			hook, err = s.Hooks.Add(c, address, topics, sealed, "admin")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		page := s.post(s.top, "A", nil)
		draft := s.save(content.Edit{Parent: s.top, Template: "post", Title: new("D")})
		s.save(content.Edit{ID: page.ID, Title: new("B")})
		s.save(content.Edit{ID: page.ID, Draft: true, Title: new("C")}) // nobody sees it
		if _, err := s.PublishDraft(t.Context(), s.ann, draft.ID, 0); err != nil {
			t.Fatal(err)
		}
		_, err = s.Save(t.Context(), s.ann, content.Edit{ID: page.ID, Title: new("")})
		s.want(err, 422, "a change that is refused")
		if _, err := s.Move(t.Context(), s.ann, draft.ID, page.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trash(t.Context(), s.ann, page.ID, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Restore(t.Context(), s.ann, page.ID); err != nil {
			t.Fatal(err)
		}
		s.save(content.Edit{ID: page.ID, Status: new(content.StatusUnpublished)})
		if _, err := s.Trash(t.Context(), s.ann, page.ID, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), s.ann, page.ID); err != nil {
			t.Fatal(err)
		}
		var deliveries []webhook.Delivery
		err = s.Read(t.Context(), func(c store.Conn) (err error) {
			deliveries, err = s.Hooks.Deliveries(c, hook, 50)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, delivery := range slices.Backward(deliveries) {
			got = append(got, strings.TrimPrefix(delivery.Topic, "page."))
		}
		want := "created published created changed changed published changed trashed changed changed unpublished trashed deleted"
		if strings.Join(got, " ") != want {
			t.Errorf("events\n got %s\nwant %s", strings.Join(got, " "), want)
		}
		var body struct {
			Data content.Event
		}
		first := deliveries[len(deliveries)-1]
		if err := json.Unmarshal([]byte(first.Body), &body); err != nil || body.Data.ID != page.ID || body.Data.Path != "/a" || body.Data.Status != "published" || body.Data.By != 7 {
			t.Errorf("first event: got %s, error %v; want page %d at /a, published by user 7", first.Body, err, page.ID)
		}
	})
}

// TestReferences checks that no reference to a page is left when it is deleted.
func TestReferences(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		deleted := s.post(s.top, "Gone", nil)
		stays := s.post(s.top, "Stays", nil)
		first := s.post(s.top, "One", map[string]any{"author": deleted.ID, "related": []any{deleted.ID, stays.ID}, "price": deleted.ID})
		second := s.post(s.top, "Two", map[string]any{"related": deleted.ID})
		if _, err := s.Trash(t.Context(), s.ann, deleted.ID, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), s.ann, deleted.ID); err != nil {
			t.Fatal(err)
		}
		page, err := s.Page(t.Context(), s.ann, first.ID)
		if err != nil || page.Fields["author"] != nil || page.Fields["price"] != float64(deleted.ID) || len(page.Fields["related"].([]any)) != 1 {
			t.Errorf("%v, error %v", page.Fields, err)
		}
		if page, err := s.Page(t.Context(), s.ann, second.ID); err != nil || len(page.Fields) != 0 || page.Version != 2 {
			t.Errorf("%+v, error %v", page, err)
		}
		if got := s.titles(s.guest, "related="+strconv.FormatInt(deleted.ID, 10)) + s.titles(s.guest, "related=/stays"); got != "One" {
			t.Errorf("found %s", got)
		}
		s.whole()
	})
}

func TestSitemap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.post(s.top, "A & B", nil)
		s.save(content.Edit{Parent: s.top, Template: "post", Title: new("Hidden"), Status: new("hidden")})
		s.save(content.Edit{Parent: s.top, Template: "secret", Title: new("Secret"), Status: new("published"), Fields: map[string]any{"summary": "x"}})
		var out strings.Builder
		if err := s.Sitemap(t.Context(), "https://example.com/", 0, &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Count(got, "<url>") != 3 || !strings.Contains(got, "<loc>https://example.com/a-b</loc><lastmod>2026-01-0") || !strings.Contains(got, "<loc>https://example.com/home</loc>") {
			t.Errorf("%s", got)
		}
		if parts, err := s.SitemapParts(t.Context()); parts != 1 || err != nil {
			t.Errorf("%d parts, error %v", parts, err)
		}
		out.Reset()
		if err := content.SitemapIndex(2, func(part int) string { return "https://example.com/?a&n=" + strconv.Itoa(part) }, &out); err != nil || !strings.Contains(out.String(), "?a&amp;n=1<") {
			t.Errorf("%s, error %v", out.String(), err)
		}
	})
}

// TestConcurrentTreeChanges checks that the tree stays consistent when pages are created, moved and deleted
// concurrently.
func TestConcurrentTreeChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		a, b := s.post(s.top, "A", nil), s.post(s.top, "B", nil)
		x := s.post(a.ID, "X", nil)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := range 5 {
					switch i {
					case 0:
						_, _ = s.Move(t.Context(), s.ann, x.ID, []int64{a.ID, b.ID}[n%2])
					case 1:
						_, _ = s.Save(t.Context(), s.ann, content.Edit{Parent: x.ID, Template: "post", Title: new("Same")})
					case 2:
						_, _ = s.Save(t.Context(), s.ann, content.Edit{ID: a.ID, Name: new("a" + strconv.Itoa(n))})
					default:
						if page, err := s.Save(t.Context(), s.ann, content.Edit{Parent: x.ID, Template: "post", Title: new("Same")}); err == nil {
							_, _ = s.Trash(t.Context(), s.ann, page.ID, 0)
						}
					}
				}
			})
		}
		wg.Wait()
		s.whole()
		n, err := s.Count(t.Context(), s.ann, "has_parent="+strconv.FormatInt(x.ID, 10)+", include=all")
		if err != nil || n != 5 {
			t.Errorf("%d pages below, error %v", n, err)
		}
	})
}
