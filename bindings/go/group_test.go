package volta

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
)

func sharded(c *Context, group *Group) (*Trainer, error) {
	model, tokenizer := smallGpt(c)
	trainer, err := NewTrainer(model, TrainerOptions{InputShapes: [][]int64{{4, 16}}, LearningRate: 1e-2, Seed: 3, Shards: 2, Group: group})
	if err != nil {
		return nil, err
	}
	return trainer, trainer.SetTokens(must(tokenizer.Encode(text)))
}

func threeSteps(trainer *Trainer) string {
	report := must(trainer.Run(context.Background(), 3, nil))
	return fmt.Sprint(report.Loss, must(trainer.Hash()))
}

func TestTwoRanksTrainAsOne(t *testing.T) {
	c := newContext(t, nil)
	whole := threeSteps(must(sharded(c, nil)))
	nobody := func(uint32, []byte, []byte) error { return errors.New("there is nobody") }
	alone := must(NewGroup(c, GroupOptions{Exchange: nobody}))
	if alone.Rank() != 0 || alone.Size() != 1 {
		t.Errorf("rank %d of %d", alone.Rank(), alone.Size())
	}
	if found := threeSteps(must(sharded(c, alone))); found != whole {
		t.Errorf("%s is not %s", found, whole)
	}

	wires := [2]chan []byte{make(chan []byte, 1), make(chan []byte, 1)} // to each rank
	found := make(chan string)
	for rank := uint32(0); rank < 2; rank++ {
		c := newContext(t, &ContextOptions{ThreadCount: 1})
		go func(rank uint32) {
			group := must(NewGroup(c, GroupOptions{Rank: rank, Size: 2, Exchange: func(peer uint32, send, receive []byte) error {
				wires[peer] <- append([]byte{}, send...)
				if came := <-wires[rank]; copy(receive, came) != len(came) || len(came) != len(receive) {
					return fmt.Errorf("rank %d sends %d bytes, not %d", peer, len(came), len(receive))
				}
				return nil
			}}))
			trainer := must(sharded(c, group))
			done(group.Close()) // the trainer has what it needs of it
			runtime.GC()
			if first, count, err := trainer.Rows(); err != nil || first != uint64(4*rank) || count != 4 {
				panic(fmt.Sprint("rows ", first, count, err))
			}
			if options := must(trainer.Options()); options.Shards != 2 || options.Group != group {
				panic(fmt.Sprintf("options in force: %+v", options))
			}
			found <- threeSteps(trainer)
		}(rank)
	}
	for rank := 0; rank < 2; rank++ {
		if one := <-found; one != whole {
			t.Errorf("%s is not %s", one, whole)
		}
	}
}

func TestGroupsSayWhatIsWrong(t *testing.T) {
	c := newContext(t, nil)
	if _, err := NewGroup(c, GroupOptions{Transport: "pigeons"}); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	gone := errors.New("rank 0 is gone")
	group := must(NewGroup(c, GroupOptions{Rank: 1, Size: 2, Exchange: func(uint32, []byte, []byte) error { return gone }}))
	if _, err := sharded(c, group); err != gone {
		t.Error(err)
	}
	if _, err := sharded(c, group); !errors.Is(err, ErrIo) || err.Error() != gone.Error() { // it has ended
		t.Error(err)
	}
	if _, err := sharded(newContext(t, nil), group); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	done(group.Close())
	if _, err := sharded(c, group); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	broken := must(NewGroup(c, GroupOptions{Rank: 1, Size: 2, Exchange: func(uint32, []byte, []byte) error { panic("of the exchange") }}))
	defer func() {
		if thrown := recover(); thrown != "of the exchange" {
			t.Error(thrown)
		}
	}()
	_, err := sharded(c, broken)
	t.Error(err)
}
