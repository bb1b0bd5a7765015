#!/bin/sh
# Models of pictures: a trained ResNet-20 of another program is imported, measured and asked, and wrong calls are told in
# one sentence.
#     test_pictures.sh PATH_OF_VOLTAC
set -eu
voltac=$1
data=${VOLTA_TEST_DATA:-$(cd "$(dirname "$0")/../.." && pwd)/../shared/data}
weights=$data/safetensors/cifar10_resnet20.safetensors
if [ ! -r "$weights" ] || [ ! -r "$data/cifar-10/train_exact_4000.bin" ]; then
    echo "no $weights or $data/cifar-10: set VOLTA_TEST_DATA to a folder with safetensors/ and cifar-10/"
    exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work"
set +e
. "$here/checks.sh"

"$voltac" convert "$weights" --model resnet20 --labels "$data/cifar-10/batches.meta.txt" --out r.volta >hash || bad "convert"
"$voltac" eval r.volta --dataset cifar10 --data "$data/cifar-10/train_exact_4000.bin" --limit 2000 --json >score
grep -q '^{"correct":199[678],"count":2000,"top1":0.99[89]' score || bad "2,000 training pictures: $(cut -c1-80 score)"
# Several files are one data set, and threads change nothing.
"$voltac" eval r.volta --dataset cifar10 --data "$data/cifar-10/train_exact_4000.bin,$data/cifar-10/test_jpeg_2000.bin" \
    --limit 4100 --json --threads 1 >one
"$voltac" eval r.volta --dataset cifar10 --data "$data/cifar-10/train_exact_4000.bin,$data/cifar-10/test_jpeg_2000.bin" \
    --limit 4100 --json --threads 3 >three
cmp one three || bad "threads change a score"
grep -q '"count":4100,' one || bad "not 4,100 pictures: $(cut -c1-80 one)"
"$voltac" eval r.volta --dataset cifar10 --data "$data/cifar-10/test_jpeg_2000.bin" --limit 10 >people
grep -q '^airplane  *[0-9]' people || bad "the model's names of classes are missing: $(cat people)"
# Names of torchvision go out as they came in, but for what is called otherwise; and in again.
"$voltac" convert r.volta --out r.safetensors >/dev/null || bad "export"
"$voltac" convert r.safetensors --out again.volta >hash2 || bad "import of what was exported"
cmp hash hash2 || bad "another model comes back"
# Other preprocessing, other scores.
"$voltac" convert "$weights" --model resnet20 --preprocess none --out raw.volta >/dev/null
"$voltac" eval raw.volta --dataset cifar10 --data "$data/cifar-10/train_exact_4000.bin" --limit 500 --json >raw
grep -q '"correct":4[0-9][0-9],' raw && bad "preprocessing does nothing: $(cut -c1-80 raw)"

# Training: one result for all threads, and from a run that stopped in the middle of an epoch.
lesson="--model resnet20 --dataset cifar10 --data $data/cifar-10/train_exact_4000.bin --limit 96 --batch 16 --epochs 2"
"$voltac" train $lesson --threads 1 --eval-data "$data/cifar-10/test_jpeg_2000.bin" --out whole.volta >told 2>/dev/null || bad "train"
grep -q '^correct  *[0-9]* of 2000' told || bad "train does not say what is right: $(cat told)"
grep '^hash' told >whole
"$voltac" train $lesson --threads 3 --stop-at 8 --out part.volta >/dev/null 2>&1
"$voltac" train $lesson --resume part.volta 2>/dev/null | grep '^hash' >parts
cmp whole parts || bad "a resumed run ends otherwise"
"$voltac" train $lesson --augment none --out other.volta 2>/dev/null | grep '^hash' >other
cmp -s whole other && bad "--augment changes nothing"
"$voltac" eval whole.volta --dataset cifar10 --data "$data/cifar-10/test_jpeg_2000.bin" --limit 20 | grep -q '^frog' || bad "a trained model has no names of classes"

# Every network of the library trains, and is one that is evaluated; unknown ones are named.
for network in mobilenet_v2 cnn; do
    "$voltac" train $lesson --model $network --limit 32 --epochs 1 --out n.volta >/dev/null 2>&1 || bad "train $network"
    "$voltac" info n.volta | grep -q "$network" || bad "info of $network"
    "$voltac" eval n.volta --dataset cifar10 --data "$data/cifar-10/test_jpeg_2000.bin" --limit 20 --json | grep -q '"count":20,' ||
        bad "eval of $network"
done
refused 2 "mobilenet_v3" train $lesson --model mobilenet_v3 --out x.volta

refused 2 "--epochs is of pictures and needs --dataset" train --text told --epochs 3 --out x.volta
refused 2 "--layers is of a text, --dataset of pictures" train $lesson --layers 3 --out x.volta
refused 2 "--epochs and --steps both say how long it runs" train $lesson --steps 3 --out x.volta
refused 2 "it needs --text, --jsonl, or --dataset with --data" train --out x.volta
refused 1 "fewer than a batch of 128" train --dataset cifar10 --data "$data/cifar-10/test_jpeg_2000.bin" --limit 100 --out x.volta
refused 2 "--dataset and --data go together" eval r.volta --data x
refused 2 "--limit needs --dataset" eval r.volta --text r.volta --limit 3
refused 2 "it needs --text, --jsonl, or --dataset with --data" eval r.volta
refused 2 "must be one of cifar10|cifar100|idx|folder" eval r.volta --dataset cifar --data x
refused 1 "missing.bin" eval r.volta --dataset cifar10 --data missing.bin
refused 2 "'1/0' is neither imagenet nor none nor mean/deviation" convert "$weights" --model resnet20 --preprocess 1/0 --out x.volta
refused 1 "'layer1.3.conv1.weight' is missing" convert "$weights" --model resnet32 --out x.volta
refused 2 "--model is for weights of another program" convert r.volta --model resnet20 --out x.volta
printf 'one\n' >names
refused 1 "1 names, but the model has 10 classes" convert "$weights" --model resnet20 --labels names --out x.volta
refused 1 "is neither a JPEG nor a PNG file" classify r.volta names
refused 2 "pictures is required" classify r.volta
[ "$failed" -eq 0 ] && echo "pictures are measured and named"
exit "$failed"
