#!/bin/sh
# Every recipe is understood and trains a step; an option on the command line wins over it. With a second argument,
# "whole": those of small pictures are run to their end, and reach what docs/recipes.md says.
#     test_recipes.sh PATH_OF_VOLTAC [whole]
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
recipes=$here/../../recipes
data=${VOLTA_TEST_DATA:-$here/../../../shared/data}
fashion=${VOLTA_FASHION_MNIST:-/usr/share/datasets/fashion-mnist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"
tried=""
# trains RECIPE OPTIONS...
trains() {
    tried="$tried $1"
    recipe=$1
    shift
    "$voltac" train --config "$recipes/$recipe.json" "$@" --out m.volta >told 2>err || bad "$recipe: $(cat err)"
    grep -q '^hash ' told || bad "$recipe gives no model: $(cat told)"
}
# reaches RECIPE DATA CORRECT: of the 10,000 test pictures at least so many.
reaches() {
    "$voltac" train --config "$recipes/$1.json" --data "$2" --out m.volta >told 2>err || bad "$1: $(cat err)"
    correct=$(sed -n 's/^correct  *\([0-9]*\) of 10000$/\1/p' told)
    echo "$1: ${correct:-none} of 10,000 ($(sed -n 's/^hash *//p' told))"
    [ "${correct:-0}" -ge "$3" ] || bad "$1 reaches ${correct:-none} of 10,000, not $3"
}

if [ "${2:-}" = whole ]; then
    if [ ! -r "$data/mnist/train-images-idx3-ubyte.gz" ] && [ ! -r "$fashion/train-images-idx3-ubyte.gz" ]; then
        echo "no $data/mnist and no $fashion: set VOLTA_TEST_DATA and VOLTA_FASHION_MNIST (dataset-fashion-mnist)"
        exit 77
    fi
    [ ! -r "$data/mnist/train-images-idx3-ubyte.gz" ] || reaches mnist "$data/mnist" 9920
    [ ! -r "$fashion/train-images-idx3-ubyte.gz" ] || reaches fashion-mnist "$fashion" 9100
    exit $failed
fi

# Records of CIFAR-10, IDX files and a folder per class, whose bytes are a text's.
i=0
while [ $i -lt 4000 ]; do
    echo "line $i of a text in which line $((i * 7 % 4000)) is named"
    i=$((i + 1))
done >text
record=0
while [ $record -lt 32 ]; do
    printf "\\$(printf %03o $((record % 10)))"
    tail -c +$((record * 900 + 1)) text | head -c 3072
    record=$((record + 1))
done >records
mkdir idx
{ printf '\000\000\010\003\000\000\000\040\000\000\000\034\000\000\000\034' && head -c 25088 text; } >idx/train-images-idx3-ubyte
{ printf '\000\000\010\001\000\000\000\040' && record=0 && while [ $record -lt 32 ]; do
    printf "\\$(printf %03o $((record % 10)))"
    record=$((record + 1))
done; } >idx/train-labels-idx1-ubyte
for split in train test; do
    for class in a b; do
        mkdir -p folder/$split/$class
        cp "$here"/../data/files/rgb.png "$here"/../data/files/rgb_420.jpg folder/$split/$class/
    done
done

small="--layers 1 --dim 32 --heads 2 --steps 2 --warmup 1"
trains gpt-text --text text $small
mkdir wikitext-2 && cp text wikitext-2/wiki.valid.tokens
trains gpt-wikitext2 --data wikitext-2 --tokenizer bpe:300 $small
grep -q "^validation loss .*'wikitext-2/wiki.valid.tokens': the folder has no train part" told || bad "gpt-wikitext2 does not say that it learns the validation part: $(cat told)"
trains bert-small-masked --text text --tokenizer bpe:300 --hidden 64 --batch 2 $small
trains resnet20-cifar10 --dataset cifar10 --data records --batch 16 --epochs 1
trains resnet18-cifar10 --data records --batch 4 --stop-at 1
trains mnist --data idx --batch 16 --epochs 1
trains fashion-mnist --data idx --batch 16 --epochs 1
trains image-folder --data folder --batch 1 --accumulate 1 --stop-at 1
for recipe in "$recipes"/*.json; do
    name=$(basename "$recipe" .json)
    case " $tried " in
    *" $name "*) grep -q "\`$name\`" "$here/../../docs/recipes.md" || bad "docs/recipes.md does not name $name" ;;
    *) bad "no test trains the recipe $name" ;;
    esac
done

# The command line wins, before the recipe and behind it.
"$voltac" train --config "$recipes/mnist.json" --data idx --batch 16 --epochs 1 --seed 2 --out a.volta 2>/dev/null | grep '^hash' >one
"$voltac" train --seed 2 --epochs 1 --batch 16 --data idx --config "$recipes/mnist.json" --out b.volta 2>/dev/null | grep '^hash' >two
[ -s one ] && cmp one two || bad "the order of --config and options changes the model"
"$voltac" train --config "$recipes/mnist.json" --data idx --batch 16 --epochs 1 --out c.volta 2>/dev/null | grep '^hash' >three
cmp -s one three && bad "--seed does not win over a recipe"
exit $failed
