package script

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// fakePages are pages that a test gives.
type fakePages struct {
	get func(ctx context.Context) (Object, error)
}

func (f *fakePages) Find(ctx context.Context, _ handler.User, selector string) ([]Object, string, error) {
	return []Object{{"id": int64(1), "selector": selector}, {"id": int64(2)}}, "next", nil
}

func (f *fakePages) Get(ctx context.Context, _ handler.User, _ string) (Object, error) {
	return f.get(ctx)
}

func (f *fakePages) Count(context.Context, handler.User, string) (int64, error) { return 2, nil }

func (f *fakePages) Add(_ context.Context, _ handler.User, page Object) (Object, error) {
	return page, nil
}

func (f *fakePages) Save(_ context.Context, _ handler.User, id int64, changes Object) (Object, error) {
	return Object{"id": id, "changes": changes}, nil
}

func (f *fakePages) Trash(context.Context, handler.User, int64) error { return nil }
