package content

import "github.com/tollgate-gateway/tollgate/backends/board/markup"

// Mentioned returns the ids of the members whom the post mentions.
func (p *Post) Mentioned() []int64 { return markup.Mentioned(p.HTML) }
