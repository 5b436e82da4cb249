package main

import (
	"slices"
	"testing"
)

func TestWordsOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"The embed-\n  ding of a well-known word-", []string{"The", "embedding", "of", "a", "well", "known", "word"}},
		{"of\uFB01ce snake_case x² 3½", []string{"office", "snake_case", "x2", "31", "2"}},
		{"返品は30日", []string{"返", "品", "は", "30", "日"}},
		{"so\u00ADft \u202Bשלום\u202C हिन्दी", []string{"soft", "שלום", "ह", "न", "द"}},
		{"a -\nb", []string{"a", "b"}},
		{"x‐\r\ny", []string{"xy"}},
	} {
		if got := wordsOf(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestScorePDF(t *testing.T) {
	want := []string{"zero one two three four five", "six seven eight nine ten eleven", ""}
	s := scorePDF(want, []string{"zero two one three fourfive six", "seven eight nine ten el even extra"})
	for _, c := range []struct {
		name string
		got  share
		want string
	}{
		{"recall", s.recall, "0.750"},       // without four, five, eleven
		{"precision", s.precision, "0.692"}, // 9 of 13
		{"order", s.order, "-"},             // 9 words
		{"glued", s.glued, "0.077"},         // fourfive
		{"split", s.split, "0.083"},         // eleven
		{"page", s.page, "-"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	want = []string{"a b c d e f", "g h i j k l", ""}
	s = scorePDF(want, []string{"a b c e d f g", "h i j k l"})
	if s.order.String() != "0.917" || s.page.String() != "0.917" {
		t.Errorf("order %s, page %s", s.order, s.page)
	}
	if s := scorePDF(want, nil); s.recall.String() != "0.000" || s.precision.String() != "0.000" || s.order.given {
		t.Errorf("nothing found: %+v", s)
	}
}
