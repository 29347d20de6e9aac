package api

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/idempotency"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// input reads the parameters and the body of a request. Each of its methods reads one value and records an error if the
// value is invalid. finish returns the first error in the body or, if the body is valid, the first recorded error.
type input struct {
	*rest.Call
	*rest.Object       // the body
	unread       error // why the body could not be read; nil if it was read
	err          error // the first error recorded by note
}

// noBody returns the input of a route without a body.
func noBody(c *rest.Call) *input { return &input{Call: c, Object: new(rest.Object)} }

// withBody returns the input of a route with a body.
func withBody(c *rest.Call) *input {
	o, err := kernel.Objects.Read(c)
	return &input{Call: c, Object: o, unread: err}
}

// bodyIfAny returns the input of a route whose body is optional.
func bodyIfAny(c *rest.Call) *input {
	o, err := kernel.Objects.ReadIfAny(c)
	return &input{Call: c, Object: o, unread: err}
}

// note records an error, unless an error is recorded already. A nil error is ignored.
func (in *input) note(err error) {
	if in.err == nil {
		in.err = err
	}
}

// finish returns the first error of the input, or nil if all values are valid. Call it after reading all values.
func (in *input) finish() error {
	if in.unread != nil {
		return in.unread
	}
	if err := in.Object.Err(); err != nil {
		return err
	}
	return in.err
}

// id returns an id from the path. If that part of the path is not an id, it records a not-found error.
func (in *input) id(name string) int64 {
	text := in.Path(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || text[0] == '+' {
		in.note(kernel.NotFound())
		return 0
	}
	return n
}

// post returns the ids of a thread and of a post from the path.
func (in *input) post() (thread, post int64) { return in.id("threadId"), in.id("postId") }

// match returns the precondition of a write, from the header If-Match.
func (in *input) match() rest.Match {
	m, err := in.Match()
	in.note(err)
	return m
}

// once returns the idempotency key of a request.
func (in *input) once() posts.Once {
	once, err := idempotency.Of(in.R, strings.TrimPrefix(in.R.URL.Path, kernel.Mount), in.Raw)
	if errors.Is(err, idempotency.ErrMalformed) {
		err = kernel.BadRequest(idempotency.Header, "an Idempotency-Key must have 1 to 64 visible ASCII characters")
	}
	in.note(err)
	return once
}

// page returns the parameters of a page: the id after which it begins, and its maximum number of entries.
func (in *input) page() (cursor int64, limit int) {
	limit = in.limit()
	return in.number("after", 0), limit
}

// limit returns the maximum number of entries of a page.
func (in *input) limit() int {
	if !in.R.URL.Query().Has("limit") {
		return pageLimit
	}
	return int(min(in.number("limit", 1), kernel.MaxPage))
}

// number returns the query parameter with this name, a whole number that must be at least minimum. It returns 0 if the
// parameter is missing, and records an error if it is invalid. A limit of more than 18 digits is not invalid, but
// counts as the maximum.
func (in *input) number(name string, minimum int64) (n int64) {
	values, found := in.R.URL.Query()[name]
	if !found {
		return 0
	}
	const maxDigits = 18 // these fit in an int64
	text := values[0]
	onlyDigits := text != "" && strings.Trim(text, "0123456789") == ""
	if onlyDigits && len(text) > maxDigits && name == "limit" {
		return kernel.MaxPage
	}
	n, _ = strconv.ParseInt(text, 10, 64) // does not fail for up to maxDigits digits
	if !onlyDigits || len(text) > maxDigits || n < minimum {
		in.note(kernel.BadRequest(name, name+" must be a whole number of at least "+kernel.Itoa(minimum)))
		return 0
	}
	return n
}

// each applies view to each element of a list. It never returns nil, so that the JSON of the result is always an
// array.
func each[T, V any](list []T, view func(T) V) []V {
	views := make([]V, len(list))
	for i := range list {
		views[i] = view(list[i])
	}
	return views
}
