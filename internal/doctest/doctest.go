// Package doctest reads the fenced blocks of the documents for tests that adapt, check or run them.
//
// A block in a shell language is run unchanged: `sh` is a script, `console` has commands after `$ ` and their output
// below. A comment directly above a block, which readers do not see, gives further instructions:
//
//	<!-- not run: why -->     the block needs something that the test does not have
//	<!-- on another machine -->  the block runs in a new folder that has only the Caddyfile
//	<!-- prints -->           for a block of text: the output of the last command contains this text
//	<!-- a browser ends at -->  for a block of text: a user opens the printed address, signs in and consents;
//	                          the browser ends at this address
//	<!-- in a browser: role mail -->  before the block, a user does in a browser what the text above says; the
//	                          browser shows the content of a block of text
//	<!-- copied curl -i -->   for a block of text: the output of the printed command that begins
//	                          with `curl`, run with the options that follow, contains this text
package doctest

import (
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Info string // the text after the opening fence: the language, and further words
	Text string // the content, without the indentation of the fence
	Line int    // the number of the line with the opening fence
	Note string // the text of the comment in the line above, or ""
	File string // the file name at the end of the line above, which is written as `name`:, or ""
}

var (
	comment  = regexp.MustCompile(`^<!-- (.*) -->$`)
	fileName = regexp.MustCompile("(?:^| )`([^` ]+)`:$")
)

// Blocks splits a page into its fenced blocks and the other text. An unclosed block at the end is dropped.
func Blocks(page string) (blocks []Block, otherText string) {
	var other strings.Builder
	var open *Block // the block that contains the current line, or nil
	indent := ""    // indentation of its fence
	above := ""     // the last line of other text that is not empty
	number := 0     // of the current line
	for line := range strings.Lines(page) {
		number++
		unindented := strings.TrimLeft(line, " ")
		info, isFence := strings.CutPrefix(unindented, "```")
		switch {
		case isFence && open == nil:
			open = &Block{Info: strings.TrimSpace(info), Line: number}
			indent = line[:len(line)-len(unindented)]
			if match := comment.FindStringSubmatch(above); match != nil {
				open.Note = match[1]
			} else if match := fileName.FindStringSubmatch(above); match != nil {
				open.File = match[1]
			}
			above = ""
		case isFence && strings.TrimSpace(info) == "":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent)
		default:
			other.WriteString(line)
			if text := strings.TrimSpace(line); text != "" {
				above = text
			}
		}
	}
	return blocks, other.String()
}

// Language returns the first word after the opening fence, or "".
func (b Block) Language() string {
	language, _, _ := strings.Cut(b.Info, " ")
	return language
}

// NotRun returns the reason why a block is not run. ok is false if it is run.
func (b Block) NotRun() (reason string, ok bool) {
	return strings.CutPrefix(b.Note, "not run: ")
}

// Step is a command and its expected output.
type Step struct {
	Command string // may have several lines
	Prints  string // the output below the command
	Shown   bool   // there is output below the command, possibly empty lines only
}

// Steps returns the commands of a block in a shell language, and nil for other blocks. A script is one step.
func (b Block) Steps() []Step {
	switch b.Language() {
	case "sh":
		return []Step{{Command: strings.TrimRight(b.Text, "\n")}}
	case "console":
		return parseSession(b.Text)
	}
	return nil
}

// parseSession returns the commands of a block in the language console. A command that ends with a backslash continues
// in the next line. Lines before the first command are ignored.
func parseSession(text string) (steps []Step) {
	continued := false // the line continues the last command
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			steps = append(steps, Step{Command: command})
		case len(steps) == 0:
			continue
		case continued:
			steps[len(steps)-1].Command += "\n" + line
		default:
			last := &steps[len(steps)-1]
			last.Prints, last.Shown = last.Prints+line+"\n", true
		}
		continued = (isCommand || continued) && strings.HasSuffix(line, `\`)
	}
	return steps
}
