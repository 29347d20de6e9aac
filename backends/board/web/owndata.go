package web

import "net/http"

// ownData sends the member a file with what it has on the board. If reading fails halfway, the connection is aborted,
// so that the browser notices that the file is incomplete.
func (c *call) ownData() error {
	return c.longFile(func() error {
		out := &begun{Writer: c.W, begin: func() {
			c.W.Header().Set("Content-Type", "application/json")
			c.W.Header().Set("Content-Disposition", `attachment; filename="board-data.json"`)
		}}
		err := c.OwnData.Write(c.Context(), c.actor, out)
		if err != nil && out.begin == nil {
			panic(http.ErrAbortHandler)
		}
		return err
	})
}
