package script

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// An Object is what a script gets of the content: values of JSON by their names.
type Object = map[string]any

// Pages is the content that scripts reach, as a user may. An error that tells a status
// of 400 to 499 (*apierror.Error, *handler.Error) is thrown with it as its code.
type Pages interface {
	// Find gives pages by a selector, and the cursor behind them; empty: there are no more.
	Find(ctx context.Context, user handler.User, selector string) (pages []Object, after string, err error)
	// Get gives one page by a selector, a path or an id; nil: there is none.
	Get(ctx context.Context, user handler.User, selector string) (Object, error)
	Count(ctx context.Context, user handler.User, selector string) (int64, error)
	// Add makes a page of {template, parent, name, title, status, …fields}.
	Add(ctx context.Context, user handler.User, page Object) (Object, error)
	// Save changes the given members of a page.
	Save(ctx context.Context, user handler.User, id int64, changes Object) (Object, error)
	// Trash moves a page to the trash.
	Trash(ctx context.Context, user handler.User, id int64) error
}

// Files are those of pages. Each call asks whether the user may.
type Files interface {
	// Attach puts a file into a field of a page, and gives the page.
	Attach(ctx context.Context, user handler.User, page int64, field, name string, content []byte) (Object, error)
	// Answer is an answer with a file; of an image, size says which: {width, height, fit}, nil for as it is.
	Answer(user handler.User, file int64, size Object) (handler.Served, error)
	// Link is the path below the endpoint that gives everybody who may see a file an image of it in a size.
	Link(file int64, size Object) (string, error)
}

// Users are the accounts that scripts may know of.
type Users interface {
	// Find gives users in the order of their ids, behind after, at most limit: {id, name, roles}.
	Find(ctx context.Context, after int64, limit int) ([]Object, error)
	// Get gives a user by id or name; nil: there is none.
	Get(ctx context.Context, idOrName string) (Object, error)
}

// Definitions are templates, or fields, as a user may see them.
type Definitions interface {
	All(ctx context.Context, user handler.User) ([]Object, error)
	// Get gives one by its name; nil: there is none.
	Get(ctx context.Context, user handler.User, name string) (Object, error)
}
