package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/forum"
)

const (
	// importPostsVariable is the environment variable with the number of posts that are imported. The full size is
	// 1,000,000.
	importPostsVariable = "TOLLGATE_BENCH_IMPORT"
	defaultImportPosts  = 20_000
	// importRate is the aim in posts per second: a million posts in half an hour.
	importRate = 1_000_000.0 / (30 * 60)
)

// importRow measures the command that imports a dump of phpBB. Consecutive posts in the dump belong to different
// threads, because in a real forum too the posts of a thread are far from each other.
func importRow(ctx context.Context, b *bench) ([]line, error) {
	posts, err := sizeFrom(importPostsVariable, "posts", int64(defaultImportPosts), 1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "import-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it may be large
	config := fmt.Sprintf(boardCaddyfile, "off", "127.0.0.1:1", "tollgate.db")
	if err := os.WriteFile(filepath.Join(dir, "Caddyfile"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	dump, err := writeDump(filepath.Join(dir, "dump.sql"), posts)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	command := exec.CommandContext(ctx, b.binary, "board", "import", "--from", "phpbb", "--json", "dump.sql") //nolint:gosec // the program to measure
	command.Dir, command.Env = dir, append(os.Environ(), "HOME="+dir)
	output, err := command.Output()
	took := time.Since(began)
	var report struct{ Done map[string]int64 }
	if err = errors.Join(err, json.Unmarshal(output, &report)); err != nil || report.Done["posts"] != posts {
		return nil, fmt.Errorf("importing %d posts: %w", posts, errors.Join(err, errors.New(string(output))))
	}
	info, err := os.Stat(filepath.Join(dir, "tollgate.db"))
	if err != nil {
		return nil, err
	}
	rate, state := float64(posts)/took.Seconds(), command.ProcessState
	return []line{
		{label: fmt.Sprintf("seconds to import %d posts of phpBB", posts), tollgate: number(took.Seconds())},
		{label: "posts/s", tollgate: number(rate), aim: ">= " + number(importRate), met: rate >= importRate},
		{label: "seconds of CPU", tollgate: number((state.UserTime() + state.SystemTime()).Seconds())},
		{label: "MB of memory at most", tollgate: number(float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1e3)},
		{label: "MB of the dump", tollgate: number(float64(dump) / 1e6)},
		{label: "MB of the database", tollgate: number(float64(info.Size()) / 1e6)},
	}, nil
}

// writeDump writes a dump of phpBB 3.3 with a number of posts, a tenth as many threads and a hundredth as many members.
// It returns the size of the dump.
func writeDump(path string, posts int64) (size int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	insert := func(target, values string, args ...any) { // out.Flush returns any error
		_, _ = fmt.Fprintf(out, "INSERT INTO phpbb_"+target+" VALUES ("+values+");\n", args...)
	}
	const forums = 20
	threads, members := (posts+9)/10, posts/100+1
	for id, name := range []string{"GUESTS", "REGISTERED"} {
		insert("groups (group_id, group_name)", "%d,'%s'", id+1, name)
		for option, name := range []string{"f_list", "f_read"} {
			insert("acl_options (auth_option_id, auth_option)", "%d,'%s'", option+1, name)
			insert("acl_groups (group_id, forum_id, auth_option_id, auth_role_id, auth_setting)", "%d,0,%d,0,1", id+1, option+1)
		}
	}
	for id := range forums {
		insert("forums (forum_id, parent_id, left_id, forum_name, forum_type)", "%d,0,%[1]d,'Forum %[1]d',1", id+1)
	}
	for id := range members {
		insert("users (user_id, user_type, username, user_password, user_email, user_regdate)",
			"%d,0,'%s','$H$9saltsaltoOYGA0TbwROeAx3OxiKY5/','m%[1]d@example.org',1200000000", id+2, forum.Member(id))
	}
	for id := range threads {
		insert("topics (topic_id, forum_id, topic_visibility, topic_title)", "%d,%d,1,'Thread %[1]d about %s'", id+1,
			id%forums+1, forum.Word(int(id%5000)))
	}
	for id := range posts {
		var words strings.Builder
		for n := range int64(40) {
			words.WriteString(forum.Word(int((id*31+n*n*17)%20_000)) + " ")
		}
		insert("posts (post_id, topic_id, poster_id, post_time, post_visibility, enable_bbcode, post_text)",
			`%d,%d,%d,%d,1,1,'<r><QUOTE author="%s"><s>[quote=%[5]s]</s>What was said<e>[/quote]</e></QUOTE>\n`+
				`This is <B><s>[b]</s>post %[1]d<e>[/b]</e></B>: %s<br/>\n`+
				`See <URL url="https://example.com/%[1]d">https://example.com/%[1]d</URL></r>'`,
			id+1, id%threads+1, id*7%members+2, 1_300_000_000+id, forum.Member(id*7%members), words.String())
	}
	err = out.Flush()
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}
