package reader

import (
	"fmt"
	"io/fs"
	"math"
	"sync"
	"weak"

	"example.com/larder/artifact"
	"example.com/larder/models"
)

type weakEncoder = weak.Pointer[models.Encoder]

// loadEncoder opens the encoder of that digest in a folder. It is [models.Open], or a cache's.
type loadEncoder func(fsys fs.FS, dir, digest string) (*models.Encoder, error)

// An encoderCache shares encoders by digest among the bases that are open.
type encoderCache struct {
	sync.Mutex
	open map[string]weakEncoder
}

func (c *encoderCache) get(fsys fs.FS, dir, digest string) (*models.Encoder, error) {
	c.Lock()
	defer c.Unlock()
	if e := c.open[digest].Value(); e != nil {
		return e, nil
	}
	e, err := models.Open(fsys, dir, digest)
	if err != nil {
		return nil, err
	}
	c.open[digest] = weak.Make(e)
	return e, nil
}

// selfTestCosine is the least cosine between a stored probe's vector and what the encoder makes of it (E2).
const selfTestCosine = 0.999

// selfTest makes sure that the encoder encodes here as it did where the artifact was baked.
func selfTest(e *models.Encoder, probes []artifact.Probe) error {
	vector := make([]float32, e.Dimensions())
	for i, p := range probes {
		if _, err := e.EncodeQuery(vector, p.Text); err != nil {
			return fmt.Errorf("%w: selftest.bin: the encoder fails at probe %d: %w (rule E2)", artifact.ErrCorrupt, i, err)
		}
		// The encoder's vectors have length 1; a stored one need not. Of a zero vector, this is not a number.
		if cos := dot(vector, p.Vector) / math.Sqrt(dot(p.Vector, p.Vector)); !(cos >= selfTestCosine) {
			return fmt.Errorf("%w: selftest.bin: the encoder gives probe %d a cosine of %.4f, not %v or more (rule E2)", artifact.ErrCorrupt, i, cos, selfTestCosine)
		}
	}
	return nil
}

// Verify checks everything that can be checked of the artifact in a folder, which dir names as in [OpenDir]. It reads
// the encoder anew, even if another base that is open has it. If the artifact needs a [QueryEncoder] and o has none, all
// else is checked, as with KeywordAlone.
func Verify(dir string, o Options) (*Base, error) {
	o.KeywordAlone = true
	b, err := openDir(dir, models.Open, o)
	if err != nil {
		return nil, err
	}
	if err := b.artifact.Verify(); err != nil {
		return nil, err
	}
	if e := b.Encoder(); e != nil {
		if err := selfTest(e, b.artifact.Probes()); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// dot sums in binary64, where the products are exact, so that every architecture gives the same bits.
func dot(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}
