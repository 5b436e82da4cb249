package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"example.com/larder/models/minilm"
	"example.com/larder/models/wordpiece"
)

// leastText is how many tokens of text must fit beside the prefix, [CLS] and [SEP]: Windows can then cut
// between any two characters.
const leastText = 8

// An Encoder turns text into vectors. It is safe for concurrent use.
type Encoder struct {
	card      *Card
	tokenizer *wordpiece.Tokenizer
	network   *minilm.Encoder
	spaces    sync.Pool // of *space
}

// A space holds what a call works on.
type space struct {
	tokens []wordpiece.Token
	ids    []int32
	window []float32
}

// Open reads the encoder in the folder dir of fsys, checks every byte of it against the digests, and
// parses it. want is the digest of the encoder that is wanted, or "" for any. Errors name the file; they
// wrap those of fsys, fs.ErrNotExist included, and [ErrFormat].
func Open(fsys fs.FS, dir, want string) (*Encoder, error) {
	data, err := readFile(fsys, path.Join(dir, CardFile), MaxCard)
	if err != nil {
		return nil, fmt.Errorf("encoder: %w", err)
	}
	// A card's bytes are those of its one encoding, so this is Card.Digest.
	if got := digest(data); want != "" && got != want {
		return nil, fmt.Errorf("encoder in %s: %s: its digest is %s, want %s: prepare the encoder again or bake with this one", dir, CardFile, got, want)
	}
	card, err := ParseCard(data)
	if err != nil {
		return nil, fmt.Errorf("encoder in %s: %w", dir, err)
	}
	var contents [2][]byte
	for i, f := range card.Files {
		if contents[i], err = readFile(fsys, path.Join(dir, f.Name), f.Size); err != nil {
			return nil, fmt.Errorf("encoder: %w", err)
		}
	}
	e, err := New(card, contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("encoder in %s: %w", dir, err)
	}
	return e, nil
}

// readFile reads a file of limit bytes or less. It allocates no more than the file is said to have. What is not a
// regular file is not opened: to open a pipe waits for its writer.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, want %d or less", name, info.Size(), limit)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// NewCard completes a card whose Format, Dimensions, Pooling and Files are still to be set, from an
// encoder's other files.
func NewCard(c Card, vocab, weights []byte) (*Card, error) {
	network, err := minilm.Parse(weights)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", WeightsFile, err)
	}
	c.Format = CardFormat
	c.Dimensions = network.Config().Hidden
	c.Pooling = "mean"
	c.Files = []EncoderFile{
		{VocabFile, int64(len(vocab)), digest(vocab)},
		{WeightsFile, int64(len(weights)), digest(weights)},
	}
	return &c, c.check()
}

// New makes an encoder of a card and the files it names, after checking all of them. It keeps
// references into weights.
func New(card *Card, vocab, weights []byte) (*Encoder, error) {
	if err := card.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", CardFile, err)
	}
	for i, data := range [][]byte{vocab, weights} {
		f := card.Files[i]
		if int64(len(data)) != f.Size {
			return nil, fmt.Errorf("%s has %d bytes, want %d: fetch or prepare the encoder again", f.Name, len(data), f.Size)
		}
		if sum := digest(data); sum != f.SHA256 {
			return nil, fmt.Errorf("%s has the SHA-256 %s, want %s: fetch or prepare the encoder again", f.Name, sum, f.SHA256)
		}
	}
	tokenizer, err := wordpiece.Parse(vocab)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", VocabFile, err)
	}
	network, err := minilm.Parse(weights)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", WeightsFile, err)
	}
	c := network.Config()
	switch {
	case c.Hidden != card.Dimensions:
		return nil, fmt.Errorf("%s: dimensions is %d, but %s makes vectors of %d", CardFile, card.Dimensions, WeightsFile, c.Hidden)
	case c.Vocab != tokenizer.Len():
		return nil, fmt.Errorf("%s has %d tokens, but %s is for %d", VocabFile, tokenizer.Len(), WeightsFile, c.Vocab)
	case c.Positions < card.MaxTokens:
		return nil, fmt.Errorf("%s: max_tokens is %d, but %s takes %d", CardFile, card.MaxTokens, WeightsFile, c.Positions)
	}
	for _, prefix := range []string{card.QueryPrefix, card.PassagePrefix} {
		if n := len(tokenizer.Encode(nil, prefix, -1)) + 2; card.MaxTokens-n < leastText {
			return nil, fmt.Errorf("%s: max_tokens is %d, want %d or more: prefix, [CLS] and [SEP] take %d",
				CardFile, card.MaxTokens, n+leastText, n)
		}
	}
	clone := *card
	return &Encoder{card: &clone, tokenizer: tokenizer, network: network}, nil
}

// Card returns the encoder's card, which must not be changed.
func (e *Encoder) Card() *Card { return e.card }

// Dimensions returns the number of elements of a vector.
func (e *Encoder) Dimensions() int { return e.card.Dimensions }

// Tokenizer returns the encoder's tokenizer.
func (e *Encoder) Tokenizer() *wordpiece.Tokenizer { return e.tokenizer }

// EncodeQuery writes the vector of a query, of length 1, into dst, which has Dimensions elements.
// cut says that the query, with its prefix, had more than the card's MaxTokens, and was encoded up to there.
func (e *Encoder) EncodeQuery(dst []float32, text string) (cut bool, err error) {
	return e.EncodeQueryContext(context.Background(), dst, text)
}

// EncodeQueryContext does what EncodeQuery does, and stops with the context's error when ctx ends; dst is then
// undefined.
func (e *Encoder) EncodeQueryContext(ctx context.Context, dst []float32, text string) (cut bool, err error) {
	s := e.space()
	defer e.spaces.Put(s)
	return e.encode(ctx, s, dst, e.card.QueryPrefix, text)
}

// EncodePassage writes the vector of a passage, of length 1, into dst, which has Dimensions elements.
// All of the passage counts: one that has more than the card's MaxTokens is cut to Windows, and its
// vector is the mean of theirs, weighted by their tokens and scaled to length 1.
func (e *Encoder) EncodePassage(dst []float32, text string) error {
	s := e.space()
	defer e.spaces.Put(s)
	ctx, prefix := context.Background(), e.card.PassagePrefix
	if cut, err := e.encode(ctx, s, dst, prefix, text); err != nil || !cut {
		return err
	}
	if cap(s.window) < len(dst) {
		s.window = make([]float32, len(dst))
	}
	window := s.window[:len(dst)]
	clear(dst)
	for _, w := range Windows(e.tokenizer, prefix, text, e.card.MaxTokens) {
		cut, err := e.encode(ctx, s, window, prefix, w.Text)
		if err != nil {
			return err
		}
		if cut {
			return errors.New("encoder: a window of a passage has too many tokens")
		}
		w.AddTo(dst, window)
	}
	if !minilm.Normalize(dst) {
		return errors.New("encoder: the vectors of a passage's windows cancel each other")
	}
	return nil
}

func (e *Encoder) space() *space {
	if s, ok := e.spaces.Get().(*space); ok {
		return s
	}
	return new(space)
}

// encode writes the vector of prefix and text, cut at MaxTokens, into dst.
func (e *Encoder) encode(ctx context.Context, s *space, dst []float32, prefix, text string) (cut bool, err error) {
	if prefix != "" {
		text = prefix + text
	}
	limit := e.card.MaxTokens - 2
	s.tokens = e.tokenizer.Encode(s.tokens[:0], text, limit+1)
	tokens := s.tokens
	if len(tokens) > limit {
		tokens, cut = tokens[:limit], true
	}
	s.ids = append(s.ids[:0], e.tokenizer.CLS())
	for _, t := range tokens {
		s.ids = append(s.ids, t.ID)
	}
	s.ids = append(s.ids, e.tokenizer.SEP())
	return cut, e.network.EncodeContext(ctx, dst, s.ids)
}
