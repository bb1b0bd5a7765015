# shellcheck shell=sh
ln -s "$VOLTA_ROOT/recipes" recipes
cp -r pictures CIFAR-10-images
