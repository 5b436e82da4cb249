package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A vectorCache keeps vectors under the SHA-256 of what they depend on: the embedder's identity (model, tokenizer,
// prefix, windows, versions) and the passage. It is a bbolt database, so a killed bake leaves it whole; it is open
// only while it is used, so bakes at the same time share it. Each vector has a checksum: a damaged one counts as
// missing. A nil cache keeps nothing.
type vectorCache struct{ file string }

var vectorBucket = []byte("vectors-1")

// cacheWait is how long to wait for another bake to let go of the cache.
const cacheWait = time.Minute

func openVectorCache(dir string) (*vectorCache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("vector cache: %w; %s", err, otherCache)
	}
	return &vectorCache{filepath.Join(dir, "vectors.db")}, nil
}

// use opens the database for one piece of work. bbolt maps the file and trusts what is in it: of a damaged or shortened
// one it may panic, or touch memory that isn't there.
func (c *vectorCache) use(work func(*bbolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("damaged: %v", fault)
		}
		if err != nil {
			err = fmt.Errorf("vector cache %s: %w; %s", c.file, err, cacheRemedy(err))
		}
	}()
	db, err := bbolt.Open(c.file, 0o644, &bbolt.Options{Timeout: cacheWait})
	if err != nil {
		return err
	}
	defer db.Close()
	return work(db)
}

const otherCache = "free space there, or set LARDER_CACHE to a folder that can be written"

// cacheRemedy says what to do about an error of the database. What the system refuses is not damage: removing a good
// cache would not help against it.
func cacheRemedy(err error) string {
	var refused syscall.Errno
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Sprintf("another bake has held it for over %v: wait for it, or set LARDER_CACHE to another folder", cacheWait)
	case errors.As(err, &refused),
		strings.HasPrefix(err.Error(), "file resize error"), strings.HasPrefix(err.Error(), "file sync error"): // bbolt drops what they wrap
		return otherCache
	}
	return "it holds nothing that can't be computed again: remove it"
}

func vectorKey(identity, passage string) []byte {
	h := sha256.New()
	h.Write([]byte(identity))
	h.Write([]byte{0})
	h.Write([]byte(passage))
	return h.Sum(nil)
}

// get copies the vectors that the cache has into rows of d floats and returns the numbers of the other passages.
func (c *vectorCache) get(identity string, passages []string, d int, vectors []float32) (missing []int, err error) {
	if c == nil {
		for i := range passages {
			missing = append(missing, i)
		}
		return missing, nil
	}
	err = c.use(func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			bucket := tx.Bucket(vectorBucket)
			for i, p := range passages {
				key := vectorKey(identity, p)
				if bucket == nil || !readVector(vectors[i*d:][:d], key, bucket.Get(key)) {
					missing = append(missing, i)
				}
			}
			return nil
		})
	})
	return missing, err
}

func (c *vectorCache) put(identity string, passages []string, vectors [][]float32) error {
	if c == nil {
		return nil
	}
	return c.use(func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(vectorBucket)
			if err != nil {
				return err
			}
			for i, p := range passages {
				key := vectorKey(identity, p)
				if err := bucket.Put(key, appendVector(nil, key, vectors[i])); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// appendVector appends a vector and the CRC-32C of key and vector, little-endian.
func appendVector(data, key []byte, v []float32) []byte {
	start := len(data)
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(data, vectorSum(key, data[start:]))
}

// readVector is the inverse of appendVector; it returns false of anything else than a whole vector of v's length.
func readVector(v []float32, key, data []byte) bool {
	n := 4 * len(v)
	if len(data) != n+4 || binary.LittleEndian.Uint32(data[n:]) != vectorSum(key, data[:n]) {
		return false
	}
	for k := range v {
		v[k] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*k:]))
	}
	return true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func vectorSum(key, vector []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, vector)
}
