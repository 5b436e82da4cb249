package pipeline

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"

	"github.com/ledongthuc/pdf"
)

var (
	encryptKey  = []byte("/Encrypt")
	otherwise   = []byte("/Xncrypt")
	passwordEnd = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")
)

// A pdfCipher deciphers the streams of a file by the standard handler (PDF 1.7, 7.6; ISO 32000-2, 7.6).
type pdfCipher struct {
	key       []byte
	aes       bool
	perObject bool // the key of an object is made of its number
}

// decipher deciphers all streams of a file in place, and hides the encryption from the library, which knows
// few of its kinds and errs on short keys. The first password that fits is taken; the first of them is empty.
func (f *ledongthucFile) decipher(passwords []string) error {
	f.data = bytes.ReplaceAll(f.data, encryptKey, otherwise)
	f.encrypted = true
	objects := scanPDFObjects(f.data)
	var c *pdfCipher
	var err error
	if !attempt(func() { c, err = f.cipher(passwords, objects) }) {
		err = pdfFailed("its encryption can't be read")
	}
	if c == nil || err != nil {
		return err
	}
	for _, o := range objects {
		if o.stream > 0 && !tableHere.Match(o.head) {
			c.decipher(f.data[o.stream:o.end], o.number, o.generation)
		}
	}
	return nil
}

// cipher returns the file's cipher, nil if it has none after all.
func (f *ledongthucFile) cipher(passwords []string, objects []pdfObject) (*pdfCipher, error) {
	var trailer pdf.Value
	find := func() {
		r, err := pdf.NewReader(bytes.NewReader(f.data), int64(len(f.data)))
		if err == nil {
			trailer = r.Trailer()
		}
	}
	if !tablesLoop(f.data) {
		attempt(find)
	}
	d := trailer.Key("Xncrypt")
	if d.IsNull() {
		if trailer.IsNull() {
			return nil, pdfFailed("it is encrypted and its tables are broken")
		}
		return nil, nil
	}
	if d.Key("Filter").Name() != "Standard" {
		return nil, &PDFError{Encrypted, "its encryption is of a kind that ledongthuc does not read"}
	}
	version, revision, bits := d.Key("V").Int64(), d.Key("R").Int64(), d.Key("Length").Int64()
	c := &pdfCipher{perObject: version < 5}
	if version >= 4 {
		filter := d.Key("CF").Key(d.Key("StmF").Name())
		bits = 128
		switch filter.Key("CFM").Name() {
		case "V2":
		case "AESV2", "AESV3":
			c.aes = true
		default:
			return nil, nil // streams are not encrypted
		}
	}
	if version == 1 || bits < 40 || bits > 128 || bits%8 != 0 {
		bits = 40
	}
	owner, user := []byte(d.Key("O").RawString()), []byte(d.Key("U").RawString())
	for _, p := range passwords {
		if revision >= 5 {
			c.key = key256([]byte(p), owner, user, []byte(d.Key("UE").RawString()), []byte(d.Key("OE").RawString()), revision)
		} else {
			id := []byte(trailer.Key("ID").Index(0).RawString())
			meta := d.Key("XncryptMetadata")
			c.key = key128([]byte(p), owner, user, id, int32(d.Key("P").Int64()), int(bits/8), revision, meta.Kind() != pdf.Bool || meta.Bool())
		}
		if c.key != nil {
			return c, nil
		}
	}
	return nil, notOpened(passwords[1:])
}

// key128 returns the key of revisions 2 to 4, nil if the user's password is another one (algorithms 2, 4 and 5).
func key128(password, owner, user, id []byte, permissions int32, length int, revision int64, metadata bool) []byte {
	h := md5.New()
	h.Write(append(bytes.Clone(password), passwordEnd...)[:32])
	h.Write(owner[:min(32, len(owner))])
	binary.Write(h, binary.LittleEndian, permissions)
	h.Write(id)
	if revision >= 4 && !metadata {
		h.Write([]byte{255, 255, 255, 255})
	}
	key := h.Sum(nil)
	if revision < 3 {
		key = key[:5]
		if want := rc4Of(key, passwordEnd); !bytes.Equal(want, user) {
			return nil
		}
		return key
	}
	for range 50 {
		sum := md5.Sum(key[:length])
		key = sum[:]
	}
	key = key[:length]
	sum := md5.Sum(append(bytes.Clone(passwordEnd), id...))
	check := sum[:]
	for i := range 20 {
		k := bytes.Clone(key)
		for j := range k {
			k[j] ^= byte(i)
		}
		check = rc4Of(k, check)
	}
	if len(user) < 16 || !bytes.Equal(check, user[:16]) {
		return nil
	}
	return key
}

func rc4Of(key, data []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

// key256 returns the key of revisions 5 and 6, nil if the password is neither the user's nor the owner's
// (algorithm 2.A).
func key256(password, owner, user, userKey, ownerKey []byte, revision int64) []byte {
	if len(user) < 48 || len(owner) < 48 || len(userKey) < 32 || len(ownerKey) < 32 {
		return nil
	}
	password = password[:min(127, len(password))]
	open := func(salted, sealed, more []byte) []byte {
		if !bytes.Equal(hash256(password, salted[32:40], more, revision), salted[:32]) {
			return nil
		}
		block, err := aes.NewCipher(hash256(password, salted[40:48], more, revision))
		if err != nil {
			return nil
		}
		key := make([]byte, 32)
		cipher.NewCBCDecrypter(block, make([]byte, 16)).CryptBlocks(key, sealed[:32])
		return key
	}
	if key := open(user, userKey, nil); key != nil {
		return key
	}
	return open(owner, ownerKey, user[:48])
}

// hash256 is algorithm 2.B.
func hash256(password, salt, more []byte, revision int64) []byte {
	sum := sha256.Sum256(bytes.Join([][]byte{password, salt, more}, nil))
	k := sum[:]
	if revision < 6 {
		return k
	}
	for i := 0; ; i++ {
		round := bytes.Repeat(bytes.Join([][]byte{password, k, more}, nil), 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(round, round)
		remainder := 0
		for _, c := range round[:16] {
			remainder += int(c)
		}
		switch remainder % 3 {
		case 0:
			s := sha256.Sum256(round)
			k = s[:]
		case 1:
			s := sha512.Sum384(round)
			k = s[:]
		default:
			s := sha512.Sum512(round)
			k = s[:]
		}
		if i >= 63 && int(round[len(round)-1]) <= i-32 {
			return k[:32]
		}
	}
}

// decipher deciphers a stream in place. With AES the text is shorter; blanks fill the rest.
func (c *pdfCipher) decipher(data []byte, number, generation int) {
	key := c.key
	if c.perObject {
		k := append(bytes.Clone(key), byte(number), byte(number>>8), byte(number>>16), byte(generation), byte(generation>>8))
		if c.aes {
			k = append(k, "sAlT"...)
		}
		sum := md5.Sum(k)
		key = sum[:min(len(c.key)+5, 16)]
	}
	if !c.aes {
		copy(data, rc4Of(key, data))
		return
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 32 {
		return
	}
	whole := data[16 : 16+(len(data)-16)/16*16]
	cipher.NewCBCDecrypter(block, bytes.Clone(data[:16])).CryptBlocks(whole, whole)
	n := len(whole)
	if pad := int(whole[n-1]); pad >= 1 && pad <= 16 {
		n -= pad
	}
	copy(data, whole[:n])
	for i := n; i < len(data); i++ {
		data[i] = ' '
	}
}
