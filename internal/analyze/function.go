package analyze

import (
	"strings"
	"unicode/utf8"
)

// FunctionWord tells whether a word, as it stands in a question, says how the question is put rather than what it is
// about: how, can, I, что. It does so for the languages that the analyzer stems. A word in capitals is a name instead:
// IT, WHO, US.
//
// Such words are in the index like all others; it is for whoever asks to leave them out. An agent hands on whole
// sentences, in which an "I" that few passages have would count as much as a name.
func (a *Analyzer) FunctionWord(word string) bool {
	if utf8.RuneCountInString(word) > 1 && word == strings.ToUpper(word) {
		return false
	}
	word = strings.ReplaceAll(strings.ToLower(word), "’", "'")
	return a.latin != nil && functionEnglish[word] || a.cyrillic != nil && functionRussian[word]
}

// Articles, prepositions, conjunctions, pronouns, question words and auxiliary verbs.
var (
	functionEnglish = set(`
		a an the this that these those there such
		as at by for in into of on to with
		and but if nor not no or so then
		i me my you your he him his she her it its we us our they them their
		how what when where which who whom whose why
		am is are was were be can could do does did have has had will would
		i'm i've i'll i'd it's that's there's what's isn't don't doesn't didn't can't won't`)
	functionRussian = set(`
		в во на с со к ко о об от из у за по до для при
		и а но же ли бы не ни да или если то что чтобы так
		я мне меня мой моя моё мои мою ты вы вас вам ваш мы нас нам наш он она оно они его её их ему ей им
		это этот эта эти тот та те
		как какой какая какое какие какую когда где куда кто чего чем почему зачем сколько
		был была было были быть есть`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
