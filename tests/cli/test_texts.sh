#!/bin/sh
# Folders of texts and lists of them: which part is learnt, what validates, and what is said beside the figure.
#     test_texts.sh PATH_OF_VOLTAC
set -u
voltac=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work"
cd "$work" || exit 1
. "$here/checks.sh"

i=0
while [ $i -lt 400 ]; do
    echo "line $i of a text in which line $((i * 7 % 400)) is named"
    i=$((i + 1))
done >whole
mkdir both valid parts loose other
head -n 300 whole >both/wiki.train.tokens
tail -n 100 whole >both/wiki.valid.tokens
head -n 40 whole >both/wiki.test.tokens
cp whole valid/valid.txt
head -n 300 whole >parts/train.txt
head -n 123 whole >loose/1.txt
tail -n +124 whole | gzip -c >loose/2.txt.gz
echo nothing >loose/note.md
head -n 9 whole >other/test.txt

small="--architecture gpt --layers 1 --dim 32 --heads 2 --context 16 --batch 4 --steps 3 --warmup 1"
# learns NAME ARGUMENTS...: NAME.volta, and what was told in NAME.told.
learns() {
    name=$1
    shift
    "$voltac" train "$@" --out "$name.volta" >"$name.told" 2>err || bad "train $*: $(cat err)"
}
hash_of() { sed -n 's/^hash *//p' "$1.told"; }
loss_of() { sed -n 's/^validation loss *\([0-9.]*\).*/\1/p' "$1.told"; }
said_by() { sed -n 's/^validation loss *[0-9.]*//p' "$1.told"; }

# A train part is learnt whole, and its validation part validates.
learns both --text both $small
expect "what is validated" ", of 'both/wiki.valid.tokens'" "$(said_by both)"
expect "the loss of that part" "$("$voltac" eval both.volta --text both/wiki.valid.tokens | sed -n 's/^loss *//p')" "$(loss_of both)"
learns same --dataset text --data both $small
expect "--dataset text" "$(hash_of both)" "$(hash_of same)"
cat both/wiki.train.tokens >train
learns file --text train $small
[ "$(hash_of file)" != "$(hash_of both)" ] || bad "a tenth of the train part is left out"
expect "what is said of a file" "" "$(said_by file)"

# Where there is no train part, its validation part is learnt as a file is, which is said.
learns whole.file --text whole $small
learns valid --text valid $small
expect "the validation part" "$(hash_of whole.file)" "$(hash_of valid)"
expect "its loss" "$(loss_of whole.file)" "$(loss_of valid)"
expect "what is said of it" ", of the last tenth of 'valid/valid.txt': the folder has no train part, its validation part is learnt" "$(said_by valid)"
"$voltac" train --text valid $small --eval-every 2 --json --out json.volta --report r.html >json 2>err || bad "--json: $(cat err)"
[ "$(grep -c '"validation_of":"the last tenth of '"'valid/valid.txt'"': the folder has no train part, its validation part is learnt"' json)" -eq 2 ] ||
    bad "no validation_of in both events: $(grep validation json)"
grep -q 'the folder has no train part' r.html || bad "the report does not say what is validated"

# A train part alone; files that no name makes a part; files one by one.
learns parts --text parts $small
expect "a train part alone" "$(hash_of file)" "$(hash_of parts)"
expect "what is said of it" ", of the last tenth of 'parts/train.txt'" "$(said_by parts)"
learns loose --text loose $small
expect "files without parts" "$(hash_of whole.file)" "$(hash_of loose)"
expect "what is said of them" ", of the last tenth of 'loose/1.txt' and 1 more file" "$(said_by loose)"
learns list --dataset text --data loose/1.txt,loose/2.txt.gz $small
expect "files one by one" "$(hash_of whole.file)" "$(hash_of list)"
expect "what is said of a list" "" "$(said_by list)"

# A BERT, resumed.
masked="--architecture bert --layers 1 --dim 32 --heads 2 --context 16 --batch 2 --steps 4 --warmup 1"
learns bert --text both $masked
learns half --text both $masked --stop-at 2
"$voltac" train --text both --resume half.volta >again.told 2>err || bad "--resume: $(cat err)"
expect "a resumed BERT" "$(hash_of bert)" "$(hash_of again)"
refused 1 "valid: the text is not the one that the checkpoint was trained on" train --text valid --resume bert.volta --out x.volta

# An evaluation reads the test part, and says so.
"$voltac" eval both.volta --text both >told || bad "eval of a folder"
expect "the test part" "text               'both/wiki.test.tokens'" "$(tail -n 1 told)"
expect "its loss" "$("$voltac" eval both.volta --text both/wiki.test.tokens)" "$(sed '$d' told)"
"$voltac" eval both.volta --dataset text --data both --split validation --json >told || bad "eval --split"
grep -q "\"text\":\"'both/wiki.valid.tokens'\"}$" told || bad "eval --split validation: $(cat told)"
expect "files one by one" "$("$voltac" eval both.volta --text whole)" "$("$voltac" eval both.volta --dataset text --data loose/1.txt,loose/2.txt.gz)"

refused 1 "the folder 'other' has no file train.txt, wiki.train.tokens or wiki.train.raw" train --text other $small --out x.volta
refused 1 "the folder '.' has no file train.txt" train --text . $small --out x.volta
refused 1 "the folder 'loose' has no file test.txt" eval both.volta --text loose
printf 'caf\303\251 caf\303\251\n' >both/wiki.valid.tokens
refused 1 "'both/wiki.valid.tokens': " train --text both $small --out x.volta
printf 'l' >both/wiki.valid.tokens
refused 1 "'both/wiki.valid.tokens': 1 tokens are too few to validate with" train --text both $small --out x.volta
refused 2 "voltac train: --data 'loose,valid' has a folder among several paths: a folder of texts is one path" train --dataset text --data loose,valid $small --out x.volta
refused 2 "it needs --text, --jsonl, or --dataset with --data" train --text whole --dataset text --data valid --out x.volta
refused 2 "--split is of pictures; of a folder of texts the train part is learnt" train --dataset text --data valid --split test --out x.volta
refused 2 "--limit is of pictures, --dataset text has none" train --dataset text --data valid --limit 3 --out x.volta
refused 2 "--epochs is of pictures, --dataset text of a text" train --dataset text --data valid --epochs 3 --out x.volta
refused 2 "--split validation is of texts, --dataset idx has none" eval both.volta --dataset idx --data valid --split validation
refused 2 "--out and --data are the same file, 'whole'" train --dataset text --data whole --out ./whole
exit $failed
