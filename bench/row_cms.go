package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// cmsPagesVariable is the environment variable with the number of pages of the site. The default is 1,000,000.
const cmsPagesVariable = "TOLLGATE_BENCH_PAGES"

const (
	cmsTemplates = 20
	cmsSection   = 1000 // the number of pages in a section
	cmsAsks      = 1500 // requests for each selector
)

// cmsFill is a format string for the SQL statements that create pages: sections below the root, and posts in the
// sections. The posts have many different templates, and their times are in no order. The first argument is a table of
// the numbers n from 0 on, the second is the id of the root, and the third is the id of the first template. On
// PostgreSQL, the last two arguments are a further column of cms_page_values and its value. On SQLite they are empty.
const cmsFill = `INSERT INTO cms_pages (id, parent_id, template_id, name, path, title, status, sort, data, created, created_by, modified, modified_by, published)
SELECT 1000 + n, CASE WHEN n %% 1000 = 0 THEN %[2]d ELSE 1000 + n - n %% 1000 END, %[3]d + n %% 1000 %% 20, 'page-' || n,
	CASE WHEN n %% 1000 = 0 THEN '/page-' || n ELSE '/page-' || (n - n %% 1000) || '/page-' || n END,
	'Page ' || n || ' of a site', CASE WHEN n %% 50 = 7 THEN 2 ELSE 0 END, n,
	'{"body#' || (SELECT id FROM cms_fields WHERE name = 'body') || '":"The text of a page is not long, but it is there, and read with each row of a list.","price#' || (SELECT id FROM cms_fields WHERE name = 'price') || '":' || (n %% 997) || '}',
	1700000000000000 + CAST(n AS BIGINT) * 7919 %% 1000003 * 1000000, 1, 1700000000000000 + CAST(n AS BIGINT) * 104729 %% 1000003 * 1000000, 1, 1700000000000000
FROM %[1]s;
INSERT INTO cms_page_ancestors (ancestor_id, page_id) SELECT %[2]d, 1000 + n FROM %[1]s;
INSERT INTO cms_page_ancestors (ancestor_id, page_id) SELECT 1000 + n - n %% 1000, 1000 + n FROM %[1]s WHERE n %% 1000 <> 0;
INSERT INTO cms_page_values (id, field_id, page_id, n, text%[4]s) SELECT 1000 + n, 1, 1000 + n, 0, 'page ' || n || ' of a site'%[5]s FROM %[1]s;
INSERT INTO cms_page_values (id, field_id, page_id, n, num) SELECT 100001000 + n, (SELECT id FROM cms_fields WHERE name = 'price'), 1000 + n, 0, n %% 997 FROM %[1]s`

// cmsRow measures the content store of a large CMS in this process.
func cmsRow(ctx context.Context, b *bench) ([]line, error) {
	pages, err := sizeFrom(cmsPagesVariable, "pages", int64(1_000_000), 10_000)
	if err != nil {
		return nil, err
	}
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(b.dir, "cms.db"), Synchronous: "NORMAL"},
		zap.NewNop())
	if db, err = open(ctx, db, err, migrations.Schemas()...); err != nil {
		return nil, err
	}
	lines, err := cmsLines(ctx, db, pages, "SQLite")
	if err != nil {
		return lines, err
	}
	dsn, stop, err := testenv.StartPostgres()
	if err != nil {
		return lines, err
	}
	defer func() { _ = stop() }() // the server is thrown away
	db, err = store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	if db, err = open(ctx, db, err, migrations.Schemas()...); err != nil {
		return lines, err
	}
	more, err := cmsLines(ctx, db, pages, "PostgreSQL")
	return append(lines, more...), err
}

// cmsLines fills a database with a site, measures selectors, and closes the database.
func cmsLines(ctx context.Context, db *store.DB, pages int64, engine string) (lines []line, err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	key := []byte(strings.Repeat("k", 32))
	site := content.New(&kernel.Server{DB: db, Logger: zap.NewNop, Now: time.Now, Key: func() []byte { return key }})
	defer site.Close()
	began := time.Now()
	if err := fillCMS(ctx, db, site, pages); err != nil {
		return nil, fmt.Errorf("making a site: %w", err)
	}
	lines = append(lines, line{
		label:    fmt.Sprintf("seconds to make a site of %d pages, %s", pages, engine),
		tollgate: number(time.Since(began).Seconds()),
	})
	guest := &kernel.User{ID: 1, Name: kernel.RoleGuest, Roles: []string{kernel.RoleGuest}}
	for _, ask := range []struct {
		selector string
		aim      float64 // in milliseconds
	}{
		{"template=kind-3, sort=-created, limit=25", 5},
		{"template=kind-3, sort=modified, limit=25", 0},
		{"sort=-created", 0},
		{"parent=/page-500000", 0},
		{"has_parent=/page-500000, sort=-created", 0},
		{"title~=page 123456", 0},
		{"price=500, template=kind-3, limit=25", 0},
		{"path=/page-500000/page-500001", 0},
	} {
		took, err := cmsAsk(ctx, site, guest, ask.selector)
		if err != nil {
			return lines, err
		}
		p95 := took[len(took)*95/100]
		l := line{
			label: fmt.Sprintf("ms of %s: p50 and p95, %s", ask.selector, engine), plain: number(took[len(took)/2]),
			tollgate: number(p95),
		}
		if ask.aim > 0 {
			l.aim, l.met = fmt.Sprintf("<= %.2f", ask.aim), p95 <= ask.aim
		}
		lines = append(lines, l)
	}
	// With the further term id>0, the store does not assemble the list from one list per template.
	singleTimes, err := cmsAsk(ctx, site, guest, "template=kind-3|kind-4, id>0, sort=-created")
	if err != nil {
		return lines, err
	}
	mergedTimes, err := cmsAsk(ctx, site, guest, "template=kind-3|kind-4, sort=-created")
	if err != nil {
		return lines, err
	}
	return append(lines, beside("ms of a list of two templates: as one, and merged of two, p95, "+
		engine, singleTimes[len(singleTimes)*95/100], mergedTimes[len(mergedTimes)*95/100])), nil
}

// cmsAsk requests a list repeatedly, page after page. It returns the durations of the requests in milliseconds, sorted.
func cmsAsk(ctx context.Context, site *content.Content, user *kernel.User, selector string) ([]float64, error) {
	took := make([]float64, 0, cmsAsks)
	// After ten pages, and after the last page, the loop starts again with the first page.
	for cursor := ""; len(took) < cmsAsks; {
		began := time.Now()
		list, err := site.Find(ctx, user, selector+", after="+cursor)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", selector, err)
		}
		took = append(took, time.Since(began).Seconds()*1e3)
		if cursor = list.Next; len(took)%10 == 0 {
			cursor = ""
		}
		if len(took) > 100 && time.Since(began) > 200*time.Millisecond { // 100 requests are enough for a slow selector
			break
		}
	}
	slices.Sort(took)
	return took, nil
}

// fillCMS makes a site. It creates fields and templates in the way a user does, and then inserts the pages with SQL
// statements, many thousands at a time.
func fillCMS(ctx context.Context, db *store.DB, site *content.Content, pages int64) error {
	root := kernel.Site()
	if _, err := site.Install(ctx); err != nil {
		return err
	}
	for _, field := range []content.Field{
		{Name: "body", Type: content.TypeTextarea},
		{Name: "price", Type: content.TypeInt},
	} {
		if _, err := site.SaveField(ctx, root, field); err != nil {
			return err
		}
	}
	var first int64
	for i := range cmsTemplates {
		view := []string{kernel.RoleGuest}
		if i == cmsTemplates-1 {
			view = nil // so that a guest does not see everything
		}
		savedTemplate, err := site.SaveTemplate(ctx, root,
			content.Template{Name: "kind-" + strconv.Itoa(i), Fields: []string{"body", "price"}, View: view})
		if err != nil {
			return err
		}
		if i == 0 {
			first = savedTemplate.ID
		}
	}
	top, err := site.At(ctx, root, "/")
	if err != nil {
		return err
	}
	for start := int64(0); start < pages; start += 50 * cmsSection {
		err := db.Write(ctx, func(c store.Conn) error {
			table, column, value := fmt.Sprintf("(WITH RECURSIVE numbers (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %d) SELECT n FROM numbers) AS t", start, min(start+50*cmsSection, pages)), "", ""
			if c.Dialect() == store.Postgres {
				column, value = ", words", ", to_tsvector('simple', 'page ' || n || ' of a site')"
			}
			statements := strings.Split(fmt.Sprintf(cmsFill, table, top.ID, first, column, value), ";\n")
			if c.Dialect() == store.SQLite {
				statements = append(statements, fmt.Sprintf("INSERT INTO cms_search (rowid, words) SELECT 1000 + n, 'page ' || n || ' of a site' FROM %s", table))
			}
			for _, statement := range statements {
				if _, err := c.Exec(statement); err != nil {
					return fmt.Errorf("%.60s: %w", statement, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return analyze(ctx, db)
}
