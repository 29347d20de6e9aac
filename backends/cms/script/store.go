package script

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// Object is a JSON object that scripts get from the content or pass to it.
type Object = map[string]any

// Pages gives scripts access to pages with the rights of a user. If an error has a status from 400 to 499
// (*apierror.Error or *handler.Error), scripts can catch it with the status as its code.
type Pages interface {
	// Find returns the pages that match a selector, and the cursor for the following pages, which is empty at the end.
	Find(ctx context.Context, user handler.User, selector string) (pages []Object, cursor string, err error)
	// Get returns the first page that matches a selector, or the page with a path or an ID. It returns nil if there is
	// no such page.
	Get(ctx context.Context, user handler.User, selector string) (Object, error)
	// Count returns the number of pages that match a selector.
	Count(ctx context.Context, user handler.User, selector string) (int64, error)
	// Add creates a page from {template, parent, name, title, status, …fields}.
	Add(ctx context.Context, user handler.User, page Object) (Object, error)
	// Save changes the given members of a page, and returns the page.
	Save(ctx context.Context, user handler.User, id int64, changes Object) (Object, error)
	// Trash moves a page to the trash.
	Trash(ctx context.Context, user handler.User, id int64) error
}

// Files gives scripts access to the files of pages with the rights of a user.
type Files interface {
	// Attach adds a file to a field of the page with the ID page, and returns the page. name is the name of the file.
	Attach(ctx context.Context, user handler.User, page int64, field, name string, content []byte) (Object, error)
	// Answer returns a response that sends the file with the ID file. For an image, size is {width, height, fit}, or nil
	// for the original size.
	Answer(user handler.User, file int64, size Object) (handler.Served, error)
	// Link returns the path of an image in the given size, relative to handler.Call.BaseURL. Everybody who may see the
	// image can request it at this path.
	Link(file int64, size Object) (string, error)
}

// Users gives scripts access to users.
type Users interface {
	// Find returns at most limit users with IDs greater than afterID, ordered by ID, as {id, name, roles}.
	Find(ctx context.Context, afterID int64, limit int) ([]Object, error)
	// Get returns the user with an ID or a name, or nil if there is no such user.
	Get(ctx context.Context, idOrName string) (Object, error)
}

// Definitions gives scripts access to the templates or the fields that a user may see.
type Definitions interface {
	// All returns all templates or fields that the user may see.
	All(ctx context.Context, user handler.User) ([]Object, error)
	// Get returns the template or field with the given name, or nil if there is no such definition.
	Get(ctx context.Context, user handler.User, name string) (Object, error)
}
