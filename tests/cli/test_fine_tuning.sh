#!/bin/sh
# voltac train --from, --freeze, --classes, --report, --eval-every and --damaged: new runs on the weights of models that
# are there, pages of how they went, and pictures that cannot be read.
#     test_fine_tuning.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
data=${VOLTA_TEST_DATA:-$here/../../../shared/data}
files=$here/../data/files
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"
hash_of() { sed -n 's/^hash *//p'; }

# --- texts
i=0
while [ $i -lt 80 ]; do
    echo "to be, or not to be, that is the question of line $((i % 9))"
    i=$((i + 1))
done >text
small="--layers 1 --dim 32 --heads 2 --context 64 --steps 2 --warmup 1"
"$voltac" train --text text --architecture bert $small --out bert.volta >/dev/null 2>&1 || bad "no BERT"
"$voltac" train --text text $small --out gpt.volta >/dev/null 2>&1 || bad "no GPT"
for kind in gpt bert; do
    lesson="--text text --steps 6 --warmup 0"
    tune="$lesson --from $kind.volta --freeze token_embedding --freeze block.0.*,*.bias"
    "$voltac" train $tune --context 32 --threads 1 --out whole.volta 2>/dev/null | hash_of >whole || bad "train --from $kind"
    "$voltac" train $tune --context 32 --threads 3 --stop-at 2 --out part.volta >/dev/null 2>&1
    "$voltac" train $lesson --context 32 --resume part.volta 2>/dev/null | hash_of >parts
    [ -s whole ] && cmp whole parts || bad "a resumed run on a $kind ends otherwise"
    "$voltac" train $lesson --from $kind.volta --context 32 --out free.volta 2>/dev/null | hash_of >free
    cmp -s whole free && bad "--freeze changes nothing of a $kind"
done
refused 1 "--from gpt.volta: nothing is frozen by 'blocks.*': the model has no such parameter" train --text text --from gpt.volta --freeze 'blocks.*' --out x.volta
refused 1 "the loss depends on no parameter that is not frozen: there is nothing to train" train --text text --from gpt.volta --freeze '*' --out x.volta
refused 2 "--freeze: 'a,,b' has an empty pattern" train --text text --from gpt.volta --freeze a,,b --out x.volta
refused 2 "--freeze needs --from" train --text text --freeze a --out x.volta
refused 2 "--classes needs --from" train --text text --classes 3 --out x.volta
refused 2 "--classes is of pictures and needs --dataset" train --text text --from gpt.volta --classes 3 --out x.volta
refused 2 "--layers is what --from says itself: leave it out" train --text text --from gpt.volta --layers 3 --out x.volta
refused 2 "--tokenizer is what --from says itself: leave it out" train --text text --from gpt.volta --tokenizer byte --out x.volta
refused 1 "gpt.volta: the file holds no adapters" train --text text --from gpt.volta --resume gpt.volta --out x.volta
refused 2 "--freeze begins a run and --resume goes on with one" train --text text --from gpt.volta --resume gpt.volta --freeze a --out x.volta
refused 2 "--context 65 is more than the 64 tokens that the model takes" train --text text --from gpt.volta --context 65 --out x.volta
"$voltac" quantize gpt.volta --to int8 --out small.volta >/dev/null
refused 1 "is stored as int8: training needs f32" train --text text --from small.volta --out x.volta
refused 1 "has no batch norm that follows a convolution" convert gpt.volta --fold-batch-norm --out x.volta

# --- a page
"$voltac" train --text text --from gpt.volta --steps 9 --warmup 2 --eval-every 3 --json --out r.volta --report run.html >told 2>/dev/null || bad "train --report"
expect "validations on the way" 2 "$(grep -c '"event":"validation"' told)"
"$voltac" train --text text --from gpt.volta --steps 9 --warmup 2 --out s.volta >/dev/null 2>&1
cmp r.volta s.volta || bad "--eval-every or --report changes a bit of the model"
for title in "Training loss" "Learning rate" "Throughput, tokens per second" "Validation loss"; do
    grep -q "<h2>$title</h2>" run.html || bad "the page has no '$title'"
done
expect "curves" 4 "$(grep -c '<svg' run.html)"
grep -qE 'https?:|src="[^d]|href=|@import|url\(' run.html && bad "the page needs something else"
grep -q '<h2>Accuracy' run.html && bad "a text has an accuracy"
refused 2 "--report is 'run.txt', it must end with .html" train --text text --from gpt.volta --out x.volta --report run.txt

# --- pictures that cannot be read
for class in cat dog; do
    mkdir -p "pictures/train/$class" "pictures/test/$class"
    for name in rgb.png palette8.png rgb_444.jpg rgba.png; do cp "$files/$name" "pictures/train/$class/"; done
    cp "$files/rgb.png" "$files/rgb_420.jpg" "pictures/test/$class/"
done
mv pictures/train/dog pictures/train/'d<o>g'
mv pictures/test/dog pictures/test/'d<o>g'
lesson="--model resnet20 --dataset folder --data pictures --batch 4 --epochs 2"
head -c 100 "$files/rgb_444.jpg" >pictures/train/cat/broken.jpg
refused_skip="'pictures/train/cat/broken.jpg' is a damaged JPEG file"
"$voltac" train $lesson --out d.volta >told 2>err && bad "a damaged picture is no error"
grep -qF "voltac: $refused_skip" err || bad "a damaged picture is not named: $(cat err)"
[ -e d.volta ] && bad "a run that failed has written its model"
cp pictures/train/cat/broken.jpg pictures/test/cat/
for threads in 1 3; do
    "$voltac" train $lesson --damaged skip --threads $threads --out d$threads.volta --report d.html >told$threads 2>err || bad "train --damaged skip: $(cat err)"
    grep -qF "voltac: skipped: $refused_skip" err || bad "a skipped picture is not named: $(cat err)"
done
cmp told1 told3 || bad "threads change a run with skipped pictures"
expect "skipped" 3 "$(sed -n 's/^skipped *//p' told1)"
refused 1 "'pictures/test/cat/broken.jpg' is a damaged JPEG file" eval d1.volta --dataset folder --data pictures
"$voltac" eval d1.volta --dataset folder --data pictures --damaged skip --json 2>/dev/null | grep -q '"count":4,.*"skipped":1,' || bad "eval --damaged skip"
refused 2 "--damaged is 'ask', it must be one of stop|skip" eval d1.volta --dataset folder --data pictures --damaged ask
refused 2 "--damaged needs --dataset" eval d1.volta --text text --damaged skip
for title in Accuracy Answers "Highest loss" "Validation loss" "Throughput, pictures per second"; do
    grep -q "<h2>$title</h2>" d.html || bad "the page of pictures has no '$title'"
done
expect "the worst pictures" 4 "$(grep -c '<figure><img alt="" title="pictures/test/' d.html)"
grep -q 'd<o>g' d.html && bad "a name of a class is not escaped"
grep -q '<th class=t>d&lt;o&gt;g' d.html || bad "the page does not name a class"
sed -n 's/.*base64,\([^"]*\)".*/\1/p' d.html | head -n 1 | base64 -d >worst.bmp
expect "the first picture is one of 30 x 21" "BM 30 21" "$(head -c 2 worst.bmp) $(od -An -tu4 -j18 -N8 worst.bmp | tr -s ' ' | sed 's/^ //')"
expect "its size" "$((54 + (30 * 3 + 2) * 21))" "$(wc -c <worst.bmp)"

# --- a new last layer, and folding: three classes on a network of two
tune="${lesson#--model resnet20} --from d1.volta"
"$voltac" train $tune --damaged skip --freeze 'conv1.weight,layer?.*,bn1.*' --classes 3 --out three.volta >told 2>/dev/null || bad "train --classes"
"$voltac" info three.volta | grep -q "fc.weight  *f32\[3, 64\]" || bad "the new last layer has not three classes: $("$voltac" info three.volta)"
refused 2 "--model is what --from says itself" train $lesson --from d1.volta --out x.volta
refused 1 "the data has 2 classes, the model 1: --classes 2 gives it a new last layer" train $tune --classes 1 --out x.volta

# --- the trained network
weights=$data/safetensors/cifar10_resnet20.safetensors
if [ -r "$weights" ] && [ -r "$data/cifar-10/train_exact_4000.bin" ]; then
    train=$data/cifar-10/train_exact_4000.bin
    "$voltac" convert "$weights" --model resnet20 --labels "$data/cifar-10/batches.meta.txt" --out r.volta >hash || bad "convert"
    "$voltac" convert r.volta --fold-batch-norm --out folded.volta >folded 2>err || bad "convert --fold-batch-norm"
    grep -q "^19 batch norms are folded into the convolutions before: another model" err || bad "folding says: $(cat err)"
    cmp -s hash folded && bad "a folded model has the hash of the other"
    "$voltac" eval folded.volta --dataset cifar10 --data "$train" --limit 2000 --json >score
    grep -q '^{"correct":199[678],"count":2000,' score || bad "folded: $(cut -c1-80 score)"
    "$voltac" train --from r.volta --dataset cifar10 --data "$train" --limit 384 --batch 32 --epochs 1 --lr 0.002 \
        --freeze 'conv1*,layer1.*,bn1.*' --out tuned.volta --eval-data "$data/cifar-10/test_jpeg_2000.bin" >told 2>/dev/null || bad "train --from a ResNet"
    correct=$(sed -n 's/^correct *\([0-9]*\) of 2000/\1/p' told)
    [ "${correct:-0}" -ge 1600 ] || bad "fine-tuning spoils the network: $(cat told)"
    "$voltac" eval tuned.volta --dataset cifar10 --data "$train" --limit 20 | grep -q '^airplane' || bad "names of classes are lost"
else
    echo "no $weights: what needs it is left out"
fi
[ "$failed" -eq 0 ] && echo "models are trained on from others"
exit "$failed"
