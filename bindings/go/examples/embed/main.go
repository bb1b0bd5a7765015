// Embeddings: a line of text in, a line of numbers out. Of any language model: the mean of its tokens' states, of length 1, so that the
// product of two vectors says how alike their texts are.
//
//	embed MODEL.volta          reads standard input, writes standard output
package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"volta"
)

const mostTokens = 512

type embedder struct {
	engine    *volta.Context
	tokenizer *volta.Tokenizer
	states    *volta.Model           // tokens in, states out
	sessions  map[int]*volta.Session // one for each length, made when a text first has it
}

func newEmbedder(engine *volta.Context, path string) (*embedder, error) {
	model, err := volta.OpenModel(engine, path, volta.OpenOptions{})
	if err != nil {
		return nil, err
	}
	tokenizer, err := model.Tokenizer()
	if err != nil {
		return nil, err
	}
	if tokenizer == nil {
		return nil, fmt.Errorf("%s has no tokenizer", path)
	}
	states, err := model.HiddenStates()
	return &embedder{engine, tokenizer, states, map[int]*volta.Session{}}, err
}

// hidden gives the states of a text's tokens, [count, width].
func (e *embedder) hidden(text string) (states []float32, count int, err error) {
	tokens, err := e.tokenizer.Encode(text)
	if err != nil {
		return nil, 0, err
	}
	if len(tokens) > mostTokens { // the beginning of a long text
		tokens = tokens[:mostTokens]
	}
	count = len(tokens)
	session, known := e.sessions[count]
	if !known {
		session, err = volta.NewSession(e.states, volta.SessionOptions{InputShapes: [][]int64{{1, int64(count)}}})
		if err != nil {
			return nil, 0, err
		}
		e.sessions[count] = session
	}
	shape, err := session.OutputShape(0)
	if err != nil {
		return nil, 0, err
	}
	x, err := volta.TensorOf(e.engine, tokens, 1, int64(count))
	if err != nil {
		return nil, 0, err
	}
	defer x.Close()
	y, err := volta.NewTensor(e.engine, volta.F32, shape...)
	if err != nil {
		return nil, 0, err
	}
	defer y.Close()
	if err = session.Run([]*volta.Tensor{x}, []*volta.Tensor{y}); err != nil {
		return nil, 0, err
	}
	states, err = volta.Get[float32](y)
	return states, count, err
}

func (e *embedder) embed(text string) ([]float32, error) {
	states, count, err := e.hidden(text)
	if err != nil {
		return nil, err
	}
	vector, square := make([]float32, len(states)/count), 0.0
	for j := range vector {
		sum := 0.0
		for i := 0; i < count; i++ {
			sum += float64(states[i*len(vector)+j])
		}
		vector[j] = float32(sum / float64(count))
		square += float64(vector[j]) * float64(vector[j])
	}
	for j := range vector {
		vector[j] = float32(float64(vector[j]) / math.Sqrt(square))
	}
	return vector, nil
}

// serve answers each line, until there are no more. A text that cannot be embedded is an answer, not the end.
func (e *embedder) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		answer := "error: an empty line"
		if lines.Text() != "" {
			if vector, err := e.embed(lines.Text()); err != nil {
				answer = "error: " + err.Error()
			} else {
				answer = strings.Trim(fmt.Sprintf("%.6g", vector), "[]")
			}
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: embed MODEL.volta")
		os.Exit(2)
	}
	engine, err := volta.NewContext(nil)
	if err == nil {
		var e *embedder
		if e, err = newEmbedder(engine, os.Args[1]); err == nil {
			err = e.serve(os.Stdin, os.Stdout)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}
