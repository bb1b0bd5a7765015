import (
	"context"
	"os"
	"strings"

	"volta"
)
// in main
	ctx := context.Background()
	text := strings.Repeat("In the beginning was the word. ", 100)
	tokens := make([]int32, 3000)
	for i := range tokens {
		tokens[i] = int32(i % 7)
	}
	ids := tokens[:4]
// behind it
	if err != nil {
		panic(err)
	}
	_, _ = report, result
