package pipeline

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func day(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

func TestFrontMatter(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Meta
		body       string
	}{
		{"none", "text", Meta{}, "text"},
		{"a rule", "---\n\ntext\n", Meta{}, "---\n\ntext\n"},
		{"a rule further down", "text\n---\ntitle: no\n---\n", Meta{}, "text\n---\ntitle: no\n---\n"},
		{"lines of unlike length", "---\ntitle: no\n----\n", Meta{}, "---\ntitle: no\n----\n"},
		{"unlike delimiters", "---\ntitle: no\n+++\n", Meta{}, "---\ntitle: no\n+++\n"},
		{"two dashes", "--\ntitle: no\n--\n", Meta{}, "--\ntitle: no\n--\n"},
		{"empty", "---\n---\ntext", Meta{}, "text"},
		{"comments", "---\n# nothing\n---\ntext", Meta{}, "text"},
		{"at the end", "---\ntitle: a\n---", Meta{Title: "a"}, ""},
		{"blanks behind the delimiters", "---- \t\ntitle: a\n----  \ntext", Meta{Title: "a"}, "text"},
		{"nulls", "---\ntitle:\ndraft: ~\ntags: null\n---\n", Meta{}, ""},
		{"words", "---\ntitle: 'a\u202e  b'\ncontent_type: faq\nunit_id: \"7\"\ndraft: false\n---\n",
			Meta{Title: "a b", ContentType: "faq", UnitID: "7"}, ""},
		{"topics and tags", "---\ntopics: [b, a]\ntags: c, a,,\n---\n", Meta{Topics: []string{"a", "b", "c"}}, ""},
		{"no topics", "---\ntopics: []\n---\n", Meta{}, ""},
		{"a comma in a list", "---\ntags: ['a, b']\n---\n", Meta{Topics: []string{"a, b"}}, ""},
		{"aliases", "---\nother: &x [b]\ntags: *x\nname: &y t\ntitle: *y\n---\n", Meta{Title: "t", Topics: []string{"b"}}, ""},
		{"an author and a language", "---\nauthor: ' A.  B '\nlang: pt_br\n---\n", Meta{Author: "A. B", Language: "pt-BR"}, ""},
		{"an author", "---\nauthor: A  B\nlang: en_us\n---\n", Meta{Author: "A B", Language: "en-US"}, ""},
		{"authors", "---\nauthors: [A B, {name: C, url: x}, 7]\nlanguage: pt-br\nlang: de\n---\n", Meta{Author: "A B, C", Language: "pt-BR"}, ""},
		{"a table of an author", "---\nauthor:\n  url: x\n  name: C\nlanguage: python\n---\n", Meta{Author: "C"}, ""},
		{"no author and language", "---\nauthor: 7\nlanguage: [en]\nlang: English\n---\n", Meta{}, ""},
		{"authors in TOML", "+++\nlanguage = 'zh-hant-tw'\n[author]\nname = 'A'\n[[authors]]\nname = 'B'\n+++\n", Meta{Author: "A", Language: "zh-Hant-TW"}, ""},
		{"JSON", "{\n  \"title\": \"t\", \"tags\": [\"b\", \"a\"], \"date\": \"2024-02-29T23:00:00+09:00\",\n  \"draft\": true, \"author\": {\"name\": \"A\"}, \"x\": {\"title\": 1}, \"unit_id\": null\n}\n\ntext",
			Meta{Title: "t", Topics: []string{"a", "b"}, Date: day(2024, 2, 29), Draft: true, Author: "A"}, "\ntext"},
		{"JSON at the end", "{\"title\": \"t\"}", Meta{Title: "t"}, ""},
		{"braces", "{{< x >}}\ntext", Meta{}, "{{< x >}}\ntext"},
		{"a list of attributes", "{\"a\" b}\ntext", Meta{}, "{\"a\" b}\ntext"},
		{"JSON in a line", "{\"title\": \"t\"} is text", Meta{}, "{\"title\": \"t\"} is text"},
		{"JSON that does not end", "{\"title\": \"t\"", Meta{}, "{\"title\": \"t\""},
		{"a day", "---\ndate: 2024-02-29\n---\n", Meta{Date: day(2024, 2, 29)}, ""},
		{"a day as text", "---\ndate: '2024-02-29'\n---\n", Meta{Date: day(2024, 2, 29)}, ""},
		{"a time", "---\ndate: 2024-12-31T23:59:59-08:00\n---\n", Meta{Date: day(2024, 12, 31)}, ""},
		{"a draft", "---\ndraft: true\n---\n", Meta{Draft: true}, ""},
		{"TOML", "+++\ntitle = \"t\"\ntags = [\"b\", \"a\"]\ndate = 2024-02-29T23:00:00+09:00\ndraft = true\n[x]\ntitle = 1\n+++\ntext",
			Meta{Title: "t", Topics: []string{"a", "b"}, Date: day(2024, 2, 29), Draft: true}, "text"},
		{"TOML's local dates", "+++\ndate = 2024-02-29\n+++\n", Meta{Date: day(2024, 2, 29)}, ""},
		{"TOML's texts", "+++\ndate = '2024-02-29'\ntopics = 'x, y'\n+++\n", Meta{Date: day(2024, 2, 29), Topics: []string{"x", "y"}}, ""},
	} {
		meta, body, problem := parseFrontMatter([]byte(c.text))
		if problem != "" {
			t.Errorf("%s: %s", c.name, problem)
			continue
		}
		if c.want.Topics == nil && len(meta.Topics) == 0 {
			meta.Topics = nil
		}
		if !reflect.DeepEqual(meta, c.want) || c.text[body:] != c.body {
			t.Errorf("%s: %+v, body %q", c.name, meta, c.text[body:])
		}
	}
}

func TestWrongFrontMatter(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"number", "---\na: b\ntitle: 17\n---\n", "front matter: line 3: title is a number, not text; quote it"},
		{"date as title", "---\ntitle: 2024-01-01\n---\n", "front matter: line 2: title is a date, not text; quote it"},
		{"list", "---\nunit_id: [a]\n---\n", "front matter: line 2: unit_id is a list, not text; quote it"},
		{"table", "---\ntitle: {a: b}\n---\n", "front matter: line 2: title is a table, not text; quote it"},
		{"two words", "---\ncontent_type: a b\n---\n", "front matter: line 2: content_type must be one word, such as article or faq"},
		{"topics", "---\ntopics: 7\n---\n", "front matter: line 2: topics must be a list of texts, or one text with commas"},
		{"topics in topics", "---\ntags: [a, [b]]\n---\n", "front matter: line 2: tags must be a list of texts, or one text with commas"},
		{"day", "---\ndate: 2024-02-30\n---\n", "front matter: line 2: date must be a day as YYYY-MM-DD, or a time as in RFC 3339"},
		{"day of another order", "---\ndate: 1.2.2024\n---\n", "front matter: line 2: date must be a day as YYYY-MM-DD, or a time as in RFC 3339"},
		{"yes", "---\ndraft: yes\n---\n", "front matter: line 2: draft is text; it must be true or false"},
		{"slips of draft", "---\ndarft: true\nDrafts: true\nDraft: true\n---\n",
			"front matter: line 2: darft is unknown; did you mean draft?; line 3: Drafts is unknown; did you mean draft?; line 4: Draft is unknown; did you mean draft?"},
		{"in the order of lines", "---\ndate: nope\ntitle: 1\n---\n",
			"front matter: line 2: date must be a day as YYYY-MM-DD, or a time as in RFC 3339; line 3: title is a number, not text; quote it"},
		{"all at once", "---\ntitle: 1\ndraft: 2\n---\n",
			"front matter: line 2: title is a number, not text; quote it; line 3: draft is a number; it must be true or false"},
		{"twice", "---\ntitle: a\ntitle: b\n---\n", "front matter: line 3: title is given twice, first in line 2"},
		{"not a mapping", "---\njust words\n---\n",
			"front matter: line 2: keys and values are expected; if the file starts with a rule, put an empty line before it"},
		{"not YAML", "---\na: b\nc: d: secret\n---\n", "front matter: not valid YAML: line 3: mapping values are not allowed in this context"},
		{"unknown alias", "---\ntitle: *secret\n---\n", "front matter: not valid YAML: unknown anchor …"},
		{"TOML number", "+++\nx = 1\n\ntitle = 2\n+++\n", "front matter: line 4: title is a number, not text; quote it"},
		{"TOML time of day", "+++\ndate = 12:00:00\n+++\n", "front matter: line 2: date must be a day as YYYY-MM-DD, or a time as in RFC 3339"},
		{"TOML table", "+++\n[draft]\nx = 1\n+++\n", "front matter: line 2: draft is a table; it must be true or false"},
		{"TOML lists", "+++\ntags = [[\"a\"]]\n+++\n", "front matter: line 2: tags must be a list of texts, or one text with commas"},
		{"not TOML", "+++\na = 1\nb = secret\n+++\n", "front matter: not valid TOML in line 3"},
		{"JSON number", "{\n\"a\": 1,\n\"title\": 2}\n", "front matter: line 3: title is a number, not text; quote it"},
		{"too long", "---\na: " + strings.Repeat("x", maxFrontMatter) + "\n---\n",
			"front matter: 65540 bytes are more than the limit of 65536; if the file starts with a rule, put an empty line before it"},
	} {
		d := parseOf(t, "a.md", []byte(c.text))
		if d.Verdict != Failed || d.Reason != c.want {
			t.Errorf("%s: %s: %s", c.name, d.Verdict, d.Reason)
		}
	}
}

// TestHostileFrontMatter shows that front matter costs no more than its size.
func TestHostileFrontMatter(t *testing.T) {
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 60; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	for name, text := range map[string]string{
		"aliases":        bomb + "tags: *a59\n",
		"alias of alias": "tags: &a [*a]\n",
		"lists":          "tags: " + strings.Repeat("[", 30_000),
		"lists closed":   "tags: " + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000),
		"tables":         strings.Repeat("{a: ", 15_000),
		"dashes":         strings.Repeat("- ", 30_000),
		"keys":           strings.Repeat("? ", 30_000),
	} {
		if d := parseOf(t, "a.md", []byte("---\n"+text+"\n---\n")); d.Verdict != Failed {
			t.Errorf("%s: %s", name, d.Verdict)
		}
	}
	d := parseOf(t, "a.md", []byte("---\n"+strings.Repeat("&a ", 20_000)+"\n---\ntext"))
	if d.Verdict != OK || d.Text != "text" {
		t.Errorf("anchors: %s: %s", d.Verdict, d.Reason)
	}
	for name, text := range map[string]string{
		"lists":  "tags = " + strings.Repeat("[", 30_000),
		"table":  "[" + strings.Repeat("a.", 30_000) + "a]",
		"tables": "a = " + strings.Repeat("{ b = '}', a = ", 4_000),
		"keys":   strings.Repeat("a. ", 20_000) + "a = 1",
		"quotes": strings.Repeat("'=' . ", 10_000) + "a = 1",
	} {
		d := parseOf(t, "a.md", []byte("+++\n"+text+"\n+++\ntext"))
		if d.Verdict != Failed || name != "lists" && !strings.Contains(d.Reason, "limit") {
			t.Errorf("TOML %s: %s: %s", name, d.Verdict, d.Reason)
		}
	}
	// Texts of many sentences are no keys.
	d = parseOf(t, "a.md", []byte("+++\ntitle = \""+strings.Repeat("One is two. ", 200)+"\"\n"+"a.b = 1.5\n[c.d]\n+++\ntext"))
	if d.Verdict != OK {
		t.Errorf("sentences: %s: %s", d.Verdict, d.Reason)
	}
}

func TestTitle(t *testing.T) {
	for text, want := range map[string]string{
		"text\n\n# First *one*\n\n# Second": "First one",
		"## Second level":                   "",
		"---\ntitle: Front\n---\n# First":   "Front",
		"---\ntitle: ''\n---\n# First":      "First",
		"> # Quoted\n\n# Own":               "Own",
		"<h1>HTML <b>one</b></h1>":          "HTML one",
	} {
		if d := parseOf(t, "a.md", []byte(text)); d.Meta.Title != want {
			t.Errorf("%q: title %q", text, d.Meta.Title)
		}
	}
}

func TestDraft(t *testing.T) {
	d := parseOf(t, "a.md", []byte("---\ndraft: true\n---\n\ntext"))
	if d.Verdict != Draft || !d.Meta.Draft || d.Text != "text" || d.Segments[0].Line != 5 {
		t.Errorf("%+v", d)
	}
}
