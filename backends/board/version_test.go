package board

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestVersions checks that a response has a version, and that a write based on another version is refused without any
// effect.
func TestVersions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{}))
		post := path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first"))
		send := func(user, method, body, header string, tags ...string) *answer {
			t.Helper()
			r := s.request(user, method, post, body)
			for _, tag := range tags {
				r.Header.Add(header, tag)
			}
			return s.send(r)
		}
		tag := s.do("", "GET", post, "").want(200).header.Get("ETag")
		if len(tag) != 34 || tag[0] != '"' {
			t.Fatalf("the tag is %s", tag)
		}
		for _, same := range []string{tag, "W/" + tag, "*", `"x", ` + tag} {
			if a := send("", "GET", "", "If-None-Match", same); a.status != 304 || a.body != "" || a.header.Get("ETag") != tag {
				t.Errorf("%s: %d %s", same, a.status, a.body)
			}
		}
		send("", "GET", "", "If-None-Match", `"x"`).want(200)

		// alice and a moderator edit the same text.
		first := send("alice", "PATCH", `{"message":"edited by alice"}`, "If-Match", tag).want(200)
		now := s.do("", "GET", post, "").want(200).header.Get("ETag")
		if now == tag || first.header.Get("ETag") != now {
			t.Errorf("before %s, after %s, the edit tells %s", tag, now, first.header.Get("ETag"))
		}
		for _, old := range [][]string{{tag}, {"W/" + now}, {`"x"`}, {`"x", W/` + now, tag}, {""}} {
			send("mod", "PATCH", `{"message":"edited by mod"}`, "If-Match", old...).want(412, "precondition_failed")
			send("mod", "DELETE", "", "If-Match", old...).want(412, "precondition_failed")
		}
		for _, broken := range []string{"x", `"x`, `"a" "b"`, `*, "x"`} {
			send("mod", "PATCH", `{"message":"edited by mod"}`, "If-Match", broken).want(400, "bad_request")
		}
		if got := data[content.PostInfo](s.do("", "GET", post, "")); got.Message != "edited by alice" || got.EditCount != 1 {
			t.Errorf("%+v", got)
		}
		// Missing permissions are reported before a wrong version.
		send("bob", "PATCH", `{"message":"edited by bob"}`, "If-Match", tag).want(403, "forbidden")
		send("alice", "PATCH", `{"message":""}`, "If-Match", tag).want(422, "validation_failed")
		send("mod", "PATCH", `{"message":"edited by alice"}`, "If-Match", tag).want(200) // the text is the same already, so the version does not matter

		send("mod", "PATCH", `{"message":"edited by mod"}`, "If-Match", `"x"`, now).want(200)
		send("mod", "PATCH", `{"message":"edited again"}`, "If-Match", "*").want(200)
		send("mod", "PATCH", `{"message":"of any version"}`, "").want(200)
		now = s.do("", "GET", post, "").want(200).header.Get("ETag")
		send("mod", "DELETE", "", "If-Match", now).want(200)

		list := s.do("", "GET", "/forums", "").want(200).header.Get("ETag")
		r := s.request("", "GET", "/forums", "")
		r.Header.Set("If-None-Match", list)
		if a := s.send(r); a.status != 304 || list == "" {
			t.Errorf("%s: %d", list, a.status)
		}
	})
}
