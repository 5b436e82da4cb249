package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"example.com/larder/internal/strictjson"
)

// Names of an encoder's files.
const (
	CardFile    = "model.json"
	VocabFile   = "vocab.txt"
	WeightsFile = "weights.bin"
)

// CardFormat is the only format of cards, and of the files they name.
const CardFormat = "larder-encoder/1-draft"

// A Card says what an encoder is. It is model.json in the encoder's folder, dist/models/<first 12 of digest>.
//
// It is strict JSON, indented by two blanks, with a final newline: one card has one encoding.
type Card struct {
	Format        string        `json:"format"`         // CardFormat
	Name          string        `json:"name"`           // such as all-MiniLM-L6-v2
	Source        string        `json:"source"`         // SHA-256 of the ONNX model that was converted, 64 hex digits
	Tokenizer     string        `json:"tokenizer"`      // SHA-256 of its tokenizer.json
	Dimensions    int           `json:"dimensions"`     // elements of a vector
	MaxTokens     int           `json:"max_tokens"`     // most tokens that are encoded at once, prefix, [CLS] and [SEP] included
	Pooling       string        `json:"pooling"`        // mean
	QueryPrefix   string        `json:"query_prefix"`   // put before each query
	PassagePrefix string        `json:"passage_prefix"` // put before each passage
	Files         []EncoderFile `json:"files"`          // VocabFile, WeightsFile
}

// An EncoderFile is one of an encoder's files.
type EncoderFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // 64 hex digits
}

// MaxCard is the largest size of a card in bytes.
const MaxCard = 1 << 16

// Limits of what a card says; what is above them is not an encoder's.
const (
	maxFile   = 1<<31 - 1 // what an int holds everywhere
	maxPrefix = 256
)

// ErrFormat says that a card is of a format that this package doesn't read.
var ErrFormat = errors.New("encoder format is not supported")

// ParseCard reads a card. One of another format is an [ErrFormat]. Unknown or repeated fields, missing ones, and any bytes but those that
// Marshal gives are errors.
func ParseCard(data []byte) (*Card, error) {
	if len(data) > MaxCard {
		return nil, fmt.Errorf("%s has %d bytes, want %d or less", CardFile, len(data), MaxCard)
	}
	var head struct {
		Format string `json:"format"`
	}
	// What another format brings is no error of its own, but the reason to name.
	if err := json.Unmarshal(data, &head); err == nil && head.Format != "" && head.Format != CardFormat {
		return nil, fmt.Errorf("%s: %w", CardFile, errFormat(head.Format))
	}
	c := new(Card)
	if err := strictjson.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %s", CardFile, strings.TrimPrefix(err.Error(), "json: "))
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", CardFile, err)
	}
	return c, nil
}

// Marshal returns the card's bytes.
func (c *Card) Marshal() []byte {
	data, err := strictjson.Marshal(c)
	if err != nil {
		panic(err) // strings and integers can be encoded
	}
	return data
}

// Digest returns the SHA-256 of the card's bytes as 64 hex digits. It identifies the encoder, since the
// card holds the digests of all else.
func (c *Card) Digest() string { return digest(c.Marshal()) }

// check says what is wrong with a card by itself.
func (c *Card) check() error {
	if c.Format != CardFormat {
		return errFormat(c.Format)
	}
	if err := checkName(c.Name); err != nil {
		return err
	}
	if !isDigest(c.Source) {
		return errors.New("source is not a SHA-256 of 64 lower-case hex digits")
	}
	if !isDigest(c.Tokenizer) {
		return errors.New("tokenizer is not a SHA-256 of 64 lower-case hex digits")
	}
	if c.Dimensions < 1 {
		return fmt.Errorf("dimensions is %d, want 1 or more", c.Dimensions)
	}
	if c.MaxTokens < 1 {
		return fmt.Errorf("max_tokens is %d, want 1 or more", c.MaxTokens)
	}
	if c.Pooling != "mean" {
		return fmt.Errorf("pooling is %q, want mean", c.Pooling)
	}
	for _, p := range []struct{ field, value string }{{"query_prefix", c.QueryPrefix}, {"passage_prefix", c.PassagePrefix}} {
		if len(p.value) > maxPrefix || strings.ContainsFunc(p.value, unicode.IsControl) {
			return fmt.Errorf("%s has control characters or more than %d bytes", p.field, maxPrefix)
		}
	}
	if len(c.Files) != 2 || c.Files[0].Name != VocabFile || c.Files[1].Name != WeightsFile {
		return fmt.Errorf("files are not %s and %s", VocabFile, WeightsFile)
	}
	for _, f := range c.Files {
		if f.Size < 1 || f.Size > maxFile {
			return fmt.Errorf("size of %s is %d, want 1 to %d", f.Name, f.Size, int64(maxFile))
		}
		if !isDigest(f.SHA256) {
			return fmt.Errorf("sha256 of %s is not 64 lower-case hex digits", f.Name)
		}
	}
	return nil
}

func errFormat(format string) error {
	return fmt.Errorf("%w: format is %q, this program reads %q: prepare the encoder again", ErrFormat, format, CardFormat)
}

// checkName says whether a model's name is one word of letters, digits, dots, hyphens and underscores.
func checkName(name string) error {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r):
		default:
			return fmt.Errorf("name %q has other characters than letters, digits, dots, hyphens and underscores", name)
		}
	}
	if len(name) < 1 || len(name) > 128 {
		return fmt.Errorf("name has %d bytes, want 1 to 128", len(name))
	}
	return nil
}

// isDigest says whether s is a SHA-256 as 64 lower-case hexadecimal digits.
func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && s == strings.ToLower(s)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
