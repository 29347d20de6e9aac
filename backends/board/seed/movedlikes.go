package seed

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// movedLike is the reaction that a like of another program becomes: the first of a new board.
const movedLike = "👍 Like"

// addLikes collects the rows of the members who like an imported post. They are as old as the post.
func (sd *seeder) addLikes(c store.Conn, p *readyPost, post int64, rows, counts *bulk) error {
	var n int64
	for _, there := range slices.Compact(slices.Sorted(slices.Values(p.Likes))) {
		by, err := sd.movedAuthor(c, SeedPost{MovedAuthor: there})
		if err != nil {
			return err
		}
		if by.id != 0 && there != p.MovedAuthor {
			rows.add(post, by.id, movedLike, p.at)
			n++
		}
	}
	if n > 0 {
		counts.add(post, movedLike, n)
	}
	return nil
}
