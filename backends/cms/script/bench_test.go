package script

import (
	"context"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

const benched = `static test() { return "test successful" } static getUser(data) { return {id: data.id, name: "ann"} }
static list() { return {users: Array.from({length: 100}, (_, i) => ({id: i, name: "user" + i}))} }
static pages() { const all = []; for (let i = 0; i < 20; i++) all.push(pages.get("/" + i)); return {all} }`

// BenchmarkCall measures a call of a method in a process of its own and in this process.
func BenchmarkCall(b *testing.B) {
	for name, o := range map[string]Options{"process": {}, "none": {InProcess: true}} {
		o.Pages = &fakePages{get: func(context.Context) (Object, error) {
			return Object{"id": int64(7), "title": "A page", "path": "/a/page", "body": "The text of a page is not long, but it is there."}, nil
		}}
		p := load(b, o, benched)
		class, _ := p.Class("A")
		for _, method := range []string{"test", "getUser", "list", "pages"} {
			b.Run(name+"/"+method, func(b *testing.B) {
				b.ReportAllocs()
				fn := class.Methods[method]
				c := &handler.Call{Data: map[string]any{"id": "7", "userId": int64(1)}}
				for b.Loop() {
					if _, err := fn(b.Context(), c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
