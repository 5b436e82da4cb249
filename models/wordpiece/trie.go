package wordpiece

import (
	"bytes"
	"slices"
	"strings"
)

// A piece is one token of a word and the byte of the word that it ends before.
type piece struct {
	id  int32
	end int
}

// A trie finds the longest token that a word begins with. Nodes are numbered breadth first, so that the children
// of a node lie side by side, ordered by label. Node 0 is the root.
type trie struct {
	nodes []node // and one more, which says where the last one's children end
	label []byte

	// The children of the root and of the node "##", by label, 0 for none: they have too many to look through.
	word, rest [256]int32
}

// A node's children are the nodes from its first up to that of the next node.
type node struct {
	first int32
	id    int32 // -1 where no token ends
}

// newTrie builds the trie of tokens, of which sorted holds the numbers in byte order. No token is empty or repeated.
func newTrie(tokens []string, sorted []int32) trie {
	size := 1
	for i, id := range sorted {
		shared := 0
		if i > 0 {
			shared = commonPrefix(tokens[sorted[i-1]], tokens[id])
		}
		size += len(tokens[id]) - shared
	}
	t := trie{nodes: make([]node, 1, size+1), label: make([]byte, 1, size)}
	t.nodes[0].id = -1

	type span struct{ from, to int32 } // the tokens below a node, in sorted
	level, below := []span{{0, int32(len(sorted))}}, []span(nil)
	for depth, n := 0, 0; len(level) > 0; depth++ {
		below = below[:0]
		for _, s := range level {
			t.nodes[n].first = int32(len(t.label))
			n++
			if s.from < s.to && len(tokens[sorted[s.from]]) == depth {
				s.from++ // the token that ends at this node comes first
			}
			for s.from < s.to {
				b, to := tokens[sorted[s.from]][depth], s.from+1
				for to < s.to && tokens[sorted[to]][depth] == b {
					to++
				}
				id := int32(-1)
				if first := sorted[s.from]; len(tokens[first]) == depth+1 {
					id = first
				}
				t.nodes, t.label = append(t.nodes, node{id: id}), append(t.label, b)
				below = append(below, span{s.from, to})
				s.from = to
			}
		}
		level, below = below, level
	}
	t.nodes = append(t.nodes, node{first: int32(len(t.label)), id: -1})

	t.word = t.children(0)
	if n := t.child(t.word['#'], '#'); n != 0 {
		t.rest = t.children(n)
	}
	return t
}

// commonPrefix returns the number of bytes that a and b begin with alike.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// child returns the child of node n with a label, 0 if there is none or n is 0.
func (t *trie) child(n int32, label byte) int32 {
	if n == 0 {
		return 0
	}
	from, to := t.nodes[n].first, t.nodes[n+1].first
	if i := bytes.IndexByte(t.label[from:to], label); i >= 0 {
		return from + int32(i)
	}
	return 0
}

// children returns the children of node n by label, 0 for none.
func (t *trie) children(n int32) (table [256]int32) {
	for c := t.nodes[n].first; c < t.nodes[n+1].first; c++ {
		table[t.label[c]] = c
	}
	return table
}

// split cuts a word into pieces, the longest token first, and returns their number:
// 0 if the word is not made of tokens. A word of at most maxChars characters fits.
func (t *trie) split(word []byte, pieces *[maxChars]piece) int {
	n, table := 0, &t.word
	for at := 0; at < len(word); table = &t.rest {
		best := piece{end: at}
		node := table[word[at]]
		for i := at + 1; node != 0; i++ {
			if id := t.nodes[node].id; id >= 0 {
				best = piece{id, i}
			}
			if i == len(word) {
				break
			}
			node = t.child(node, word[i])
		}
		if best.end == at {
			return 0
		}
		pieces[n] = best
		n++
		at = best.end
	}
	return n
}

// sortTokens returns the numbers of tokens in byte order of the tokens; equal ones stay in the order of their numbers.
func sortTokens(tokens []string) []int32 {
	sorted := make([]int32, len(tokens))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int {
		if c := strings.Compare(tokens[a], tokens[b]); c != 0 {
			return c
		}
		return int(a - b)
	})
	return sorted
}
