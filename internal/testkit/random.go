package testkit

// Random is splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014): the same
// numbers with every version of Go.
type Random struct{ state uint64 }

// NewRandom returns a generator that begins at seed.
func NewRandom(seed uint64) *Random { return &Random{seed} }

// Next returns the next 64 bits.
func (r *Random) Next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// N returns a number from 0 to n-1. Its bias is below n/2^64.
func (r *Random) N(n int) int { return int(r.Next() % uint64(n)) }

// byte returns a number from -127 to 127.
func (r *Random) byte() int8 { return int8(r.Next()%255) - 127 }
