package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// An onnxGraph is what a converter needs of an ONNX model: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
// numbers the fields.
type onnxGraph struct {
	tensors map[string]*onnxTensor // initializers, by name
	nodes   map[string]*onnxNode   // by name; nodes without a name are left out
	made    map[string]*onnxNode   // by what they put out
}

type onnxNode struct {
	name, op       string
	inputs, output []string
	value          *onnxTensor // of a Constant
}

// An onnxTensor refers to the model's bytes.
type onnxTensor struct {
	name     string
	dims     []int
	kind     uint64 // 1 is float32, 7 is int64
	raw      []byte // little-endian, as exporters write them
	other    bool   // values are in a typed field
	external bool   // values are in another file
}

const (
	onnxFloat = 1
	onnxInt64 = 7
)

// readONNX reads a model's graph.
func readONNX(model []byte) (*onnxGraph, error) {
	g := &onnxGraph{
		tensors: map[string]*onnxTensor{},
		nodes:   map[string]*onnxNode{},
		made:    map[string]*onnxNode{},
	}
	graphs := 0
	err := fields(model, func(number protowire.Number, data []byte, _ uint64) error {
		if number != 7 || data == nil {
			return nil
		}
		graphs++
		return g.read(data)
	})
	if err == nil && graphs != 1 {
		err = fmt.Errorf("%d graphs, want 1", graphs)
	}
	if err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	return g, nil
}

func (g *onnxGraph) read(graph []byte) error {
	return fields(graph, func(number protowire.Number, data []byte, _ uint64) error {
		if data == nil {
			return nil
		}
		switch number {
		case 1:
			n := new(onnxNode)
			if err := n.read(data); err != nil {
				return fmt.Errorf("node: %w", err)
			}
			if n.name != "" {
				if g.nodes[n.name] != nil {
					return fmt.Errorf("two nodes have the name %q", n.name)
				}
				g.nodes[n.name] = n
			}
			for _, o := range n.output {
				g.made[o] = n
			}
		case 5:
			t := new(onnxTensor)
			if err := t.read(data); err != nil {
				return fmt.Errorf("initializer: %w", err)
			}
			if g.tensors[t.name] != nil {
				return fmt.Errorf("two initializers have the name %q", t.name)
			}
			g.tensors[t.name] = t
		}
		return nil
	})
}

func (n *onnxNode) read(data []byte) error {
	return fields(data, func(number protowire.Number, data []byte, _ uint64) error {
		if data == nil {
			return nil
		}
		switch number {
		case 1:
			n.inputs = append(n.inputs, string(data))
		case 2:
			n.output = append(n.output, string(data))
		case 3:
			n.name = string(data)
		case 4:
			n.op = string(data)
		case 5:
			return fields(data, func(number protowire.Number, data []byte, _ uint64) error {
				if number == 5 && data != nil { // AttributeProto.t
					n.value = new(onnxTensor)
					return n.value.read(data)
				}
				return nil
			})
		}
		return nil
	})
}

func (t *onnxTensor) read(data []byte) error {
	return fields(data, func(number protowire.Number, data []byte, value uint64) error {
		switch number {
		case 1:
			if data == nil {
				t.dims = append(t.dims, int(value))
			}
			for len(data) > 0 {
				v, n := protowire.ConsumeVarint(data)
				if n < 0 {
					return protowire.ParseError(n)
				}
				t.dims, data = append(t.dims, int(v)), data[n:]
			}
		case 2:
			t.kind = value
		case 4, 5, 7, 10, 11:
			t.other = true
		case 8:
			t.name = string(data)
		case 9:
			t.raw = data
		case 13:
			t.external = true
		case 14:
			t.external = t.external || value != 0
		}
		return nil
	})
}

// fields calls f with each field of a message: data for a length-delimited field, where it is not nil,
// and value for a number.
func fields(message []byte, f func(number protowire.Number, data []byte, value uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var data []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
			if data == nil {
				data = []byte{}
			}
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, data, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// node returns the node of a name after checking its operation.
func (g *onnxGraph) node(name, op string) (*onnxNode, error) {
	n := g.nodes[name]
	if n == nil {
		return nil, fmt.Errorf("no node %q (%s)", name, op)
	}
	if n.op != op {
		return nil, fmt.Errorf("node %q is %s, want %s", name, n.op, op)
	}
	return n, nil
}

// floats returns an initializer's values and checks its shape.
func (g *onnxGraph) floats(name string, dims ...int) ([]float32, error) {
	t := g.tensors[name]
	if t == nil {
		return nil, fmt.Errorf("no tensor %q of shape %d", name, dims)
	}
	if !slices.Equal(t.dims, dims) {
		return nil, fmt.Errorf("tensor %q has shape %d, want %d", name, t.dims, dims)
	}
	return t.floats()
}

// floats returns a tensor's values, which must be as many as its shape says.
func (t *onnxTensor) floats() ([]float32, error) {
	if t.kind != onnxFloat {
		return nil, fmt.Errorf("tensor %q of shape %d has type %d, want float32, which is %d: take the fp32 model", t.name, t.dims, t.kind, onnxFloat)
	}
	if err := t.check(4); err != nil {
		return nil, err
	}
	v := make([]float32, len(t.raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
	}
	return v, nil
}

// check says whether the tensor's values are here, each of size bytes.
func (t *onnxTensor) check(size int) error {
	switch {
	case t.external:
		return fmt.Errorf("tensor %q of shape %d is in another file: take a model in one file", t.name, t.dims)
	case t.other:
		return fmt.Errorf("tensor %q of shape %d is not raw data", t.name, t.dims)
	}
	want := uint64(size)
	for _, d := range t.dims {
		if d < 0 || d > len(t.raw) {
			want = math.MaxUint64
			break
		}
		if want *= uint64(d); want > uint64(len(t.raw)) {
			break
		}
	}
	if want != uint64(len(t.raw)) {
		return fmt.Errorf("tensor %q of shape %d has %d bytes", t.name, t.dims, len(t.raw))
	}
	return nil
}

// constant returns the one value of a node's input.
func (g *onnxGraph) constant(n *onnxNode, input int) (float64, error) {
	if input < 0 || input >= len(n.inputs) {
		return 0, fmt.Errorf("node %q has %d inputs, want more than %d", n.name, len(n.inputs), input)
	}
	name := n.inputs[input]
	t := g.tensors[name]
	if t == nil {
		if made := g.made[name]; made != nil && made.op == "Constant" {
			t = made.value
		}
	}
	if t == nil {
		return 0, fmt.Errorf("input %q of node %q is not a constant", name, n.name)
	}
	var err error
	switch {
	case t.kind == onnxFloat && len(t.raw) == 4:
		if err = t.check(4); err == nil {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.raw))), nil
		}
	case t.kind == onnxInt64 && len(t.raw) == 8:
		if err = t.check(8); err == nil {
			return float64(int64(binary.LittleEndian.Uint64(t.raw))), nil
		}
	default:
		err = errors.New("it is not one float32 or int64")
	}
	return 0, fmt.Errorf("input %q of node %q: %w", name, n.name, err)
}
