// Package scriptedmodel is a deterministic server of the OpenAI chat
// completions API for demonstrations, tests and benchmarks. There is no
// language model in it, and its default answer says so.
//
// The same request always gets the same bytes: ids are made from a hash of the
// request body and created is a fixed instant. Any model name is accepted and
// answered under that name, so that one server can stand in for any provider;
// the model list holds "scripted" and "scripted-reasoner" (which sends a line of
// reasoning first). Sampling parameters, tools and max_tokens are accepted and
// have no effect; n other than 1 is refused.
//
// # Routes
//
//	POST /v1/chat/completions   an answer, streamed when "stream" is true
//	GET  /v1/models             the model list
//	GET  /v1/models/{id}        one model, 404 when it is not in the list
//	GET  /                      a line of text, for probes; HEAD too
//
// All but the last are served without /v1 too. Credentials are ignored.
//
// # Script
//
// What the answer is, and what goes wrong with it, is asked for in a script: a
// URL query after the model name,
//
//	"model": "scripted?status=429&retry_after=2"
//
// or on a line of its own in the last user message, where it begins with
// "scripted?". Where both are given they are merged, and a key of the model name
// wins. The line is not part of what the user said. Values are percent-encoded
// and "+" is a space. An unknown key, a bad value, or a key given twice that is
// not repeatable is a 400 that names it, code invalid_script.
//
// Durations are written as in Go (250ms, 2s, 1m30s), at most 10m each; an answer
// that takes longer than MaxDuration in all is cut.
//
//	Key                Value         Meaning
//	text               text          the answer. Default: a sentence that says what this server is, after
//	                                 "You said: …" when the user said something. May be empty
//	repeat             1..1000000    the text this many times over; at most 16 MiB in all. Default: 1
//	reasoning          text          reasoning_content, sent before the text
//	tool               name:args     a tool call; repeatable, at most 128. args is sent as it is, JSON or not; without
//	                                 the colon it is {}. With tools and no text, content is null
//	finish             text          finish_reason. Default: tool_calls with tools, else stop
//	words              1..100000     stream the text in chunks of this many words. Default: 1
//	chunks             1..100000     stream the text in this many chunks, fewer if it has fewer characters
//	chunk_bytes        1..1048576    stream text, reasoning and tool arguments in chunks of this many bytes at most, whole
//	                                 characters. Of words, chunks and chunk_bytes only one may be given. No text is cut in more
//	                                 than 100000 chunks: they grow instead
//	delay              duration      pause before the headers
//	first_delay        duration      pause after the headers (and the role chunk) and before the rest
//	chunk_delay        duration      pause between chunks
//	flush              0 or 1        1: flush after every chunk. 0: only when something waits, or at the end. Default: 1
//	status             300..599      answer with this status and an error body
//	code               text          error.code of that body and of the errors below. Default: by status
//	message            text          error.message. Default: by status
//	retry_after        text          Retry-After of an error answer, sent as it is
//	header             name:value    a header of the answer; repeatable, at most 64. Not Content-Length, Transfer-Encoding, Trailer
//	body               text          the whole body of the answer, sent as it is, with status (default 200). Its type is JSON, or
//	                                 event-stream when a stream is asked for, unless a header says otherwise
//	usage              off           never send usage
//	                   finish        streams: in the chunk with the finish_reason
//	                   last          streams: in a chunk of its own, also when nobody asked. Default: that, if asked
//	prompt_tokens      0..1000000000 usage.prompt_tokens instead of the count
//	completion_tokens  0..1000000000 usage.completion_tokens instead of the count
//	cached_tokens      0..1000000000 usage.prompt_tokens_details.cached_tokens. Default: 0
//	echo               headers       the text is the received headers, one "Name: value" a line, sorted, secrets masked
//	                   body          the text is the received body, byte for byte
//	fault              a name        what goes wrong, see below; repeatable
//	after              0..100000     where in a stream: after this many chunks, not counting the role chunk. A shorter stream
//	                                 fails at its end, before the finish_reason. Default: 1, for stall 0
//	bytes              1..67108864   size of the event of huge_event. Default: 1048576
//	fail_times         1..1000000    only the first requests with this fail_key, this many, get status and fault (neither
//	                                 given: status 503); later ones get neither
//	fail_key           text          name of that count, at most 128 bytes. Counts live in the Server; it keeps the last 4096
//
// # Faults
//
// In an answer that is not streamed a fault does what the second column says.
//
//	Fault          Stream                                        Not streamed
//	hang           nothing comes, for up to 10 minutes           same
//	drop           the connection is cut before any byte         same
//	slow_headers   header lines come one by one, spread over     same
//	               delay (default 1s); one pause on HTTP/2
//	html           status 200 (or status) and an HTML page       same
//	stall          role chunk, chunks up to after, then          headers, with after half of the body,
//	               silence for up to 10 minutes                  then silence
//	drop_mid       cut in the middle                             cut after half of the body
//	empty_choices  one chunk with choices [], then [DONE]        choices []
//	error_object   the first event is an error object; the end   status 200, an error object
//	error_mid      an error object in the middle; the end        status 200, an error object
//	no_finish      no chunk has a finish_reason                  finish_reason null
//	no_done        no [DONE]                                     nothing
//	done_twice     [DONE] twice                                  nothing
//	broken_json    one more event, its JSON cut short            the body is cut short
//	comments       a comment line before every chunk, and        two empty lines before the body
//	               every chunk_delay (default 1s) of a stall
//	null_usage     "usage":null in every chunk, no usage         "usage":null
//	huge_event     one more content chunk of bytes bytes, from   the body is this long, if it is
//	               "data:" to the empty line; not in usage       not longer anyway
//
// error_object and error_mid put the error of status (default 500), code and
// message into the object; for the other faults of the middle, status wins.
//
// # Usage
//
// A token is four bytes of UTF-8 text, a rest counts as one. The prompt is the
// text of all messages together; the completion is the text, the reasoning and
// for each tool call its name and arguments, each rounded up for itself.
//
// # Trust
//
// Who may send a request decides what the answer is, its headers included, and
// how long it takes. Serve it to yourself and to tests, not to the public.
package scriptedmodel
