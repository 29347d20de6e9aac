package script

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// An Object is a JSON object, as scripts get it from the content.
type Object = map[string]any

// Pages gives scripts access to the content with the rights of a user. An error with a status from 400 to 499
// (*apierror.Error, *handler.Error) is thrown with the status as its code.
type Pages interface {
	// Find returns the pages that match a selector, and the cursor after them, which is empty at the end.
	Find(ctx context.Context, user handler.User, selector string) (pages []Object, after string, err error)
	// Get returns one page by a selector, a path or an ID, or nil if there is none.
	Get(ctx context.Context, user handler.User, selector string) (Object, error)
	Count(ctx context.Context, user handler.User, selector string) (int64, error)
	// Add creates a page from {template, parent, name, title, status, …fields}.
	Add(ctx context.Context, user handler.User, page Object) (Object, error)
	// Save changes the given members of a page.
	Save(ctx context.Context, user handler.User, id int64, changes Object) (Object, error)
	// Trash moves a page to the trash.
	Trash(ctx context.Context, user handler.User, id int64) error
}

// Files gives scripts access to the files of pages. Each call checks the rights of the user.
type Files interface {
	// Attach adds a file to a field of a page, and returns the page.
	Attach(ctx context.Context, user handler.User, page int64, field, name string, content []byte) (Object, error)
	// Answer returns an answer with a file. For an image, size is {width, height, fit}, or nil for the original.
	Answer(user handler.User, file int64, size Object) (handler.Served, error)
	// Link returns the path, relative to the endpoint, of an image in a size, for everybody who may see the file.
	Link(file int64, size Object) (string, error)
}

// Users gives scripts access to accounts.
type Users interface {
	// Find returns at most limit users with IDs greater than after, in the order of their IDs, as {id, name, roles}.
	Find(ctx context.Context, after int64, limit int) ([]Object, error)
	// Get returns a user by ID or name, or nil if there is none.
	Get(ctx context.Context, idOrName string) (Object, error)
}

// Definitions gives scripts access to the templates or the fields that a user may see.
type Definitions interface {
	All(ctx context.Context, user handler.User) ([]Object, error)
	// Get returns one by its name, or nil if there is none.
	Get(ctx context.Context, user handler.User, name string) (Object, error)
}
