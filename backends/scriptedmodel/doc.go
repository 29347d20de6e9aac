// Package scriptedmodel implements a deterministic server of the OpenAI chat completions API for demonstrations, tests
// and benchmarks. It contains no language model, and its default answer says so.
//
// The same request always gets the same bytes: IDs are derived from a hash of the request body, and created is a fixed
// time. Any model name is accepted and answered under that name, so that one server can represent any provider; the
// model list contains "scripted" and "scripted-reasoner" (which sends a line of reasoning first). Sampling parameters,
// tools and max_tokens are accepted but have no effect; n other than 1 is refused.
//
// # Routes
//
//	POST /v1/chat/completions   an answer, streamed when "stream" is true
//	POST /v1/embeddings         vectors of texts, which are similar if the texts have words in common
//	GET  /v1/models             the model list
//	GET  /v1/models/{id}        one model, 404 when it is not in the list
//	GET  /                      a line of text, for probes; HEAD too
//
// All but the last are served without /v1 too. Credentials are ignored.
//
// # Script
//
// A script defines the answer and its faults. It is a URL query after the model name,
//
//	"model": "scripted?status=429&retry_after=2"
//
// or a line of its own in the last user message that begins with "scripted?". If both are given, they are merged, and
// the keys after the model name take precedence. The line is not part of what the user said. Values are
// percent-encoded, and "+" is a space. An unknown key, an invalid value, or a repeated key that is not repeatable is
// answered with 400, which names the key, and the code invalid_script.
//
// Durations are written as in Go (250ms, 2s, 1m30s), at most 10m each; an answer that takes longer than MaxDuration is
// cut.
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
//	chunk_bytes        1..1048576    stream text, reasoning and tool arguments in chunks of at most this many bytes,
//	                                 without splitting characters. Only one of words, chunks and chunk_bytes may be
//	                                 given. A text has at most 100000 chunks; the chunks of a longer one are larger
//	delay              duration      pause before the headers
//	first_delay        duration      pause after the headers (and the role chunk) and before the rest
//	chunk_delay        duration      pause between chunks
//	flush              0 or 1        1: flush after every chunk. 0: only before a pause, and at the end. Default: 1
//	status             300..599      answer with this status and an error body
//	code               text          error.code of that body and of the errors below. Default: by status
//	message            text          error.message. Default: by status
//	retry_after        text          Retry-After of an error answer, sent as it is
//	header             name:value    a header of the answer; repeatable, at most 64. Content-Length,
//	                                 Transfer-Encoding and Trailer are not allowed
//	body               text          the whole body of the answer, sent unchanged, with status (default 200). Its type is
//	                                 JSON, or event-stream if the request asks for a stream, unless a header sets it
//	usage              off           never send usage
//	                   finish        streams: in the chunk with the finish_reason
//	                   last          streams: in a chunk of its own. Default: last with include_usage, off without
//	prompt_tokens      0..1000000000 usage.prompt_tokens instead of the count
//	completion_tokens  0..1000000000 usage.completion_tokens instead of the count
//	cached_tokens      0..1000000000 usage.prompt_tokens_details.cached_tokens. Default: 0
//	echo               headers       the text is the received headers, one "Name: value" a line, sorted, secrets masked
//	                   body          the text is the received body, byte for byte
//	fault              a name        what goes wrong, see below; repeatable
//	after              0..100000     where in a stream a fault occurs: after this many chunks, not counting the role
//	                                 chunk. A shorter stream fails at its end, before the finish_reason. Default: 1; for
//	                                 stall: 0
//	bytes              1..67108864   size of the event of huge_event. Default: 1048576
//	fail_times         1..1000000    only this many first requests with this fail_key get status and fault (status 503 if
//	                                 neither is given); later ones get neither
//	fail_key           text          name of that count, at most 128 bytes. The Server keeps the last 4096 counts
//
// # Faults
//
// The last column describes the fault in an answer that is not streamed.
//
//	Fault          Stream                                        Not streamed
//	hang           no answer, for up to 10 minutes               same
//	drop           the connection is cut before any byte         same
//	slow_headers   header lines are sent one by one, spread over same
//	               delay (default 1s); one pause on HTTP/2
//	html           status 200 (or status) and an HTML page       same
//	stall          role chunk, chunks up to after, then          headers, with after half of the body,
//	               silence for up to 10 minutes                  then silence
//	drop_mid       cut in the middle                             cut after half of the body
//	empty_choices  one chunk with choices [], then [DONE]        choices []
//	error_object   an error object is the first and last event   status 200, an error object
//	error_mid      an error object in the middle, and then       status 200, an error object
//	               nothing
//	no_finish      no chunk has a finish_reason                  finish_reason null
//	no_done        no [DONE]                                     no effect
//	done_twice     [DONE] twice                                  no effect
//	broken_json    one more event, its JSON cut short            the body is cut short
//	comments       a comment line before every chunk, and        two empty lines before the body
//	               every chunk_delay (default 1s) of a stall
//	null_usage     "usage":null in every chunk, no usage         "usage":null
//	huge_event     one more content chunk of bytes bytes, from   the body is this long, if it is
//	               "data:" to the empty line; not in usage       not longer anyway
//
// error_object and error_mid put the error of status (default 500), code and message into the object. For the other
// faults that occur in the middle, status takes precedence.
//
// # Usage
//
// A token is four bytes of UTF-8 text; a remainder counts as one. The prompt is the text of all messages together. The
// completion is the text, the reasoning, and the name and arguments of each tool call, each rounded up separately.
//
// # Trust
//
// Whoever may send a request determines the answer, including its headers, and its duration. The server is meant for
// private use and tests, not for the public.
package scriptedmodel
