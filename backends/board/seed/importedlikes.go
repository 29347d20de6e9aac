package seed

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// movedLike is the reaction into which likes of other programs are converted. It is the first reaction of a new board.
const movedLike = "👍 Like"

// addLikes adds the likes of an imported post; post is the id that it gets here. To rows it adds a row for each
// reaction, and to counts a row with the number of these reactions. The likes get the time of the post.
func (sd *seeder) addLikes(c store.Conn, p *readyPost, post int64, rows, counts *bulk) error {
	var n int64
	for _, oldID := range slices.Compact(slices.Sorted(slices.Values(p.Likes))) {
		member, err := sd.movedAuthor(c, SeedPost{MovedAuthor: oldID})
		if err != nil {
			return err
		}
		if member.id != 0 && oldID != p.MovedAuthor {
			rows.add(post, member.id, movedLike, p.created)
			n++
		}
	}
	if n > 0 {
		counts.add(post, movedLike, n)
	}
	return nil
}
