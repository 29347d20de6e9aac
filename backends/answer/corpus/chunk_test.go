package corpus

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
)

// TestChunks checks that no chunk is too long or crosses a page, that all of the text is in a chunk, and that
// each part of a long table has the header.
func TestChunks(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("Sales by country (in millions):\n\n| Country | 2019 | 2018 |\n|---|---|---|\n")
	for i := range 400 {
		table.WriteString("| Country number " + strings.Repeat("x", i%7) + " | 1,234 | 5,678 |\n")
	}
	pages := []fileformat.Page{
		{Number: 1, Text: "# Item 7. Discussion\n\n## Results\n\n" + strings.Repeat("Net sales rose in all of our markets. ", 200) + "\n\nThe end of it."},
		{Number: 2, Text: table.String()},
		{Number: 3, Text: strings.Repeat("word", 5000)},
	}
	list := chunks(pages)
	parts := 0
	for _, c := range list {
		limit := chunkFull + chunkOverlap
		if len(c.tables) > 0 {
			limit = tableFull
			if parts++; c.page != 2 || !strings.Contains(c.text, "in millions") || !strings.Contains(c.text, "| Country | 2019 | 2018 |") || c.tables[0].Units.Scale != 1e6 {
				t.Errorf("a part of the table on page %d: %.100s", c.page, c.text)
			}
		}
		if c.tokens > limit || !strings.HasPrefix(c.section, "Item 7. Discussion > Results") {
			t.Errorf("%d tokens in %q", c.tokens, c.section)
		}
	}
	if parts < 3 || list[0].page != 1 || !strings.Contains(list[len(list)-parts-1].text+list[len(list)-1].text, "word") {
		t.Errorf("%d parts of a table in %d chunks", parts, len(list))
	}
}
